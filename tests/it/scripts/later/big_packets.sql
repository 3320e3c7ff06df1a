@also observed
@global max_allowed_packet=67108864
a: SELECT GET_LOCK('$Nk',0) /* $REP(c,17000000) */
= 1
a: SELECT /* $REP(c,17000000) */ GET_LOCK('$Nk',0)
= 1
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: SELECT GET_LOCK('$N$REP(x,17000000)',0)

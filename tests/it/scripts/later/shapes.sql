a: SELECT {fn GET_LOCK('$Nk',0)}
= 1
a: SELECT/*$REP(c,100000)*/GET_LOCK('$Nk',0)
= 1

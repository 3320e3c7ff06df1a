# One of each verb.
@also over_tls over_zlib over_both
a: SELECT GET_LOCK('$Nk',0)
= 1
b~0: SELECT GET_LOCK('$Nk',0)
= 0
b!: SELECT GET_LOCK('$Nk',5)
a: SELECT RELEASE_LOCK('$Nk')
= 1
b~0?
= 1
a: SELECT IS_USED_LOCK('$Nk')
= <b>

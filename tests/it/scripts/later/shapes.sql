@also observed
a: SELECT/*$REP(c,100000)*/GET_LOCK('$Nk',0)
= 1

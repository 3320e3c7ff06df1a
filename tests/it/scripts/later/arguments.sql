@also observed
a: DO GET_LOCK('$Nk',0) AS x

a: SELECT {fn GET_LOCK('$Nk',0)}
= 1

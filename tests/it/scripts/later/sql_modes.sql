a: SELECT GET_LOCK("$Nk",0)
= 1

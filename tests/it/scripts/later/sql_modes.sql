a: SELECT GET_LOCK("$Nk",0)
= 1
a: SET SESSION sql_select_limit = 0
a: SELECT GET_LOCK('$Nz',0)
a: SET SESSION sql_select_limit = DEFAULT

# A limit of rows that no statement of the client has set. On the server: no row and no call.
@client own
@own
@not shuffled
@first SET GLOBAL init_connect='SET sql_select_limit=0'
a: SELECT GET_LOCK('$Nk',0)
= empty
a: SET sql_select_limit=DEFAULT
a: SELECT IS_FREE_LOCK('$Nk')
= 1
~ 0

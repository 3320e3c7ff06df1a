# Several calls in one statement: evaluated from left to right, arguments first.
a: SELECT GET_LOCK('$Na',0), IS_USED_LOCK('$Na')
= 1 | <a>
a: SELECT IS_USED_LOCK('$Nb'), GET_LOCK('$Nb',0), IS_FREE_LOCK('$Nb')
= NULL | 1 | 0
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc')
= <a> | <a> | NULL
b: SELECT GET_LOCK('$Nc',0), GET_LOCK('$Na',0), GET_LOCK('$Nd',0)
= 1 | 0 | 1
a: SELECT GET_LOCK('$Nc',0), RELEASE_LOCK('$Nc'), RELEASE_LOCK('$Nnone')
= 0 | 0 | NULL
a: SELECT RELEASE_LOCK('$Na'), RELEASE_LOCK('$Nb'), IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb')
= 1 | 1 | 1 | 1
a: SELECT RELEASE_LOCK('$Na'), GET_LOCK('$Na',0), RELEASE_LOCK('$Na'), RELEASE_LOCK('$Na')
= NULL | 1 | 1 | NULL
b: SELECT RELEASE_ALL_LOCKS(), RELEASE_ALL_LOCKS()
= 2 | 0
# Columns: aliases, other columns around, the names of all of them.
a: SELECT GET_LOCK('$Na',0) AS one, GET_LOCK('$Nb',0) two, 3 AS three
= 1 | 1 | 3
a: SELECT 'x', RELEASE_LOCK('$Na') AS `r 1`, NULL, 1.50, RELEASE_LOCK('$Nb'), 'y' AS y
= x | 1 | NULL | 1.50 | 1 | y
a: SELECT CONNECTION_ID(), GET_LOCK('$Na',0), CONNECTION_ID()
= <a> | 1 | <a>
a: select /* first */ Get_Lock( '$Na' ,0) , /* second */ is_used_lock ('$Na')  AS u , connection_id( ) ;
= 1 | <a> | <a>
b: SELECT IS_USED_LOCK('$Na') AS held, CONNECTION_ID() AS me, IS_FREE_LOCK('$Na') AS free
= <a> | <b> | 0
a: SELECT GET_LOCK('$Na',0), GET_LOCK('$Na',0), GET_LOCK('$Na',0) FROM DUAL
= 1 | 1 | 1
a: SELECT RELEASE_ALL_LOCKS(), RELEASE_ALL_LOCKS() AS again, IS_FREE_LOCK('$Na')
= 5 | 0 | 1
# Nested: an inner call is evaluated before the outer one.
a: SELECT GET_LOCK('$Na',GET_LOCK('$Nb',0))
= 1
a: SELECT RELEASE_LOCK('$Nb'), IS_USED_LOCK('$Na')
= 1 | <a>
a: SELECT GET_LOCK('$Na',RELEASE_LOCK('$Na')), RELEASE_ALL_LOCKS()
= 1 | 1
a: SELECT GET_LOCK('$Na',IS_FREE_LOCK('$Na')), GET_LOCK('$Nb',RELEASE_ALL_LOCKS())
= 1 | 1
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= NULL | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1
# A bad name in the middle: what was evaluated before it stays.
a: SELECT GET_LOCK('$Na',0), GET_LOCK(NULL,0), GET_LOCK('$Nb',0)
[mysql] = ERR 3057/42000
[mariadb] = 1 | NULL | 1
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
[mysql] = <a> | NULL
[mariadb] = <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 1
[mariadb] = 2
a: SELECT GET_LOCK('$Na',0), GET_LOCK('',0), GET_LOCK('$Nb',0)
[mysql] = ERR 3057/42000
[mariadb] = 1 | NULL | 1
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
[mysql] = <a> | NULL
[mariadb] = <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 1
[mariadb] = 2
a: SELECT GET_LOCK('$Na',0), RELEASE_LOCK('$REP(x,200)'), GET_LOCK('$Nb',0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | NULL
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT GET_LOCK('$Na',0), IS_FREE_LOCK(NULL), IS_USED_LOCK(''), RELEASE_LOCK(NULL)
[mysql] = ERR 3057/42000
[mariadb] = 1 | NULL | NULL | NULL
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | NULL
a: SELECT GET_LOCK(NULL,GET_LOCK('$Nb',0))
[mysql] = ERR 3057/42000
[mariadb] = NULL
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 2
# Timeouts that one server refuses.
a: SELECT GET_LOCK('$Na',0), GET_LOCK('$Nb',NULL), GET_LOCK('$Nc',0)
[mysql] = 1 | 1 | 1
[mariadb] = 1 | NULL | 1 W1
a: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1411 | Incorrect timeout value: 'NULL' for function get_lock
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc')
[mysql] = <a> | <a> | <a>
[mariadb] = <a> | NULL | <a>
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 3
[mariadb] = 2
# Five calls, and what they leave behind.
a: SELECT GET_LOCK('$Na',0), GET_LOCK('$Nb',0), GET_LOCK('$Na',0), RELEASE_LOCK('$Nb'), IS_USED_LOCK('$Na')
= 1 | 1 | 1 | 1 | <a>
a: SELECT ROW_COUNT(), FOUND_ROWS()
[mysql] = -1 | 1 W1
[mariadb] = -1 | 1
a: SELECT RELEASE_ALL_LOCKS(), GET_LOCK('$Nc',0), RELEASE_ALL_LOCKS(), RELEASE_LOCK('$Nc'), IS_USED_LOCK('$Nc')
= 2 | 1 | 1 | NULL | NULL
# DO with several.
a: DO GET_LOCK('$Na',0), GET_LOCK('$Nb',0), 1+1
= OK
a: SELECT ROW_COUNT()
= 0
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | <a>
b: DO GET_LOCK('$Nc',0), GET_LOCK('$Na',0), RELEASE_LOCK('$Nc')
= OK
a: DO RELEASE_LOCK('$Na'), GET_LOCK(NULL,0), RELEASE_LOCK('$Nb')
[mysql] = ERR 3057/42000
[mariadb] = OK
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc')
[mysql] = NULL | <a> | NULL
[mariadb] = NULL | NULL | NULL
a: DO RELEASE_ALL_LOCKS(), GET_LOCK('$Na',0), GET_LOCK('$Na',0)
= OK
a: SELECT RELEASE_ALL_LOCKS()
= 2
b: SELECT RELEASE_ALL_LOCKS()
= 0

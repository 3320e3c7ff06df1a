# sql_select_limit = 0: no row, and no call.
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a: SET SESSION sql_select_limit = 0
a: SELECT GET_LOCK('$Nz0',0)
= empty
a: SELECT FOUND_ROWS(), ROW_COUNT() LIMIT 1
b: SELECT IS_FREE_LOCK('$Nz0')
= 1
a: SELECT GET_LOCK('$Né0',0)
= empty
a: SELECT GET_LOCK('$Nz0',0) AS x
= empty
a: SELECT GET_LOCK('$Nz0',0) AS select
= ERR 1064/42000
a: SELECT GET_LOCK(NULL,0)
= empty
a: DO GET_LOCK('$Nz1',0)
= OK
a: DO GET_LOCK('$Né1',0)
= OK
a: SELECT GET_LOCK('$Nz2',0) LIMIT 1
= 1
a: SELECT FOUND_ROWS(), ROW_COUNT() LIMIT 1
a: SELECT GET_LOCK('$Né2',0) AS x LIMIT 1
= 1
a: SELECT RELEASE_LOCK('$Nz2')
= empty
b: SELECT IS_USED_LOCK('$Nz1')
[mysql] = NULL
[mariadb] = <a>
b: SELECT IS_USED_LOCK('$Né1')
[mysql] = NULL
[mariadb] = <a>
b: SELECT IS_USED_LOCK('$Nz2')
= <a>
b: SELECT IS_USED_LOCK('$Né2')
= <a>
a prepare one : SELECT GET_LOCK(?,0)
a execute one '$Nz3'
= empty
a prepare limited : SELECT GET_LOCK(?,0) LIMIT 1
a execute limited '$Nz3'
= 1
a: SELECT FOUND_ROWS(), ROW_COUNT() LIMIT 1
a prepare done : DO GET_LOCK(?,0)
a: DO IS_FREE_LOCK('$Nz1')
@end shuffled mysql
a: SELECT FOUND_ROWS(), ROW_COUNT() LIMIT 1
a: DO GET_LOCK(NULL,0)
a: SELECT 1/0 LIMIT 1
a: DO GET_LOCK('$Nz3','abc')
a: SHOW WARNINGS
a execute done '$Né4'
= OK
b: SELECT IS_USED_LOCK('$Nz3')
= <a>
b: SELECT IS_USED_LOCK('$Né4')
[mysql] = NULL
[mariadb] = <a>
a: SET SESSION sql_select_limit = 1
a: SELECT GET_LOCK('$Nz5',0)
= 1
a execute one '$Nz6'
= 1
a: set @@sql_select_limit = 0
a execute one '$Nz7'
= empty
b: SELECT IS_FREE_LOCK('$Nz7')
= 1
a: SET SESSION sql_select_limit = DEFAULT
a execute one '$Nz8'
= 1
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 6
[mariadb] = 10
a: SET SESSION sql_select_limit = 0
a reset
a: SELECT GET_LOCK('$Nz9',0)
= 1
[mysql] a: SELECT /*+ SET_VAR(sql_select_limit=0) */ GET_LOCK('$Nz10',0)
[mysql] = empty
b: SELECT IS_FREE_LOCK('$Nz10')
= 1
[mysql] a prepare hint : SELECT /*+ SET_VAR(sql_select_limit=0) */ GET_LOCK('$Nz10',0)
[mysql] a execute hint
[mysql] = empty
b: SELECT IS_FREE_LOCK('$Nz10')
= 1
a: SELECT 1 AS sql_select_limit UNION SELECT 2
a: DO GET_LOCK('$Nz',0)
a: SELECT FOUND_ROWS(), ROW_COUNT()
a: SELECT 1/0 AS sql_select_limit
a: DO GET_LOCK('$Nz',0)
a: SHOW WARNINGS
a: SET SESSION sql_select_limit = 0
a: SELECT 1 UNION SELECT 2 LIMIT 5
a: DO GET_LOCK('$Nzz',0)
a: SELECT FOUND_ROWS(), ROW_COUNT() LIMIT 1
a: SELECT GET_LOCK('$Nzz',0) LIMIT 1
a: SELECT RELEASE_ALL_LOCKS()
# Set by a statement that was prepared before.
a: SET sql_select_limit=DEFAULT
a: PREPARE limits FROM 'SET sql_select_limit=0'
a: SELECT RELEASE_ALL_LOCKS()
a: EXECUTE limits
a: SELECT GET_LOCK('$Nprepared',0)
= empty
a: SET sql_select_limit=DEFAULT
a: SELECT IS_FREE_LOCK('$Nprepared')
= 1

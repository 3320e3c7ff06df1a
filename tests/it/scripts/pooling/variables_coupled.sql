# Variables that set others, and variables with two names: servers do not report all of that.
a: SET collation_server = latin2_bin
a: DO 1
a: SELECT @@character_set_server, @@collation_server
= latin2 | latin2_bin
a: SET character_set_server = latin2
a: DO 1
a: SELECT @@character_set_server, @@collation_server
= latin2 | latin2_general_ci
a: SET character_set_server = latin5, collation_server = latin1_bin
a: DO 1
a: SELECT @@character_set_server, @@collation_server
= latin1 | latin1_bin
[mariadb] a: SET character_set_database = latin5
[mariadb] a: DO 1
[mariadb] a: SELECT @@character_set_database, @@collation_database
[mariadb] = latin5 | latin5_turkish_ci
[mariadb] a: SET collation_database = latin1_bin
[mariadb] a: DO 1
[mariadb] a: SELECT @@character_set_database, @@collation_database
[mariadb] = latin1 | latin1_bin

# By either name.
[mariadb] b: SET log_slow_query_time = 7
[mariadb] b: DO 1
[mariadb] b: SELECT @@long_query_time, @@log_slow_query_time
[mariadb] = 7.000000 | 7.000000
[mariadb] b: SET long_query_time = 8
[mariadb] b: DO 1
[mariadb] b: SELECT @@long_query_time, @@log_slow_query_time
[mariadb] = 8.000000 | 8.000000
[mariadb] b: SET log_slow_min_examined_row_limit = 9
[mariadb] b: DO 1
[mariadb] b: SELECT @@min_examined_row_limit, @@log_slow_min_examined_row_limit
[mariadb] = 9 | 9
[mariadb] b: SET min_examined_row_limit = 5
[mariadb] b: DO 1
[mariadb] b: SELECT @@min_examined_row_limit, @@log_slow_min_examined_row_limit
[mariadb] = 5 | 5
[mariadb] b: SET slow_query_log = OFF
[mariadb] b: DO 1
[mariadb] b: SELECT @@slow_query_log, @@log_slow_query
[mariadb] = 0 | 0
[mariadb] c: SET SESSION tx_isolation = 'SERIALIZABLE'
[mariadb] c: DO 1
[mariadb] c: SELECT @@tx_isolation
[mariadb] = SERIALIZABLE
[mariadb] c: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
[mariadb] c: DO 1
[mariadb] c: SELECT @@tx_isolation
[mariadb] = READ-COMMITTED
[mysql] c: SET SESSION transaction_isolation = 'SERIALIZABLE'
[mysql] c: DO 1
[mysql] c: SELECT @@transaction_isolation
[mysql] = SERIALIZABLE
[mysql] c: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY
[mysql] c: DO 1
[mysql] c: SELECT @@transaction_isolation, @@transaction_read_only
[mysql] = READ-COMMITTED | 1

# The limits of rows.
d: SET SQL_SAFE_UPDATES = 1, sql_big_selects = 1
d: DO 1
d: SET max_join_size = 2
d: DO 1
d: SELECT @@sql_safe_updates, @@sql_big_selects, @@max_join_size
= 1 | 0 | 2
e: SET max_join_size = 2, sql_big_selects = 1
e: DO 1
d: SET max_join_size = DEFAULT
d: DO 1
e: SELECT @@sql_big_selects, @@max_join_size
= 1 | 2
d: SELECT @@sql_big_selects, @@max_join_size
= 1 | 18446744073709551615

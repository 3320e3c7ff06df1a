# Numeric variables of a session stay as it set them, whatever it does in between.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
a: CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
a: INSERT INTO t (v) VALUES (1), (2), (3)

# Set, a transaction and a lock in between, and looked at again.
a: SET SESSION group_concat_max_len = 7
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: BEGIN
a: UPDATE t SET v = v + 1
a: COMMIT
a: SELECT @@group_concat_max_len, @@session.group_concat_max_len
= 7 | 7
a: SELECT GROUP_CONCAT(v, 'xyz') FROM t
= 2xyz,3x W1
a: SHOW WARNINGS
= Warning | 1260 | Row 2 was cut by GROUP_CONCAT()
a: SELECT RELEASE_LOCK('$N.a')
= 1

# Back to the default, which is the global value.
a: SET SESSION group_concat_max_len = DEFAULT
a: SELECT @@group_concat_max_len = @@global.group_concat_max_len
= 1
a: SET group_concat_max_len = @@global.group_concat_max_len
a: SELECT @@group_concat_max_len = @@global.group_concat_max_len
= 1

@end shuffled mariadb
# Several in one SET, spelled in every way.
b: SET lock_wait_timeout = 77, SESSION net_read_timeout = 78, LOCAL net_write_timeout = 79, @@session.net_retry_count = 8, @@local.max_length_for_sort_data = 80, @@div_precision_increment = 9
[mysql] = OK W1
[mariadb] = OK
b: SET lock_wait_timeout = 77, SESSION net_read_timeout = 78, LOCAL net_write_timeout = 79, @@session.net_retry_count = 8, @@div_precision_increment := 9
b: SELECT 1
= 1
b: SELECT @@lock_wait_timeout, @@net_read_timeout, @@net_write_timeout, @@net_retry_count, @@div_precision_increment
= 77 | 78 | 79 | 8 | 9
b: SELECT 1 / 3
= 0.333333333
b: SHOW SESSION VARIABLES LIKE 'net_re%t'
= net_read_timeout | 78; net_retry_count | 8

# A value out of range is cut, with a warning, and the cut value stays.
c: SET SESSION max_sp_recursion_depth = 999999
= OK W1
c: SHOW WARNINGS
= Warning | 1292 | Truncated incorrect max_sp_recursion_depth value: '999999'
c: SELECT @@max_sp_recursion_depth
= 255
c: DO 1
c: SELECT @@max_sp_recursion_depth
= 255
c: SET SESSION max_sp_recursion_depth = -5
= OK W1
c: SHOW WARNINGS
= Warning | 1292 | Truncated incorrect max_sp_recursion_depth value: '-5'
c: SELECT @@max_sp_recursion_depth
= 0

# Computed from itself, from another variable, from a subquery.
d: SET SESSION max_sp_recursion_depth = 10
d: SET SESSION max_sp_recursion_depth = @@max_sp_recursion_depth + 3
d: SELECT @@max_sp_recursion_depth
= 13
d: SET @n = 21
d: SET SESSION max_sp_recursion_depth = @n
d: SET SESSION default_week_format = (SELECT MAX(id) FROM t)
d: SELECT @@max_sp_recursion_depth, @@default_week_format, WEEK('2023-01-01')
= 21 | 3 | 52

# One that fails leaves all as they were.
d: SET SESSION max_sp_recursion_depth = 50, nosuch_variable = 1
= ERR 1193/HY000
d: SELECT @@max_sp_recursion_depth
= 21
d: SET SESSION max_sp_recursion_depth = 51, sql_mode = 'nosuch'
= ERR 1231/42000
d: SELECT @@max_sp_recursion_depth
= 21
d: SET SESSION max_sp_recursion_depth = 'abc'
= ERR 1232/42000
d: SET SESSION max_sp_recursion_depth = 1.5
= ERR 1232/42000
d: SET SESSION max_sp_recursion_depth = NULL
= ERR 1232/42000
d: SELECT @@max_sp_recursion_depth
= 21

# Fractions and large numbers.
e: SET SESSION long_query_time = 1.5
e: SET SESSION max_seeks_for_key = 4294967295
e: SET SESSION sort_buffer_size = 1048576, join_buffer_size = 262144, read_buffer_size = 131072
e: SELECT GET_LOCK('$N.e', 0)
= 1
e: SELECT @@long_query_time, @@max_seeks_for_key, @@sort_buffer_size, @@join_buffer_size, @@read_buffer_size
= 1.500000 | 4294967295 | 1048576 | 262144 | 131072
e: SET SESSION max_join_size = 18446744073709551615
e: SELECT @@max_join_size, @@sql_big_selects
= 18446744073709551615 | 1
e: SET SESSION max_join_size = 1
e: SELECT COUNT(*) FROM t AS x, t AS y
[mysql] = 9
[mariadb] = ERR 1104/42000
e: SELECT @@max_join_size, @@sql_big_selects
= 1 | 0
e: SET SESSION sql_big_selects = 1
e: SELECT COUNT(*) FROM t AS x, t AS y
= 9
e: SET SESSION max_join_size = 2
e: SELECT @@max_join_size, @@sql_big_selects
= 2 | 0
e: SET SESSION sql_big_selects = 1, max_join_size = 3
e: SELECT @@max_join_size, @@sql_big_selects
= 3 | 0
e: SET SESSION max_join_size = 4, sql_big_selects = 1
e: SELECT @@max_join_size, @@sql_big_selects
= 4 | 1
e: SET SESSION max_join_size = DEFAULT
e: SELECT @@max_join_size, @@sql_big_selects
= 18446744073709551615 | 1

# A variable of the server only, and one that may not be set.
e: SET SESSION max_connections = 5
= ERR 1229/HY000
e: SET SESSION version = 'x'
= ERR 1238/HY000
e: SET GLOBAL max_connections = 500
= ERR 1227/42000
[mysql] e: SET PERSIST max_sp_recursion_depth = 5
[mysql] = ERR 1227/42000
e: SELECT @@long_query_time
= 1.500000

# A limit of recursion that a statement runs into, before and after it is changed.
[mysql] f: SET SESSION cte_max_recursion_depth = 5
[mariadb] f: SET SESSION max_recursive_iterations = 5
f: WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT COUNT(*) FROM n
[mysql] = ERR 3636/HY000
[mariadb] = 6 W1
f: DO 1
[mysql] f: SET SESSION cte_max_recursion_depth = 50
[mariadb] f: SET SESSION max_recursive_iterations = 50
f: WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT COUNT(*) FROM n
= 20

# Each session has its own.
a: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth, @@div_precision_increment = @@global.div_precision_increment
= 1 | 1
b: SELECT @@div_precision_increment
= 9
d: SELECT @@max_sp_recursion_depth
= 21

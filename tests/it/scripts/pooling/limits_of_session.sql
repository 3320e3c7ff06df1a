# Limits that a session sets itself: rows, time, packets, precision.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (1), (2), (3), (4)
@setup CREATE PROCEDURE $DB.reads_all() SELECT id FROM t

# Rows.
a: SET sql_select_limit = 2
a: SELECT id FROM t
= 1; 2
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT id FROM t
= 1; 2
a: SELECT id FROM t LIMIT 3
= 1; 2; 3
a: SELECT COUNT(*) FROM (SELECT id FROM t) AS d
= 4
a: CALL reads_all()
= 1; 2; 3; 4; OK
a: CREATE TABLE x AS SELECT id FROM t
a: SELECT COUNT(*) FROM x
= 4
a: BEGIN
a: SELECT id FROM t
= 1; 2
a: COMMIT
a: SET sql_select_limit = 0
a: SELECT id FROM t
= empty
a: DO 1
a: SELECT 1
= empty
a: SELECT @@sql_select_limit
= empty
a: SET sql_select_limit = DEFAULT
a: SELECT id FROM t
= 1; 2; 3; 4
a: SELECT @@sql_select_limit = @@global.sql_select_limit
= 1
a: SET sql_select_limit = 1
a reset
a: SELECT id FROM t
= 1; 2; 3; 4

# Time.
[mysql] b: SET SESSION max_execution_time = 100000
[mariadb] b: SET SESSION max_statement_time = 100
b: SELECT GET_LOCK('$N.b', 0)
= 1
[mysql] b: SELECT @@max_execution_time
[mysql] = 100000
[mariadb] b: SELECT @@max_statement_time
[mariadb] = 100.000000
b: SELECT COUNT(*) FROM t
= 4
# A busy machine may take longer for any other statement.
[mysql] b: SET SESSION max_execution_time = 1000
[mariadb] b: SET SESSION max_statement_time = 1
b: SELECT SLEEP(5) FROM t
[mysql] = 1; ERR 3024/HY000
[mariadb] = ERR 1969/70100
[mysql] b: SET SESSION max_execution_time = 0
[mariadb] b: SET SESSION max_statement_time = 0
b: SELECT 1
= 1
b: SET SESSION lock_wait_timeout = 1
b: SELECT @@lock_wait_timeout
= 1
c: BEGIN
c: SELECT COUNT(*) FROM t
= 4
b: ALTER TABLE t ADD COLUMN late INT
= ERR 1205/HY000
c: COMMIT
b: DO 1
b: SELECT @@lock_wait_timeout
= 1
b: SET SESSION lock_wait_timeout = DEFAULT

# Waits of an idle session, as it sets them.
c: SET SESSION wait_timeout = 1000, interactive_timeout = 2000
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT @@wait_timeout, @@interactive_timeout
= 1000 | 2000
c: SET SESSION net_buffer_length = 2048
= ERR 1621/HY000
c: SET SESSION max_allowed_packet = 2048
= ERR 1621/HY000
c: SELECT @@net_buffer_length = @@global.net_buffer_length, @@max_allowed_packet = @@global.max_allowed_packet
= 1 | 1

# Precision, sorting, concatenation.
d: SET SESSION max_sort_length = 4, div_precision_increment = 1, group_concat_max_len = 5
[mysql] = OK
[mariadb] = OK W1
d: SELECT 1 / 3, GROUP_CONCAT('abc') FROM t
= 0.3 | abc,a W1
d: BEGIN
d: SELECT 1 / 3
= 0.3
d: ROLLBACK
d: SELECT RELEASE_ALL_LOCKS()
= 0
d: SELECT 1 / 3, @@max_sort_length, @@group_concat_max_len
[mysql] = 0.3 | 4 | 5
[mariadb] = 0.3 | 64 | 5
d reset
d: SELECT 1 / 3, @@max_sort_length = @@global.max_sort_length
= 0.3333 | 1

# What brings a session's state to another connection may warn or fail: the session hears nothing of that.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (1), (2), (3)

# A mode.
a: SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO'
[mysql] = OK W1
a: SELECT id FROM t WHERE v = 1
= 1
a: SHOW WARNINGS
= empty
a: SHOW COUNT(*) WARNINGS
= 0
a: SELECT id FROM t WHERE v = 1
= 1
a: SELECT @@warning_count, @@error_count
= 0 | 0
a: DO 1
a: SHOW WARNINGS
= empty
a prepare p : SELECT v FROM t WHERE id = ?
a execute p 2
a: SHOW WARNINGS
= empty

# Variables that are about to go away.
[mysql] b: SET SESSION max_length_for_sort_data = 9, SESSION transaction_prealloc_size = 8192
[mysql] = OK W2
[mariadb] b: SET SESSION big_tables = 1, SESSION max_tmp_tables = 3
[mariadb] = OK W2
b: SELECT id FROM t WHERE v = 1
= 1
b: SHOW WARNINGS
= empty
b: SELECT 1
= 1
b: SHOW WARNINGS
= empty
b: SET @x = 1
b: SHOW COUNT(*) WARNINGS
= 0
b: SELECT 1 / 0
= NULL W1
b: SHOW WARNINGS
= Warning | 1365 | Division by 0

# Character sets, and a statement that is prepared again in them.
c: SET NAMES utf8mb3
[mysql] = OK W1
c: SELECT id FROM t WHERE v = 1
= 1
c: SHOW WARNINGS
= empty
c prepare p : SELECT v FROM t WHERE id = ?
c: SET collation_connection = utf8mb3_bin
[mysql] = OK W1
c: SELECT id FROM t WHERE v = 1
= 1
c: SHOW WARNINGS
= empty
c execute p 2
c: SHOW WARNINGS
= empty
c: SHOW COUNT(*) ERRORS
= 0

# What a session asks for when it leaves.
d: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1
[mysql] = 1 W1
[mariadb] = 1
d: INSERT INTO t (v) VALUES (4)
d: SHOW WARNINGS
= empty
d: CREATE TEMPORARY TABLE tmp (v INT)
d: SHOW WARNINGS
= empty
d: SELECT id FROM t WHERE v = 1
= 1
d: SHOW WARNINGS
= empty

# A schema that is gone.
e: CREATE DATABASE $DBx
e: USE $DBx
f: DROP DATABASE $DBx
e: SELECT 1
= 1
# MariaDB denies this account the schema, and keeps the error.
e: SHOW WARNINGS
[mysql] = empty
e: SHOW COUNT(*) ERRORS
[mysql] = 0

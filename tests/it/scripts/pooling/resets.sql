# COM_RESET_CONNECTION in the middle: which state is cleared, which is kept, and which is set again.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@matrix charset=latin1
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t (v) VALUES (1), (2)

# Everything at once.
a: SET SESSION max_sp_recursion_depth = 5, sql_mode = 'ANSI_QUOTES', time_zone = '+03:00', autocommit = 0, foreign_key_checks = 0
a: SET @x = 1
a: CREATE TEMPORARY TABLE tmp (v INT)
a: PREPARE q FROM 'SELECT 1'
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: INSERT INTO t (v) VALUES (3)
a prepare s : SELECT ?
a reset
a: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth, @@sql_mode = @@global.sql_mode, @@time_zone = @@global.time_zone, @@autocommit, @@foreign_key_checks
= 1 | 1 | 1 | 1 | 1
a: SELECT @x, IS_FREE_LOCK('$N.a'), LAST_INSERT_ID()
= NULL | 1 | 0
a: SELECT v FROM tmp
= ERR 1146/42S02
a: EXECUTE q
= ERR 1243/HY000
a execute s 1
= ERR 1243/HY000
a: SELECT COUNT(*) FROM t
= 2
a: SELECT DATABASE() = '$DB'
= 1

# Twice, and with nothing to reset.
b reset
b reset
b: SELECT 1
= 1
b: SET @x = 1
b reset
b: SET @x = 2
b: DO 1
b: SELECT @x
= 2
b reset
b: SELECT @x
= NULL

# Set again after it.
c: SET NAMES latin1
c reset
c: SET SESSION max_sp_recursion_depth = 6, sql_mode = 'PIPES_AS_CONCAT'
c: SET NAMES utf8mb4 COLLATE utf8mb4_bin
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT @@max_sp_recursion_depth, 'a' || 'b', @@collation_connection
= 6 | ab | utf8mb4_bin
c: BEGIN
c: INSERT INTO t (v) VALUES (4)
c: COMMIT
c: SELECT @@max_sp_recursion_depth, 'a' || 'b', @@collation_connection
= 6 | ab | utf8mb4_bin
c reset
c: SELECT RELEASE_LOCK('$N.c')
= NULL

@end shuffled mysql
# In a transaction, with tables locked, with warnings, with a cursor open.
d: BEGIN
d: UPDATE t SET v = 50
d reset
d: SELECT v FROM t WHERE id = 1
= 1
d: LOCK TABLES t WRITE
d reset
d: CREATE TABLE x (id INT)
d: SELECT 1 / 0
= NULL W1
d reset
d: SHOW WARNINGS
= empty
d: SELECT nosuch
= ERR 1054/42S22
d reset
d: SHOW ERRORS
= empty
d prepare s : SELECT id FROM t
d execute s cursor
= empty
d fetch s 1
d reset
d fetch s 1
= ERR 1243/HY000
d: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
d: SET TRANSACTION READ ONLY
d reset
d: UPDATE t SET v = 9 WHERE id = 1
[mysql] d: SELECT @@transaction_isolation = @@global.transaction_isolation
[mysql] = 1
[mariadb] d: SELECT @@tx_isolation = @@global.tx_isolation
[mariadb] = 1

# The schema that it has, and the option of the protocol.
e: USE information_schema
e reset
e: SELECT DATABASE()
= information_schema
e setoption 0
= empty
e: SELECT 1; SELECT 2
= 1; 2
e reset
e: SELECT 1; SELECT 2
= 1; 2
e setoption 1
= empty
e reset
e: SELECT 1; SELECT 2
= ERR 1064/42000
e: USE $DB
e: SELECT COUNT(*) > 0 FROM t
= 1

# The character sets of a login come back on MariaDB, also on a connection whose login had others.
@session l charset=latin1
@session g charset=gbk
l: DO 1
g: DO 1
l: SELECT @@character_set_client, @@character_set_results, @@collation_connection, 'ä'
g: SELECT @@character_set_client, @@character_set_results, @@collation_connection
l reset
g reset
l: SELECT @@character_set_client, @@character_set_results, @@collation_connection, 'ä'
g: SELECT @@character_set_client, @@character_set_results, @@collation_connection
l: SET NAMES utf8mb4
l: DO 1
l reset
l: DO 1
l: SELECT @@character_set_client, @@character_set_results, @@collation_connection

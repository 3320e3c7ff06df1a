# COM_CHANGE_USER in the middle: to the same account, to another, to nobody.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t (v) VALUES (1)
@session r user=root

# To the same account: a new session of it.
a: SET SESSION max_sp_recursion_depth = 5, sql_mode = 'ANSI_QUOTES'
a: SET @x = 1, NAMES latin1
a: CREATE TEMPORARY TABLE tmp (v INT)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a prepare s : SELECT 1
a: BEGIN
a: INSERT INTO t (v) VALUES (2)
a changeuser
a: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth, @@sql_mode = @@global.sql_mode, @@character_set_client, @x
= 1 | 1 | utf8mb4 | NULL
a: SELECT v FROM tmp
= ERR 1146/42S02
a execute s
= ERR 1243/HY000
a: SELECT IS_FREE_LOCK('$N.a'), LAST_INSERT_ID(), CONNECTION_ID()
= 1 | 0 | <a>
a: SELECT COUNT(*) FROM t
= 1
a: SELECT CURRENT_USER() = '$USER@%'
= 1

# To another account and back; each its own.
b: SET @x = 'of the first'
b changeuser user=$USER2
b: SELECT CURRENT_USER() = '$USER2@%', @x
= 1 | NULL
b: SET @x = 'of the second', SESSION max_sp_recursion_depth = 7
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: DO 1
b: SELECT @x, @@max_sp_recursion_depth, USER() LIKE '$USER2@%'
= of the second | 7 | 1
b: BEGIN
b: INSERT INTO t (v) VALUES (3)
b: COMMIT
b changeuser
b: SELECT CURRENT_USER() = '$USER@%', @x, IS_FREE_LOCK('$N.b')
= 1 | NULL | 1
b: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth
= 1

# To root, who may do more, and back, who may not.
c: SET GLOBAL max_connect_errors = 5
= ERR 1227/42000
c: SELECT 1
= 1
r: SELECT CURRENT_USER() LIKE 'root@%'
= 1
r: SELECT @@sql_log_bin
= 1
r: SET sql_log_bin = 0
r changeuser
r: SELECT @@sql_log_bin
= 1
r: SET sql_log_bin = 1

# With a schema, a character set, none of either.
d changeuser db=information_schema
d: SELECT DATABASE()
= information_schema
d changeuser db=none
d: SELECT DATABASE()
= NULL
d: SELECT * FROM t
= ERR 1046/3D000
d changeuser charset=latin1
d: SELECT @@character_set_client, DATABASE() = '$DB', HEX('\xe9')
= latin1 | 1 | E9
d changeuser charset=utf8mb4
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT @@character_set_client, HEX('é')
= utf8mb4 | C3A9
d changeuser db=nosuch_$N
= ERR 1044/42000
[mysql] d gone
[mysql] = empty; closed
[mysql] d close
[mariadb] d: SELECT CURRENT_USER() = '$USER@%'
[mariadb] = 1

# Refused: one server closes the connection, on the other the session goes on.
e: SET @x = 1
e: SELECT GET_LOCK('$N.e', 0)
= 1
e changeuser password=wrong
= ERR 1045/28000
[mysql] e gone
[mysql] = empty; closed
[mysql] e close
[mariadb] e: SELECT CURRENT_USER() = '$USER@%'
[mariadb] = 1
[mariadb] e: SELECT @x, IS_FREE_LOCK('$N.e'), DATABASE() = '$DB'
[mariadb] = NULL | 1 | 1
e connect
e: SELECT @x, DATABASE() = '$DB'
= NULL | 1

# A reset after a change of user, and the other way round.
f changeuser user=$USER2
f: SET @x = 1
f reset
f: SELECT @x, CURRENT_USER() = '$USER2@%'
= NULL | 1
f: SET NAMES latin1
f reset
f changeuser
f: SELECT CURRENT_USER() = '$USER@%', @@character_set_client
= 1 | utf8mb4
f: DO 1
f: SELECT CURRENT_USER() = '$USER@%', @@character_set_client
= 1 | utf8mb4

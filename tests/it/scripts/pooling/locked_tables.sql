# LOCK TABLES and what ends it; the session's own locks stay out of it.
@matrix caps=-DEPRECATE_EOF
@session r user=root
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
@setup CREATE TABLE $DB.u (id INT PRIMARY KEY, v INT) ENGINE=MyISAM
@setup INSERT INTO $DB.t VALUES (1, 1)
@setup INSERT INTO $DB.u VALUES (1, 1)

# Only what is locked may be used, and only as it is locked.
a: LOCK TABLES t READ
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT v FROM t
= 1
a: UPDATE t SET v = 2
= ERR 1099/HY000
a: SELECT v FROM u
= ERR 1100/HY000
a: DO 1
a: SELECT v FROM t
= 1
a: UNLOCK TABLES
a: UPDATE t SET v = 2
a: SELECT v FROM u
= 1

# For writing, with aliases, several tables.
a: LOCK TABLES t AS x READ, t WRITE, u LOW_PRIORITY WRITE
[mysql] = ERR 1064/42000
[mariadb] = OK
a: UPDATE t SET v = 3
a: SELECT x.v FROM t AS x
= 3
a: SELECT y.v FROM t AS y
[mysql] = 3
[mariadb] = ERR 1100/HY000
a: UPDATE u SET v = 3
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: SELECT v FROM u
= 3
a: LOCK TABLES u READ
a: SELECT v FROM t
= ERR 1100/HY000
a: UNLOCK TABLES

# START TRANSACTION ends it; BEGIN too.
a: LOCK TABLES t WRITE
a: START TRANSACTION
a: SELECT v FROM u
= 3
a: UPDATE t SET v = 4
a: COMMIT
a: LOCK TABLES t WRITE
a: BEGIN
a: SELECT v FROM u
= 3
a: ROLLBACK

# COMMIT does not; and it commits what was open.
a: BEGIN
a: UPDATE t SET v = 5
a: LOCK TABLES t WRITE
a: ROLLBACK
a: COMMIT
a: SELECT v FROM t
= 5
a: SELECT v FROM u
= ERR 1100/HY000
a: UNLOCK TABLES
a: UNLOCK TABLES

# Without autocommit.
b: SET autocommit = 0
b: LOCK TABLES t WRITE
b: UPDATE t SET v = 6
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: COMMIT
b: SELECT v FROM u
= ERR 1100/HY000
b: UNLOCK TABLES
b: SELECT v FROM u
= 3
b: SET autocommit = 1
b: SELECT v FROM t
= 6

# A locked table is altered and dropped.
b: CREATE TABLE gone (id INT)
b: LOCK TABLES gone WRITE
b: ALTER TABLE gone ADD COLUMN v INT
b: INSERT INTO gone VALUES (1, 2)
b: DROP TABLE gone
b: SELECT 1
= 1
b: SELECT v FROM t
= 6
b: UNLOCK TABLES
b: SELECT v FROM t
= 6

# An error when locking leaves nothing locked.
b: LOCK TABLES t READ
b: LOCK TABLES nosuch READ
= ERR 1146/42S02
b: SELECT v FROM u
= 3
b: UNLOCK TABLES
b: LOCK TABLES t READ, t WRITE
= ERR 1066/42000
b: SELECT v FROM u
= 3
b: UNLOCK TABLES

# By prepared statements, and not in routines.
b prepare l : LOCK TABLES t WRITE
[mysql] = ERR 1295/HY000
[mariadb] = prepared
b prepare u : UNLOCK TABLES
[mysql] = ERR 1295/HY000
[mariadb] = prepared
b: LOCK TABLES t WRITE
b: CREATE PROCEDURE locks() LOCK TABLES t READ
= ERR 1314/0A000
b: UNLOCK TABLES
b: CREATE PROCEDURE locks() LOCK TABLES t READ
= ERR 1314/0A000
b: PREPARE s FROM 'LOCK TABLES t WRITE'
[mysql] = ERR 1295/HY000
[mariadb] = OK
[mariadb] b: DEALLOCATE PREPARE s

# A reset and a change of user.
d: LOCK TABLES t READ
d reset
d: SELECT v FROM u
= 3
d: LOCK TABLES t READ
d changeuser
d: SELECT v FROM u
= 3

# FLUSH TABLES of one table, for a backup and for an export.
r: FLUSH TABLES t WITH READ LOCK
r: SELECT GET_LOCK('$N.r', 0)
= 1
r: UPDATE t SET v = 9
= ERR 1099/HY000
r: SELECT v FROM t
= 6
r: SELECT v FROM u
= ERR 1100/HY000
r: UNLOCK TABLES
r: UPDATE t SET v = 7
r: FLUSH TABLES t FOR EXPORT
r: UPDATE t SET v = 9
= ERR 1099/HY000
r: SELECT RELEASE_LOCK('$N.r')
= 1
r: SELECT v FROM t
= 7
r: UNLOCK TABLES
r: FLUSH TABLES t WITH READ LOCK
r: BEGIN
r: UPDATE t SET v = 8
r: COMMIT
r: FLUSH TABLES t
r: SELECT v FROM u
= 3
r: FLUSH TABLES nosuch WITH READ LOCK
= ERR 1146/42S02
r: SELECT v FROM u
= 3
a: FLUSH TABLES t WITH READ LOCK
= ERR 1227/42000

# Temporary tables need no lock.
d: CREATE TEMPORARY TABLE tmp (v INT)
d: LOCK TABLES t READ
d: INSERT INTO tmp VALUES (1)
d: SELECT v FROM tmp
= 1
d: DROP TEMPORARY TABLE tmp
d: SELECT v FROM u
= ERR 1100/HY000
d: UNLOCK TABLES
d: SELECT v FROM u
= 3

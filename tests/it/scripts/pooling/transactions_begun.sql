# Transactions: begun and ended by words, by settings, by other statements and by routines.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
@setup CREATE TABLE $DB.u (id INT PRIMARY KEY) ENGINE=MyISAM
@setup CREATE PROCEDURE $DB.begins() BEGIN START TRANSACTION; INSERT INTO t VALUES (50, 1); END
@setup CREATE PROCEDURE $DB.ends() COMMIT
@setup CREATE PROCEDURE $DB.ends_and_begins() BEGIN COMMIT; SELECT 'in between' AS x; START TRANSACTION; INSERT INTO t VALUES (51, 1); END
@setup CREATE PROCEDURE $DB.without() SET autocommit = 0

# BEGIN and COMMIT, BEGIN and ROLLBACK, each statement on its own.
a: BEGIN
a: INSERT INTO t VALUES (1, 1)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: DO 1
a: SELECT id FROM t
= 1
b: SELECT id FROM t
= empty
a: COMMIT
b: SELECT id FROM t
= 1
a: START TRANSACTION
a: DELETE FROM t
a: ROLLBACK
a: SELECT id FROM t
= 1
a: BEGIN WORK
a: COMMIT WORK
a: BEGIN
a: INSERT INTO t VALUES (2, 1)
a: BEGIN
a: ROLLBACK
a: SELECT id FROM t
= 1; 2

# With a snapshot, read-only.
a: START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY
b: INSERT INTO t VALUES (3, 1)
a: SELECT GET_LOCK('$N.a.l', 0)
= 1
a: SELECT id FROM t
= 1; 2
a: INSERT INTO t VALUES (4, 1)
= ERR 1792/25006
a: COMMIT
a: SELECT id FROM t
= 1; 2; 3

# AND CHAIN, and the setting that says so for all.
a: BEGIN
a: INSERT INTO t VALUES (4, 1)
a: COMMIT AND CHAIN
a: INSERT INTO t VALUES (5, 1)
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: ROLLBACK AND CHAIN
a: INSERT INTO t VALUES (6, 1)
a: COMMIT AND NO CHAIN
a: ROLLBACK
a: SELECT id FROM t
= 1; 2; 3; 4; 6
a: SET completion_type = 'CHAIN'
a: BEGIN
a: COMMIT
a: INSERT INTO t VALUES (7, 1)
a: SET completion_type = DEFAULT
a: ROLLBACK
a: SELECT MAX(id) FROM t
= 6

# Without autocommit: some statements begin a transaction and some do not.
c: SET autocommit = 0
c: SELECT 1
= 1
c: SELECT @@autocommit
= 0
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SET @x = 1
c: SELECT COUNT(*) FROM t
= 5
c: COMMIT
c: INSERT INTO t VALUES (8, 1)
c: DO 1
c: ROLLBACK
c: INSERT INTO t VALUES (9, 1)
c: SET autocommit = 1
c: SELECT MAX(id) FROM t
= 9
c: SET autocommit = OFF
c: SHOW TABLES LIKE 'u'
= u
c: INSERT INTO u VALUES (1)
c: ROLLBACK
= OK W1
c: SHOW WARNINGS
= Warning | 1196 | Some non-transactional changed tables couldn't be rolled back
c: SELECT id FROM u
= 1
c: COMMIT
c: BEGIN
c: SET autocommit = 1
c: INSERT INTO t VALUES (10, 1)
c: ROLLBACK
c: SELECT MAX(id) FROM t
= 10

@end shuffled mysql
# What commits by itself.
c: BEGIN
c: INSERT INTO t VALUES (11, 1)
c: CREATE TABLE x (id INT)
c: ROLLBACK
c: SELECT MAX(id) FROM t
= 11
c: BEGIN
c: INSERT INTO t VALUES (12, 1)
c: TRUNCATE x
c: ROLLBACK
c: SELECT RELEASE_ALL_LOCKS()
= 1
c: SELECT MAX(id) FROM t
= 12
c: BEGIN
c: INSERT INTO t VALUES (13, 1)
c: ANALYZE TABLE x
= $DB.x | analyze | status | OK
c: ROLLBACK
c: SELECT MAX(id) FROM t
= 13
c: BEGIN
c: INSERT INTO t VALUES (14, 1)
c: DROP TABLE nosuch
= ERR 1051/42S02
c: ROLLBACK
c: SELECT MAX(id) FROM t
= 14
c: BEGIN
c: INSERT INTO t VALUES (15, 1)
c: CREATE TEMPORARY TABLE tmp (id INT)
c: DROP TEMPORARY TABLE tmp
c: ROLLBACK
[mysql] = OK W2
[mariadb] = OK
c: SELECT MAX(id) FROM t
= 14
c: BEGIN
c: INSERT INTO t VALUES (16, 1)
c: ALTER TABLE
= ERR 1064/42000
c: ROLLBACK
c: SELECT MAX(id) FROM t
= 14

# Savepoints.
d: BEGIN
d: INSERT INTO t VALUES (20, 1)
d: SAVEPOINT one
d: INSERT INTO t VALUES (21, 1)
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SAVEPOINT two
d: INSERT INTO t VALUES (22, 1)
d: ROLLBACK TO SAVEPOINT one
d: RELEASE SAVEPOINT two
= ERR 1305/42000
d: RELEASE SAVEPOINT one
d: ROLLBACK TO one
= ERR 1305/42000
d: COMMIT
d: SELECT id FROM t WHERE id >= 20
= 20
d: SAVEPOINT outside
d: ROLLBACK TO outside
= ERR 1305/42000
d: SET autocommit = 0
d: SAVEPOINT first
d: INSERT INTO t VALUES (23, 1)
d: ROLLBACK TO first
d: COMMIT
d: SET autocommit = 1
d: SELECT id FROM t WHERE id >= 20
= 20

# By procedures.
e: CALL begins()
e: DO 1
e: ROLLBACK
e: SELECT id FROM t WHERE id >= 50
= empty
e: BEGIN
e: INSERT INTO t VALUES (40, 1)
e: CALL ends()
e: ROLLBACK
e: SELECT id FROM t WHERE id >= 40
= 40
e: BEGIN
e: INSERT INTO t VALUES (41, 1)
e: CALL ends_and_begins()
= in between; OK
e: SELECT GET_LOCK('$N.e', 0)
= 1
e: ROLLBACK
e: SELECT id FROM t WHERE id >= 40
= 40; 41
e: CALL without()
e: INSERT INTO t VALUES (42, 1)
e: ROLLBACK
e: SELECT @@autocommit
= 0
e: SET autocommit = 1
e: SELECT id FROM t WHERE id >= 40
= 40; 41

# By prepared statements.
e prepare b : START TRANSACTION
[mysql] = ERR 1295/HY000
[mariadb] = prepared
e prepare i : INSERT INTO t VALUES (?, 1)
e prepare r : ROLLBACK
e prepare c : COMMIT
e execute b
[mysql] = ERR 1243/HY000
[mariadb] = OK
e execute i 60
e execute r
e execute b
[mysql] = ERR 1243/HY000
[mariadb] = OK
e execute i 61
e execute c
e: PREPARE s FROM 'COMMIT'
e: BEGIN
e: INSERT INTO t VALUES (62, 1)
e: EXECUTE s
e: DEALLOCATE PREPARE s
e: SELECT id FROM t WHERE id >= 60
[mysql] = 60; 61; 62
[mariadb] = 61; 62

# A reset and a change of user roll back.
f: BEGIN
f: INSERT INTO t VALUES (70, 1)
f reset
f: SELECT id FROM t WHERE id >= 70
= empty
f: SET autocommit = 0
f: INSERT INTO t VALUES (71, 1)
f changeuser
f: SELECT @@autocommit
= 1
f: SELECT id FROM t WHERE id >= 70
= empty

# Other commands inside one.
f: BEGIN
f ping
f initdb $DB
f: SELECT id FROM t WHERE id = 1
= 1
f statistics
= text
f ping
f: INSERT INTO u VALUES (5)
f ping
f: ROLLBACK
= OK W1
f ping
[mysql] = OK W1
[mariadb] = OK

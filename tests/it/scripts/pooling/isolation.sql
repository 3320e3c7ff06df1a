# Isolation levels and read-only sessions, for a session and for one transaction.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
w: CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
w: INSERT INTO t VALUES (1, 1)

# A level of the session.
a: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
a: SELECT GET_LOCK('$N.a', 0)
= 1
[mysql] a: SELECT @@transaction_isolation
[mysql] = READ-COMMITTED
[mariadb] a: SELECT @@tx_isolation
[mariadb] = READ-COMMITTED
a: BEGIN
a: SELECT v FROM t
= 1
w: UPDATE t SET v = 2
a: SELECT v FROM t
= 2
a: COMMIT
a: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
a: BEGIN
a: SELECT v FROM t
= 2
w: UPDATE t SET v = 3
a: SELECT v FROM t
= 2
a: COMMIT
a: SELECT v FROM t
= 3

# By its variable.
[mysql] a: SET SESSION transaction_isolation = 'SERIALIZABLE'
[mariadb] a: SET SESSION tx_isolation = 'SERIALIZABLE'
a: DO 1
[mysql] a: SELECT @@transaction_isolation, @@session.transaction_isolation
[mysql] = SERIALIZABLE | SERIALIZABLE
[mariadb] a: SELECT @@tx_isolation, @@session.tx_isolation
[mariadb] = SERIALIZABLE | SERIALIZABLE
[mysql] a: SET @@session.transaction_isolation = DEFAULT
[mariadb] a: SET @@session.tx_isolation = DEFAULT
[mysql] a: SELECT @@transaction_isolation = @@global.transaction_isolation
[mysql] = 1
[mariadb] a: SELECT @@tx_isolation = @@global.tx_isolation
[mariadb] = 1
[mysql] a: SET SESSION transaction_isolation = 'nosuch'
[mysql] = ERR 1231/42000
[mariadb] a: SET SESSION tx_isolation = 'nosuch'
[mariadb] = ERR 1231/42000

# A read-only session.
b: SET SESSION TRANSACTION READ ONLY
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: UPDATE t SET v = 9
= ERR 1792/25006
b: BEGIN
b: UPDATE t SET v = 9
= ERR 1792/25006
b: ROLLBACK
b: START TRANSACTION READ WRITE
b: UPDATE t SET v = 9
b: ROLLBACK
[mysql] b: SELECT @@transaction_read_only, @@session.transaction_read_only
[mysql] = 1 | 1
[mariadb] b: SELECT @@tx_read_only, @@session.tx_read_only
[mariadb] = 1 | 1
b: SELECT RELEASE_LOCK('$N.b')
= 1
b: SET SESSION TRANSACTION READ WRITE, ISOLATION LEVEL READ COMMITTED
b: UPDATE t SET v = 4
[mysql] b: SELECT @@transaction_read_only, @@transaction_isolation
[mysql] = 0 | READ-COMMITTED
[mariadb] b: SELECT @@tx_read_only, @@tx_isolation
[mariadb] = 0 | READ-COMMITTED

# For the next transaction only: used up by BEGIN and COMMIT.
c: SET TRANSACTION READ ONLY
c: BEGIN
c: UPDATE t SET v = 9
= ERR 1792/25006
c: COMMIT
c: UPDATE t SET v = 5

@end shuffled mariadb
# A statement without BEGIN that is refused does not use it up; one that runs does.
c: SET TRANSACTION READ ONLY
c: UPDATE t SET v = 9
= ERR 1792/25006
c: UPDATE t SET v = 6
= ERR 1792/25006
c: SELECT COUNT(*) FROM t
= 1
c: UPDATE t SET v = 6

# Not used up by a SELECT without tables, by DO, by SET or by a lock.
c: SET TRANSACTION READ ONLY
c: SELECT 1
= 1
c: DO 1
c: SET @x = 1
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT RELEASE_ALL_LOCKS()
= 1
c ping
c initdb $DB
c: SHOW WARNINGS
= empty
c: UPDATE t SET v = 9
= ERR 1792/25006
c: UPDATE t SET v = 7
= ERR 1792/25006
c: SELECT v FROM t
= 6

# Used up by a SELECT with tables.
c: SET TRANSACTION READ ONLY
c: SELECT v FROM t
= 6
c: UPDATE t SET v = 8

# A level for one transaction, seen by what it reads.
w: BEGIN
w: UPDATE t SET v = 100
c: SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
c: DO 1
c: BEGIN
c: SELECT v FROM t
= 100
c: COMMIT
c: SELECT v FROM t
= 8
w: ROLLBACK

# The same by its variable without a scope; the session's value is another.
w: BEGIN
w: UPDATE t SET v = 100
[mysql] d: SET @@transaction_isolation = 'READ-UNCOMMITTED'
[mariadb] d: SET @@tx_isolation = 'READ-UNCOMMITTED'
[mysql] d: SELECT @@transaction_isolation, @@session.transaction_isolation
[mysql] = REPEATABLE-READ | REPEATABLE-READ
[mariadb] d: SELECT @@tx_isolation, @@session.tx_isolation
[mariadb] = REPEATABLE-READ | REPEATABLE-READ
d: SELECT v FROM t
= 100
d: SELECT v FROM t
= 8
[mysql] d: SET @@transaction_read_only = 1
[mariadb] d: SET @@tx_read_only = 1
d: SELECT 1
= 1
d: DELETE FROM t
= ERR 1792/25006
w: ROLLBACK
d: DELETE FROM t WHERE id = 5
= ERR 1792/25006
d: SELECT COUNT(*) FROM t
= 1
d: DELETE FROM t WHERE id = 5

# Both together, the second replacing the first; and the session's set in between.
d: SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY
d: SET TRANSACTION READ WRITE
d: UPDATE t SET v = 8
d: SET TRANSACTION READ ONLY
d: SET SESSION TRANSACTION READ WRITE
d: UPDATE t SET v = 9
d: SET TRANSACTION READ ONLY
d: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
d: UPDATE t SET v = 10
= ERR 1792/25006
d: UPDATE t SET v = 11
= ERR 1792/25006
d: SELECT COUNT(*) FROM t
= 1

# Not inside a transaction; and a failed statement in front.
d: BEGIN
d: SET TRANSACTION READ ONLY
= ERR 1568/25001
d: UPDATE t SET v = 12
d: COMMIT
d: SET TRANSACTION READ ONLY
d: SELECT nosuch
= ERR 1054/42S22
d: UPDATE t SET v = 9
= ERR 1792/25006
d: UPDATE t SET v = 13
= ERR 1792/25006
d: SELECT v FROM t
= 12
d: UPDATE t SET v = 13
d: SET TRANSACTION READ ONLY
d: SELECT * FROM nosuch
= ERR 1146/42S02
d: UPDATE t SET v = 9
= ERR 1792/25006
d: UPDATE t SET v = 13
= ERR 1792/25006
d: SELECT v FROM t
= 13
d: UPDATE t SET v = 13

# COMMIT and ROLLBACK with nothing to end.
d: SET TRANSACTION READ ONLY
d: COMMIT
d: UPDATE t SET v = 14
d: SET TRANSACTION READ ONLY
d: ROLLBACK
d: UPDATE t SET v = 15

# Without autocommit: for the transaction that begins by itself.
d: SET autocommit = 0
d: SET TRANSACTION READ ONLY
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: UPDATE t SET v = 9
= ERR 1792/25006
d: SELECT v FROM t
= 15
d: COMMIT
d: UPDATE t SET v = 16
d: COMMIT
d: SET autocommit = 1

# Through a reset and a change of user.
e: SET TRANSACTION READ ONLY
e reset
e: UPDATE t SET v = 17
e: SET SESSION TRANSACTION READ ONLY
e reset
e: UPDATE t SET v = 18
e: SET TRANSACTION READ ONLY
e changeuser
e: UPDATE t SET v = 19

# Begun by a prepared statement, in a procedure.
e prepare u : UPDATE t SET v = ?
e prepare s : SELECT v FROM t
e: SET TRANSACTION READ ONLY
e execute u 9
= ERR 1792/25006
e execute u 20
= ERR 1792/25006
e execute s
= 19
e execute u 20
e: SET TRANSACTION READ ONLY
e: CREATE PROCEDURE up() UPDATE t SET v = 21
e: CALL up()
e: SET TRANSACTION READ ONLY
e: CALL up()
= ERR 1792/25006
e: CALL up()
= ERR 1792/25006
e: SELECT v FROM t
= 21
e: CALL up()

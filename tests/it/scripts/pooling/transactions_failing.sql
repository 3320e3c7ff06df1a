# Errors in transactions: which of them end one, and what their packets do not say.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t VALUES (1, 1), (2, 2), (3, 3)
@setup CREATE PROCEDURE $DB.fails() BEGIN START TRANSACTION; INSERT INTO t VALUES (30, 1); SELECT 'before' AS x; INSERT INTO t VALUES (1, 1); END

# A statement fails; the transaction goes on.
a: BEGIN
a: INSERT INTO t VALUES (4, 4)
a: INSERT INTO t VALUES (1, 1)
= ERR 1062/23000
a: SELECT GET_LOCK('$N.a', 0)
= 1
a ping
a: SELECT id FROM t
= 1; 2; 3; 4
a: ROLLBACK
a: SELECT id FROM t
= 1; 2; 3

# Without autocommit a failed statement may be the one that begins it.
b: SET autocommit = 0
b: INSERT INTO t VALUES (1, 1)
= ERR 1062/23000
b: DO 1
b ping
b: UPDATE t SET v = 5 WHERE id = 1
b: ROLLBACK
b: SELECT nosuch FROM t
= ERR 1054/42S22
b ping
[mysql] = OK W1
[mariadb] = OK
b: SELECT v FROM nosuch
= ERR 1146/42S02
b ping
[mysql] = OK W1
[mariadb] = OK
b: SELEC 1
= ERR 1064/42000
b ping
[mysql] = OK W1
[mariadb] = OK
b: COMMIT
b: SET autocommit = 1

# A statement of several rows fails in its second.
a: BEGIN
a: INSERT INTO t VALUES (5, 5), (1, 1), (6, 6)
= ERR 1062/23000
a: SELECT id FROM t
= 1; 2; 3
a: COMMIT
a: SELECT id FROM t
= 1; 2; 3

# A lock of a row that does not come: the statement alone is undone.
a: BEGIN
a: INSERT INTO t VALUES (7, 7)
c: BEGIN
c: UPDATE t SET v = 9 WHERE id = 2
a: SET SESSION innodb_lock_wait_timeout = 1
a: UPDATE t SET v = 10 WHERE id = 2
= ERR 1205/HY000
a ping
[mysql] = OK W1
[mariadb] = OK
a: SELECT @@innodb_lock_wait_timeout
= 1
a: SELECT id FROM t
= 1; 2; 3; 7
a: COMMIT
c: ROLLBACK
a: SELECT id, v FROM t
= 1 | 1; 2 | 2; 3 | 3; 7 | 7
a: DELETE FROM t WHERE id = 7
a: SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT
= 2
c: BEGIN
c: UPDATE t SET v = 9 WHERE id = 2
a: BEGIN
a: SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT
[mysql] = ERR 3572/HY000
[mariadb] = ERR 1205/HY000
a ping
[mysql] = OK W2
[mariadb] = OK
a: COMMIT
c: ROLLBACK

# A deadlock ends the transaction of whom it hits.
a: SET SESSION innodb_lock_wait_timeout = DEFAULT
a: SELECT GET_LOCK('$N.a', 0)
= 1
c: BEGIN
c: INSERT INTO t VALUES (20, 1), (21, 1), (22, 1), (23, 1)
c: UPDATE t SET v = 11 WHERE id = 1
a: BEGIN
a: UPDATE t SET v = 12 WHERE id = 2
c!!: UPDATE t SET v = 13 WHERE id = 2
a: DO SLEEP(0.3)
a: UPDATE t SET v = 14 WHERE id = 1
= ERR 1213/40001
a ping
[mysql] = OK W1
[mariadb] = OK
a: SELECT v FROM t WHERE id = 2
= 2
c?
c: ROLLBACK
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: COMMIT
a: SELECT id, v FROM t
= 1 | 1; 2 | 2; 3 | 3

# A procedure that begins and fails.
d: CALL fails()
= before; ERR 1062/23000
d ping
[mysql] = OK W1
[mariadb] = OK
d: SELECT id FROM t WHERE id = 30
= 30
d: ROLLBACK
d: SELECT id FROM t WHERE id = 30
= empty

# Signals, and a division by zero in strict mode.
d: BEGIN
d: INSERT INTO t VALUES (31, 1)
d: SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stop'
= ERR 1644/45000
d: INSERT INTO t VALUES (32, 1 / 0)
= ERR 1365/22012
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: ROLLBACK
d: SELECT COUNT(*) FROM t WHERE id > 30
= 0

# A read-only transaction refuses.
d: START TRANSACTION READ ONLY
d: INSERT INTO t VALUES (33, 1)
= ERR 1792/25006
d: CREATE TABLE x (id INT)
d ping
d: SELECT id FROM t WHERE id = 1
= 1
d: COMMIT

# A prepared statement that fails, within and without.
e prepare i : INSERT INTO t VALUES (?, ?)
e execute i 1 1
= ERR 1062/23000
e ping
[mysql] = OK W1
[mariadb] = OK
e: BEGIN
e execute i 40 1
e execute i 1 1
= ERR 1062/23000
e execute i 'abc' 1
[mysql] = ERR 1366/HY000
[mariadb] = ERR 1366/22007
e ping
[mysql] = OK W1
[mariadb] = OK
e: ROLLBACK
e execute i 40 1
e: DELETE FROM t WHERE id = 40

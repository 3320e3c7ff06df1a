# ROW_COUNT(): of the statement just before, whatever it was.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (1), (2), (3)
@setup CREATE PROCEDURE $DB.changes() BEGIN UPDATE t SET v = v + 1; END
@setup CREATE PROCEDURE $DB.shows() BEGIN SELECT ROW_COUNT() AS within; END
@setup CREATE FUNCTION $DB.counted() RETURNS INT DETERMINISTIC RETURN ROW_COUNT()

# Of statements that change rows.
a: UPDATE t SET v = v + 1 WHERE id < 3
a: SELECT ROW_COUNT()
= 2
a: SELECT ROW_COUNT()
= -1
a: UPDATE t SET v = v
a: SELECT ROW_COUNT()
= 0
a: INSERT INTO t (v) VALUES (4), (5)
a: SELECT ROW_COUNT(), LAST_INSERT_ID()
= 2 | 4
a: REPLACE INTO t (id, v) VALUES (1, 9)
a: SELECT ROW_COUNT()
= 2
a: INSERT INTO t (id, v) VALUES (1, 9) ON DUPLICATE KEY UPDATE v = 10
a: SELECT ROW_COUNT()
= 2
a: INSERT INTO t (id, v) VALUES (1, 9) ON DUPLICATE KEY UPDATE v = 10
a: SELECT ROW_COUNT()
= 0
a: DELETE FROM t WHERE id = 4
a: SELECT ROW_COUNT()
= 1
a: INSERT INTO t (id) VALUES (1)
= ERR 1062/23000
a: SELECT ROW_COUNT()
= -1

# Of others: a query, DO, SET, definitions, transactions, a lock, commands.
b: SELECT v FROM t
= 10; 3; 3; 5
b: SELECT ROW_COUNT()
= -1
b: UPDATE t SET v = v + 1
b: DO 1
b: SELECT ROW_COUNT()
= 0
b: UPDATE t SET v = v + 1
b: SET @x = 1
b: SELECT ROW_COUNT()
= 0
b: UPDATE t SET v = v + 1
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT ROW_COUNT()
= -1
b: BEGIN
b: UPDATE t SET v = v + 1
b: COMMIT
b: SELECT ROW_COUNT()
= 0
b: CREATE TABLE x AS SELECT * FROM t
b: SELECT ROW_COUNT()
= 4
b: DROP TABLE x
b: SELECT ROW_COUNT()
= 0
b: UPDATE t SET v = v + 1
b ping
b: SELECT ROW_COUNT()
= 0
b: UPDATE t SET v = v + 1
b initdb $DB
b: SELECT ROW_COUNT()
= 0
b: UPDATE t SET v = v + 1
b: USE $DB
b: SELECT ROW_COUNT()
= 0
b: UPDATE t SET v = v + 1
b: SELECT nosuch
= ERR 1054/42S22
b: SELECT ROW_COUNT()
= -1
b: UPDATE t SET v = v + 1
b: SHOW WARNINGS
= empty
b: SELECT ROW_COUNT()
= -1

# Of CALL, in conditions, in SET.
c: CALL changes()
c: SELECT ROW_COUNT()
= 4
c: UPDATE t SET v = v + 1
c: SET @n = ROW_COUNT()
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT @n
= 4
c: UPDATE t SET v = v + 1
c: SELECT v > 0 FROM t WHERE ROW_COUNT() = 4 LIMIT 1
= 1
c: UPDATE t SET v = v + 1
c: INSERT INTO t (v) VALUES (ROW_COUNT())
c: SELECT MAX(v) > 0, ROW_COUNT() FROM t
= 1 | 1

# Of prepared statements of both kinds.
d prepare u : UPDATE t SET v = v + ? WHERE id < 3
d prepare r : SELECT ROW_COUNT()
d execute u 1
d execute r
= 2
d execute r
= -1
d execute u 1
d: SELECT GET_LOCK('$N.d', 0)
= 1
d execute r
= -1
d execute u 0
d: SELECT ROW_COUNT()
= 0
d execute u 1
d prepare other : SELECT 1
d: SELECT ROW_COUNT()
= 2
d execute u 1
d closestmt other
= empty
d: SELECT ROW_COUNT()
= 2
d: PREPARE q FROM 'UPDATE t SET v = v + 1 WHERE id = 1'
d: EXECUTE q
d: SELECT ROW_COUNT()
= 1
d: EXECUTE q
d: DEALLOCATE PREPARE q
d: SELECT ROW_COUNT()
= 0
d: UPDATE t SET v = v + 1
d reset
d: SELECT ROW_COUNT()
= 0

@end shuffled
# Within routines, and as GET DIAGNOSTICS has it.
e: UPDATE t SET v = v + 1
e: CALL shows()
= 5; OK
e: UPDATE t SET v = v + 1
e: SELECT counted()
= 5
e: UPDATE t SET v = v + 1
e: GET DIAGNOSTICS @r = ROW_COUNT
e: SELECT @r
= 5

# Temporary tables: made in every way, and how each way ends.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (10), (20)
@setup CREATE TABLE $DB.shadowed (v VARCHAR(20))
@setup INSERT INTO $DB.shadowed VALUES ('the real one')
@setup CREATE PROCEDURE $DB.makes() BEGIN CREATE TEMPORARY TABLE made (v INT); INSERT INTO made VALUES (77); END
@setup CREATE PROCEDURE $DB.makes_and_drops() BEGIN CREATE TEMPORARY TABLE passing (v INT); INSERT INTO passing VALUES (1); SELECT v FROM passing; DROP TEMPORARY TABLE passing; END
@setup CREATE FUNCTION $DB.inside() RETURNS INT DETERMINISTIC BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS of_function (v INT); INSERT INTO of_function VALUES (1); RETURN (SELECT COUNT(*) FROM of_function); END
@setup CREATE PROCEDURE $DB.tidies() BEGIN DROP TEMPORARY TABLE IF EXISTS made; END

# Made, filled, read, dropped.
a: CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: INSERT INTO tmp (v) VALUES (1), (2)
a: SELECT LAST_INSERT_ID()
= 1
a: DO 1
a: SELECT id, v FROM tmp
= 1 | 1; 2 | 2
a: SHOW CREATE TABLE tmp
a: DROP TEMPORARY TABLE tmp
a: SELECT id, v FROM tmp
= ERR 1146/42S02
a: SELECT 1
= 1

# By SELECT, by LIKE, and dropped by a plain DROP TABLE.
a: CREATE TEMPORARY TABLE tmp SELECT * FROM t
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: SELECT COUNT(*) FROM tmp
= 2
a: DROP TABLE tmp
a: CREATE TEMPORARY TABLE tmp LIKE t
a: INSERT INTO tmp (v) SELECT v FROM t
a: SELECT id, v FROM tmp
= 1 | 10; 2 | 20
a: DROP TABLE IF EXISTS tmp, nosuch
= OK W1
a: CREATE TEMPORARY TABLE IF NOT EXISTS tmp (a INT)
a: CREATE TEMPORARY TABLE IF NOT EXISTS tmp (b INT)
= OK W1
a: SHOW WARNINGS
= Note | 1050 | Table 'tmp' already exists
a: SHOW COLUMNS FROM tmp
[mysql] = a | int | YES |  | NULL | NULL
a: CREATE TEMPORARY TABLE tmp (a INT)
= ERR 1050/42S01
a: DROP TEMPORARY TABLE tmp, nosuch
= ERR 1051/42S02
a: SELECT * FROM tmp
[mysql] = empty
[mariadb] = ERR 1146/42S02
[mysql] a: DROP TEMPORARY TABLE tmp
[mariadb] a: CREATE OR REPLACE TEMPORARY TABLE tmp (a INT)
[mariadb] a: CREATE OR REPLACE TEMPORARY TABLE tmp (b INT)
[mariadb] a: SHOW COLUMNS FROM tmp
[mariadb] a: DROP TEMPORARY TABLE tmp

# One that hides a table of the same name, and lets it be seen again.
b: CREATE TEMPORARY TABLE shadowed (v VARCHAR(20))
b: INSERT INTO shadowed VALUES ('the other one')
b: DO 1
b: SELECT v FROM shadowed
= the other one
c: SELECT v FROM shadowed
= the real one
b: DROP TABLE shadowed
b: SELECT v FROM shadowed
= the real one
c: SELECT v FROM shadowed
= the real one

# In a transaction: it outlives a rollback, what is in it does not.
b: BEGIN
b: CREATE TEMPORARY TABLE tmp (v INT) ENGINE=InnoDB
b: INSERT INTO tmp VALUES (1)
b: ROLLBACK
[mysql] = OK W1
[mariadb] = OK
b: SELECT COUNT(*) FROM tmp
= 0
b: INSERT INTO tmp VALUES (2)
b: TRUNCATE tmp
b: SELECT COUNT(*) FROM tmp
= 0
b: ALTER TABLE tmp ADD COLUMN w INT
b: INSERT INTO tmp VALUES (3, 4)
b: ALTER TABLE tmp RENAME TO tmp2
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT v, w FROM tmp2
= 3 | 4
b: DROP TABLE tmp2

# Made by a procedure, by a function, by EXECUTE, by a binary statement.
d: CALL makes()
d: SELECT 1
= 1
d: SELECT v FROM made
= 77
d: CALL tidies()
d: SELECT v FROM made
= ERR 1146/42S02
d: CALL makes_and_drops()
= 1; OK
d: SELECT v FROM passing
= ERR 1146/42S02
d: SELECT inside()
= 1
d: DO 1
d: SELECT inside()
= 2
d: SELECT COUNT(*) FROM of_function
= 2
d: DROP TEMPORARY TABLE of_function
d: PREPARE s FROM 'CREATE TEMPORARY TABLE executed AS SELECT ? AS v'
d: SET @v = 5
d: EXECUTE s USING @v
d: DEALLOCATE PREPARE s
d: SELECT v FROM executed
= 5
d: DROP TABLE executed
d prepare c : CREATE TEMPORARY TABLE bound AS SELECT ? AS v
d execute c 6
d prepare r : SELECT v FROM bound WHERE v > ?
d execute r 1
= 6
d: SELECT RELEASE_ALL_LOCKS()
= 0
d execute r 1
= 6
d prepare x : DROP TABLE bound
d execute x
d execute r 1
= ERR 1146/42S02
d closestmt r
= empty
d closestmt c
= empty
d closestmt x
= empty

# Two at once; one goes, the other stays.
e: CREATE TEMPORARY TABLE one (v INT)
e: CREATE TEMPORARY TABLE two (v INT)
e: INSERT INTO one VALUES (1)
e: DROP TABLE two
e: SELECT 1
= 1
e: SELECT v FROM one
= 1
e: DROP TABLE nosuch, one
= ERR 1051/42S02
e: SELECT v FROM one
[mysql] = 1
[mariadb] = ERR 1146/42S02

# A reset, a change of user.
e: CREATE TEMPORARY TABLE tmp (v INT)
e reset
e: SELECT v FROM tmp
= ERR 1146/42S02
e: CREATE TEMPORARY TABLE tmp (v INT)
e changeuser
e: SELECT v FROM tmp
= ERR 1146/42S02
e: CREATE TEMPORARY TABLE tmp (v INT)
e changeuser user=$USER2
e: SELECT v FROM tmp
= ERR 1146/42S02

# Those of the schema that is dropped or left.
f: CREATE TEMPORARY TABLE tmp (v INT)
f: USE information_schema
f: SELECT v FROM tmp
= ERR 1109/42S02
f: SELECT v FROM $DB.tmp
= empty
f: USE $DB
f: DROP TEMPORARY TABLE $DB.tmp
f: CREATE TEMPORARY TABLE failing (v INT) AS SELECT nosuch
= ERR 1054/42S22
f: SELECT v FROM failing
= ERR 1146/42S02
f: CREATE TEMPORARY TABLE failing (v INT NOT NULL PRIMARY KEY) AS SELECT 1 AS v UNION ALL SELECT 1
= ERR 1062/23000
f: SELECT v FROM failing
= ERR 1146/42S02

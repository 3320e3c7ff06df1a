# FOUND_ROWS(): with and without SQL_CALC_FOUND_ROWS, and after other statements.
@matrix caps=-DEPRECATE_EOF
@matrix caps=+FOUND_ROWS
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (1), (2), (3), (4), (5)
@setup CREATE PROCEDURE $DB.shows() BEGIN SELECT id FROM t LIMIT 2; SELECT FOUND_ROWS(); END
@setup CREATE PROCEDURE $DB.calculates() BEGIN SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1; END

# A table of that name.
a: CREATE TABLE found_rows (row_count INT, val INT)
a: SELECT id FROM t LIMIT 2
= 1; 2
a: INSERT INTO $DB.found_rows (val) VALUES (1), (2)
a: INSERT INTO found_rows (val) VALUES (3)
a: INSERT INTO $DB . found_rows (val) SELECT ROW_COUNT()
a: SELECT val FROM found_rows
= 1; 2; 3; 1
a: DROP TABLE found_rows

# Of a query, with LIMIT and without.
a: SELECT id FROM t
= 1; 2; 3; 4; 5
a: SELECT FOUND_ROWS()
[mysql] = 5 W1
[mariadb] = 5
a: SELECT id FROM t LIMIT 2
= 1; 2
a: SELECT FOUND_ROWS()
[mysql] = 2 W1
[mariadb] = 2
a: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
a: SELECT FOUND_ROWS()
[mysql] = 5 W1
[mariadb] = 5
a: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
a: SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id > 1 ORDER BY id LIMIT 1, 2
[mysql] = 3; 4 W1
[mariadb] = 3; 4
a: SELECT FOUND_ROWS()
[mysql] = 4 W1
[mariadb] = 4
a: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 0
[mysql] = empty W1
[mariadb] = empty
a: SELECT FOUND_ROWS()
[mysql] = 5 W1
[mariadb] = 5
a: SELECT id FROM t WHERE id > 99
= empty
a: SELECT FOUND_ROWS()
[mysql] = 0 W1
[mariadb] = 0

# What leaves it alone and what does not.
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: SET @x = 1
b: SELECT FOUND_ROWS()
[mysql] = 5 W1
[mariadb] = 5
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: DO 1
b: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 5
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: UPDATE t SET v = v + 1 WHERE id < 3
b: SELECT FOUND_ROWS(), ROW_COUNT()
[mysql] = 2 | 2 W1
[mariadb] = 5 | 2
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: INSERT INTO t (v) VALUES (6)
b: SELECT FOUND_ROWS()
[mysql] = 5 W1
[mariadb] = 5
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: DO GET_LOCK('$N.b', 0)
b: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 6
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
# Without a lock: a fenced COMMIT leaves 1 on MariaDB (docs/differences-reference.md).
b: SELECT RELEASE_ALL_LOCKS()
= 2
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: BEGIN
b: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: COMMIT
b: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b ping
[mysql] = OK W1
[mariadb] = OK
b initdb $DB
[mysql] = OK W1
[mariadb] = OK
b: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
b: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
[mysql] = 1; 2 W1
[mariadb] = 1; 2
b: SHOW TABLES
= t
b: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
b: SELECT id FROM t LIMIT 3
= 1; 2; 3
b: SHOW WARNINGS
= empty
b: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3
b: SELECT id FROM t LIMIT 3
= 1; 2; 3
b: SELECT nosuch
= ERR 1054/42S22
b: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3
b: SELECT id FROM t LIMIT 3
= 1; 2; 3
b: CREATE TABLE x (id INT)
b: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3
b: SELECT id FROM t LIMIT 3
= 1; 2; 3
b: DROP TABLE x
b: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3
b: SELECT id FROM t LIMIT 3
= 1; 2; 3
b: USE $DB
b: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3

# Of unions, derived tables, groups; into a variable, within a larger query.
c: (SELECT SQL_CALC_FOUND_ROWS id FROM t) UNION ALL (SELECT id FROM t) LIMIT 3
[mysql] = 1; 2; 3 W1
[mariadb] = 1; 2; 3
c: SELECT FOUND_ROWS()
[mysql] = 12 W1
[mariadb] = 12
c: SELECT SQL_CALC_FOUND_ROWS v, COUNT(*) FROM t GROUP BY v ORDER BY v LIMIT 1
[mysql] = 2 | 1 W1
[mariadb] = 2 | 1
c: SET @n = FOUND_ROWS()
[mysql] = OK W1
[mariadb] = OK
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT @n
= 5
c: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
c: SELECT FOUND_ROWS() AS found, 'text' AS x
[mysql] = 4 | text W1
[mariadb] = 4 | text
c: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
c: SELECT id, FOUND_ROWS() FROM t WHERE id < 3
[mysql] = 1 | 4; 2 | 4 W1
[mariadb] = 1 | 4; 2 | 4
c: SELECT id FROM t LIMIT 2 INTO @a
= ERR 1172/42000
c: SELECT id FROM t LIMIT 1 INTO @a
[mysql] = OK
[mariadb] = OK W1
c: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
c: SELECT id FROM t LIMIT 2
= 1; 2
c: INSERT INTO t (id, v) VALUES (100, FOUND_ROWS())
[mysql] = OK W1
[mariadb] = OK
c: SELECT v FROM t WHERE id = 100
= 2
c: DELETE FROM t WHERE id = 100

# Of prepared statements, of CALL, within a routine.
d prepare s : SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id > ? LIMIT 1
d prepare f : SELECT FOUND_ROWS()
d execute s 1
= 2
d execute f
= 5
d execute f
= 1
d execute s 2
= 3
d: SELECT FOUND_ROWS()
[mysql] = 4 W1
[mariadb] = 4
d execute s 0
= 1
d: DO 1
d execute f
[mysql] = 1
[mariadb] = 6
d: CALL shows()
= 1; 2; 2; OK
d: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
d: CALL calculates()
= 1; OK
d: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
d: SELECT id FROM t LIMIT 3
= 1; 2; 3
d: CALL shows()
= 1; 2; 2; OK
d: PREPARE q FROM 'SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1'
[mysql] = OK W1
[mariadb] = OK
d: EXECUTE q
= 1
d: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
d: EXECUTE q
= 1
d: DEALLOCATE PREPARE q
d: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6

# With a limit of the session, with a cursor, after a reset.
e: SET sql_select_limit = 2
e: SELECT id FROM t
= 1; 2
e: SELECT FOUND_ROWS()
[mysql] = 2 W1
[mariadb] = 2
e: SELECT SQL_CALC_FOUND_ROWS id FROM t
[mysql] = 1; 2 W1
[mariadb] = 1; 2
e: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
e: SET sql_select_limit = DEFAULT
e: SELECT id FROM t LIMIT 3
= 1; 2; 3
e reset
e: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3

# With an offset, after the end, and of UNION with LIMIT: they find more than they have.
f: SELECT id FROM t ORDER BY id LIMIT 1, 2
= 2; 3
f: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3
f: SELECT id FROM t LIMIT 2 OFFSET 2
= 3; 4
f: SELECT FOUND_ROWS()
[mysql] = 4 W1
[mariadb] = 4
f: SELECT id FROM t LIMIT 10, 5
= empty
f: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
f: (SELECT id FROM t) ORDER BY id LIMIT 1, 1
= 2
f: SELECT FOUND_ROWS()
[mysql] = 2 W1
[mariadb] = 2
f: SELECT id FROM t UNION SELECT 99 LIMIT 1
= 1
f: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 7
[mariadb] f: SELECT id FROM t ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
[mariadb] = 2; 3
[mariadb] f: SELECT FOUND_ROWS()
[mariadb] = 3
[mariadb] f: SELECT v FROM t GROUP BY v WITH ROLLUP LIMIT 2
[mariadb] f: SELECT FOUND_ROWS()
f: SELECT id FROM t LIMIT 2
= 1; 2
f: SELECT FOUND_ROWS()
[mysql] = 2 W1
[mariadb] = 2
f: SET sql_select_limit = 2
f: SELECT id FROM t UNION SELECT 99
f: SELECT FOUND_ROWS() > 0
[mysql] = 1 W1
[mariadb] = 1
f: SET sql_select_limit = DEFAULT
f prepare p : SELECT id FROM t ORDER BY id LIMIT ?, ?
f execute p 1 2
= 2; 3
f: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 3
f execute p 10 2
= empty
f: SELECT FOUND_ROWS()
[mysql] = 6 W1
[mariadb] = 6
f prepare q : SELECT id FROM t ORDER BY id LIMIT ?
f execute q 2
= 1; 2
f: SELECT FOUND_ROWS()
[mysql] = 2 W1
[mariadb] = 2

# Statements with rows that count for nothing, and some without that count.
g: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
g: SHOW CREATE TABLE t
g: SELECT FOUND_ROWS()
[mysql] = 4 W1
[mariadb] = 4
g: SHOW GRANTS
g: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
g: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
g: EXPLAIN SELECT * FROM t
g: SELECT FOUND_ROWS()
g: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
g: CHECK TABLE t
g: SELECT FOUND_ROWS()
[mysql] = 4 W1
[mariadb] = 4
g: SHOW TABLES
= t
g: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
g: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
g: UPDATE t SET v = v WHERE id < 4
g: SELECT FOUND_ROWS()
[mysql] = 3 W1
[mariadb] = 4
g: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
g: DO 1
g: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 4
g: CREATE TABLE u LIKE t
g: SELECT id FROM t LIMIT 4
= 1; 2; 3; 4
g: INSERT INTO u SELECT * FROM t WHERE id < 3
g: SELECT FOUND_ROWS()
[mysql] = 2 W1
[mariadb] = 2
g: DROP TABLE u

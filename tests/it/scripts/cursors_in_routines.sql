# Cursors that procedures, functions and triggers open themselves: the status of an answer shows them, and its rows come
# nevertheless. Only what was executed with a cursor of the client's own keeps its rows.
@also over_tls over_zlib over_both observed shuffled
@setup CREATE FUNCTION $DB.f() RETURNS INT DETERMINISTIC READS SQL DATA BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT MAX(a) FROM t; OPEN c; FETCH c INTO x; CLOSE c; RETURN x; END
@session a caps=+MULTI_STATEMENTS
@session b caps=+MULTI_STATEMENTS
@matrix caps=-DEPRECATE_EOF
@matrix caps=-DEPRECATE_EOF,-SESSION_TRACK,-PS_MULTI_RESULTS
a: CREATE TABLE t (a INT)
a: INSERT INTO t VALUES (1), (2), (3)
a: CREATE PROCEDURE closed() BEGIN DECLARE c CURSOR FOR SELECT a FROM t; OPEN c; CLOSE c; SELECT 5; END
a: CREATE PROCEDURE opened() BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT a FROM t; SELECT 4; OPEN c; FETCH c INTO x; SELECT 5, x; SELECT a FROM t WHERE a > 5; CLOSE c; SELECT a FROM t; END
a: CREATE PROCEDURE silent() BEGIN DECLARE c CURSOR FOR SELECT a FROM t; OPEN c; END
a: CREATE PROCEDURE fails() BEGIN DECLARE c CURSOR FOR SELECT a FROM t; OPEN c; SELECT 6; SELECT nosuch FROM t; END
a: CREATE PROCEDURE inner_first() BEGIN CALL closed(); SELECT 8; END
a: CREATE PROCEDURE outs(IN i INT, OUT o INT, INOUT io INT) BEGIN DECLARE c CURSOR FOR SELECT a FROM t; OPEN c; SELECT i; SET o = i + 1; SET io = io + i; END
a: CREATE TABLE log (a INT)
a: CREATE TRIGGER g BEFORE INSERT ON log FOR EACH ROW BEGIN DECLARE c CURSOR FOR SELECT a FROM t; OPEN c; CLOSE c; SET NEW.a = NEW.a + 1; END
a: CALL closed()
= 5; OK
a: SELECT 7
= 7
a: CALL opened()
a: SELECT 7
= 7
a: CALL silent()
a: CALL fails()
a: CALL inner_first()
a: CALL closed(); SELECT 9; CALL opened()
a: SELECT f()
= 3
a: SELECT a FROM t WHERE a = f()
= 3
a: INSERT INTO log VALUES (f())
= OK
a: SHOW TABLES WHERE f() = 3
[mysql] a: EXPLAIN FORMAT=TREE SELECT f() FROM DUAL
a: SELECT 7
= 7
# All of them first: MySQL counts a statement that it prepares again, which happens when others define routines.
b prepare closed : CALL closed()
b prepare opened : CALL opened()
b prepare silent : CALL silent()
b prepare fails : CALL fails()
b prepare inner : CALL inner_first()
b prepare outs : CALL outs(?, ?, ?)
b prepare f : SELECT f(), a FROM t ORDER BY a
b prepare none : SELECT a FROM t WHERE a > f()
b prepare log : INSERT INTO log VALUES (?)
b prepare explain : EXPLAIN SELECT a FROM t
b prepare show : SHOW TABLES LIKE 'lo%'
b prepare into : SELECT a INTO @x FROM t LIMIT 1
[mariadb] b prepare returning : INSERT INTO log VALUES (f()) RETURNING a
[mariadb] b prepare block : BEGIN NOT ATOMIC DECLARE c CURSOR FOR SELECT 1; OPEN c; SELECT 1; SELECT 2; END
b execute closed
b execute closed cursor
b execute opened
b execute opened cursor
b execute silent
b execute silent cursor
b execute fails
b execute fails cursor
b execute inner
b execute inner cursor
b execute outs 1 2 3
b execute outs cursor 1 2 3
b: SELECT 7
= 7
b execute f
b execute f cursor
b fetch f 2
b fetch f 2
b fetch f 2
b execute none
b execute none cursor
b fetch none 1
b fetch none 1
b execute log 5
b execute log cursor 6
b execute explain
[mariadb] b execute explain cursor
b execute show
b execute show cursor
b fetch show 5
b execute into cursor
[mariadb] b execute returning
[mariadb] b execute returning cursor
[mariadb] b execute block
[mariadb] b execute block cursor
b: SELECT COUNT(*) FROM log
b: SELECT GET_LOCK('$Nk', 0)
= 1
b: CALL opened()
b execute closed
b execute opened cursor
b: SELECT RELEASE_LOCK('$Nk')
= 1
b: SELECT 7
= 7

# Variables that are set where the text of a statement does not show it.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup CREATE TABLE $DB.log (v INT)
@setup CREATE PROCEDURE $DB.sets(n INT) BEGIN SET SESSION max_sp_recursion_depth = n; END
@setup CREATE PROCEDURE $DB.sets_and_shows(n INT) BEGIN SET SESSION max_sp_recursion_depth = n; SELECT 'before' AS x; SET SESSION div_precision_increment = n; SELECT 'after' AS y; END
@setup CREATE PROCEDURE $DB.sets_and_fails() BEGIN SET SESSION max_sp_recursion_depth = 33; SELECT 1; SELECT nosuch; END
@setup CREATE PROCEDURE $DB.names() BEGIN SET NAMES latin1; SELECT 'é' AS e; END
@setup CREATE PROCEDURE $DB.mode() BEGIN SET SESSION sql_mode = 'ANSI_QUOTES'; END
@setup CREATE PROCEDURE $DB.prepares() BEGIN SET @text = 'SET SESSION max_sp_recursion_depth = 44'; PREPARE inner_s FROM @text; EXECUTE inner_s; DEALLOCATE PREPARE inner_s; END
@setup CREATE FUNCTION $DB.f(n INT) RETURNS INT DETERMINISTIC BEGIN SET SESSION max_sp_recursion_depth = n; RETURN n; END
@setup CREATE TRIGGER $DB.tr BEFORE INSERT ON $DB.t FOR EACH ROW SET SESSION max_sp_recursion_depth = NEW.v

# By a procedure.
a: CALL sets(5)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT @@max_sp_recursion_depth
= 5

# By a procedure that returns results in between.
a: CALL sets_and_shows(6)
= before; after; OK
a: DO 1
a: SELECT @@max_sp_recursion_depth, @@div_precision_increment, 1 / 3
= 6 | 6 | 0.333333

# By a procedure that fails afterwards.
a: CALL sets_and_fails()
= 1; ERR 1054/42S22
a: SELECT @@max_sp_recursion_depth
= 33

@end shuffled mariadb
# By a function, in a query, in a condition, in SET, in DO.
b: SELECT f(7)
= 7
b: SELECT @@max_sp_recursion_depth
= 7
b: SELECT 1 FROM DUAL WHERE f(8) = 8
= 1
b: DO 1
b: SELECT @@max_sp_recursion_depth
= 8
b: SET @x = f(9)
b: SELECT @@max_sp_recursion_depth
= 9
b: DO f(10)
b: SELECT @@max_sp_recursion_depth
= 10
b: SET SESSION div_precision_increment = f(11)
b: SELECT @@max_sp_recursion_depth, @@div_precision_increment
= 11 | 11

# By a trigger, the last row's value; also if the rows are rolled back.
b: INSERT INTO t (v) VALUES (12), (13)
b: SELECT @@max_sp_recursion_depth
= 13
b: BEGIN
b: INSERT INTO t (v) VALUES (14)
b: ROLLBACK
b: SELECT @@max_sp_recursion_depth
= 14
b: INSERT INTO t (id, v) VALUES (1, 15)
= ERR 1062/23000
b: SELECT @@max_sp_recursion_depth
= 15

# By a statement that was prepared in SQL.
c: PREPARE s FROM 'SET SESSION max_sp_recursion_depth = 16'
c: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth
= 1
c: EXECUTE s
c: SELECT @@max_sp_recursion_depth
= 16
c: SET @n = 17
c: PREPARE s FROM 'SET SESSION max_sp_recursion_depth = ?'
c: EXECUTE s USING @n
c: SELECT RELEASE_LOCK('$N.c')
= NULL
c: SELECT @@max_sp_recursion_depth
= 17
c: DEALLOCATE PREPARE s
c: CALL prepares()
c: SELECT @@max_sp_recursion_depth
= 44
[mariadb] c: EXECUTE IMMEDIATE 'SET SESSION max_sp_recursion_depth = 18'
[mariadb] c: EXECUTE IMMEDIATE CONCAT('SET SESSION div_precision_increment = ', 7)
[mariadb] c: SELECT @@max_sp_recursion_depth, @@div_precision_increment
[mariadb] = 18 | 7

# By a binary statement.
d prepare s : SET SESSION max_sp_recursion_depth = ?, @v = ?
d execute s 19 'x'
d: SELECT @@max_sp_recursion_depth, @v
= 19 | x
d execute s 20 null
d: SELECT @@max_sp_recursion_depth, @v
= 20 | NULL
d execute s 'abc' 1
= ERR 1232/42000
d: SELECT @@max_sp_recursion_depth
= 20
d prepare c : CALL sets_and_shows(?)
d execute c 8
= before; after; OK
d: SELECT @@max_sp_recursion_depth, @@div_precision_increment
= 8 | 8
d prepare f : SELECT f(?)
d execute f 21
= 21
d: SELECT @@max_sp_recursion_depth
= 21
d closestmt f
= empty
d closestmt c
= empty

# SET NAMES in a procedure.
e: CALL names()
= \xe9; OK
e: SELECT @@character_set_client, @@character_set_results, HEX('\xe9')
[mysql] = utf8mb4 | latin1 | E9 W1
[mariadb] = utf8mb4 | latin1 | E9
e: SET NAMES utf8mb4
e: SELECT HEX('é')
= C3A9

# The SQL mode of a procedure is its own.
e: SET SESSION sql_mode = 'PIPES_AS_CONCAT'
e: CALL mode()
e: SELECT @@sql_mode, 'a' || 'b'
= PIPES_AS_CONCAT | ab
e: SELECT "text"
= text

# For one statement only.
[mysql] f: SELECT /*+ SET_VAR(max_execution_time = 5555) */ @@max_execution_time
[mysql] = 5555
[mysql] f: SELECT @@max_execution_time = @@global.max_execution_time
[mysql] = 1
[mysql] f: SELECT /*+ SET_VAR(sort_buffer_size = 100000) SET_VAR(sql_mode = 'PIPES_AS_CONCAT') */ @@sort_buffer_size, @@sql_mode
[mysql] = 100000 | PIPES_AS_CONCAT
[mysql] f: SELECT @@sort_buffer_size = @@global.sort_buffer_size, @@sql_mode = @@global.sql_mode
[mysql] = 1 | 1
[mariadb] f: SET STATEMENT max_statement_time = 55 FOR SELECT @@max_statement_time
[mariadb] = 55.000000
[mariadb] f: SELECT @@max_statement_time = @@global.max_statement_time
[mariadb] = 1
f: SELECT 1
= 1

# A rollback gives no variable back.
f: BEGIN
f: SET SESSION max_sp_recursion_depth = 30
f: INSERT INTO log VALUES (1)
f: ROLLBACK
f: SELECT @@max_sp_recursion_depth
= 30
f: SAVEPOINT s
f: BEGIN
f: SAVEPOINT s
f: SET SESSION max_sp_recursion_depth = 31
f: ROLLBACK TO s
f: COMMIT
f: SELECT @@max_sp_recursion_depth
= 31

# Warnings and errors of the last statement: counted, shown, and how long they stay.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, n TINYINT)
@setup INSERT INTO $DB.t VALUES (1, 1)
@setup CREATE PROCEDURE $DB.warns() BEGIN SET sql_mode = ''; INSERT INTO t VALUES (50, 1000); END
@setup CREATE PROCEDURE $DB.signals() BEGIN SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'a warning', MYSQL_ERRNO = 1642; END
@setup CREATE PROCEDURE $DB.fails() BEGIN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'an error', MYSQL_ERRNO = 1644; END

# Shown once, twice, after a lock, after a command.
a: SELECT 1 / 0, 2 / 0
= NULL | NULL W2
a: SHOW WARNINGS
= Warning | 1365 | Division by 0; Warning | 1365 | Division by 0
a: SHOW WARNINGS
= Warning | 1365 | Division by 0; Warning | 1365 | Division by 0
a: SHOW COUNT(*) WARNINGS
= 2
a: SHOW ERRORS
= empty
a: SHOW WARNINGS LIMIT 1
= Warning | 1365 | Division by 0
a: SHOW WARNINGS LIMIT 1, 1
= Warning | 1365 | Division by 0
a ping
a: SHOW WARNINGS
= Warning | 1365 | Division by 0; Warning | 1365 | Division by 0
a: SELECT 1 / 0
= NULL W1
a initdb $DB
[mysql] = OK W1
[mariadb] = OK
a: SHOW WARNINGS
= Warning | 1365 | Division by 0
a: SELECT 1 / 0
= NULL W1
a: SELECT @@warning_count, @@error_count
= 1 | 0
a: SELECT @@warning_count
[mysql] = 0
[mariadb] = 1
a: SELECT 1 / 0
= NULL W1
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
a: SELECT 1 / 0
= NULL W1
a: DO GET_LOCK('$N.a', 0)
a: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0

# Words that are no words by themselves; and lists that are tables.
a: SELECT 1 / 0
= NULL W1
[mariadb] a: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
[mariadb] a: SHOW COUNT(*) WARNINGS
[mariadb] = 1
[mariadb] a: SET sql_safe_updates = 0
[mariadb] a: SET @from = 1
[mariadb] a: SHOW COUNT(*) WARNINGS
[mariadb] = 1
[mariadb] a: SHOW DATABASES LIKE 'nosuch'
[mariadb] = empty
[mariadb] a: SHOW COUNT(*) WARNINGS
[mariadb] = 0
[mariadb] a: SELECT 1 / 0
[mariadb] = NULL W1
[mariadb] a: SHOW VARIABLES LIKE 'nosuch'
[mariadb] = empty
[mariadb] a: SHOW WARNINGS
[mariadb] = empty

# Kept by some statements and cleared by others.
b: SELECT 1 / 0
= NULL W1
b: SELECT 1
= 1
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: SELECT 1 / 0
= NULL W1
b: DO 1
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: SELECT 1 / 0
= NULL W1
b: SET @x = 1
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: SELECT 1 / 0
= NULL W1
b: SELECT id FROM t
= 1
b: SHOW WARNINGS
= empty
b: SELECT 1 / 0
= NULL W1
b: BEGIN
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: SELECT 1 / 0
= NULL W1
b: COMMIT
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: SELECT 1 / 0
= NULL W1
b: USE $DB
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: SELECT 1 / 0
= NULL W1
b: UPDATE t SET n = 2
b: SHOW WARNINGS
= empty
b: SELECT 1 / 0
= NULL W1
b: SHOW TABLES LIKE 'x'
= empty
b: SHOW WARNINGS
= empty
b: SELECT 1 / 0
= NULL W1
b: PREPARE q FROM 'SELECT 1'
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
b: DEALLOCATE PREPARE q
b: SELECT 1 / 0
= NULL W1
b: CREATE TABLE x (id INT)
b: SHOW WARNINGS
= empty
b: SELECT 1 / 0
= NULL W1
b: UNLOCK TABLES
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0

# Of errors.
c: SELECT nosuch
= ERR 1054/42S22
c: SHOW WARNINGS
[mysql] = Error | 1054 | Unknown column 'nosuch' in 'field list'
[mariadb] = Error | 1054 | Unknown column 'nosuch' in 'SELECT'
c: SHOW ERRORS
[mysql] = Error | 1054 | Unknown column 'nosuch' in 'field list'
[mariadb] = Error | 1054 | Unknown column 'nosuch' in 'SELECT'
c: SHOW COUNT(*) ERRORS
= 1
c: SELECT nosuch
= ERR 1054/42S22
c: SELECT @@error_count, @@warning_count
= 1 | 1
c: INSERT INTO t VALUES (1, 1)
= ERR 1062/23000
c: DO 1
c: SHOW ERRORS
[mysql] = empty
[mariadb] = Error | 1062 | Duplicate entry '1' for key 'PRIMARY'
c: SELEC 1
= ERR 1064/42000
c ping
[mysql] = OK W1
[mariadb] = OK
c: SHOW ERRORS
[mysql] = Error | 1064 | You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC 1' at line 1
[mariadb] = Error | 1064 | You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near 'SELEC 1' at line 1
c: SELECT nosuch
= ERR 1054/42S22
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SHOW WARNINGS
[mysql] = empty
[mariadb] = Error | 1054 | Unknown column 'nosuch' in 'SELECT'
c: SELECT nosuch
= ERR 1054/42S22
c initdb nosuch_$N
= ERR 1044/42000
c: SHOW WARNINGS
[mysql] = Error | 1054 | Unknown column 'nosuch' in 'field list'; Error | 1044 | Access denied for user '$USER'@'%' to database 'nosuch_$N'
[mariadb] = Error | 1044 | Access denied for user '$USER'@'%' to database 'nosuch_$N'
# Without a lock: a fenced COMMIT leaves none on MariaDB (docs/differences-reference.md).
c: SELECT RELEASE_LOCK('$N.c')
= 1
c: BEGIN
c: SELECT nosuch
= ERR 1054/42S22
c: COMMIT
c: SHOW WARNINGS
[mysql] = empty
[mariadb] = Error | 1054 | Unknown column 'nosuch' in 'SELECT'
c: CALL fails()
= ERR 1644/45000
c: SHOW WARNINGS
[mysql] = Error | 1644 | an error
[mariadb] = Error | 1644 | an error; Note | 4094 | At line 2 in $DB.fails

# Many, and more than are kept.
[mariadb] d: SET SESSION max_error_count = 2
d: SET SESSION sql_mode = ''
d: INSERT INTO t VALUES (10, 1000), (11, 1001), (12, 1002)
= OK W3
d: SELECT @@warning_count
= 3
d: INSERT INTO t VALUES (13, 1000), (14, 1001), (15, 1002)
= OK W3
d: SHOW WARNINGS
[mariadb] = Warning | 1264 | Out of range value for column 'n' at row 1; Warning | 1264 | Out of range value for column 'n' at row 2
d: SHOW COUNT(*) WARNINGS
= 3
d: INSERT IGNORE INTO t VALUES (1, 5), (10, 5), (16, 5)
= OK W2
d: SHOW WARNINGS
[mysql] = Warning | 1062 | Duplicate entry '1' for key 't.PRIMARY'; Warning | 1062 | Duplicate entry '10' for key 't.PRIMARY'
[mariadb] = Warning | 1062 | Duplicate entry '1' for key 'PRIMARY'; Warning | 1062 | Duplicate entry '10' for key 'PRIMARY'

# By routines, prepared statements, notes, and EXPLAIN.
e: CALL warns()
= OK W1
e: SHOW WARNINGS
= Warning | 1264 | Out of range value for column 'n' at row 1
e: SELECT 1
= 1
e: CALL signals()
= OK W1
e: SHOW WARNINGS
= Warning | 1642 | a warning
e prepare s : SELECT 1 / ?
e execute s 0
= NULL W1
e: SHOW WARNINGS
= Warning | 1365 | Division by 0
e execute s 0
= NULL W1
e execute s 1
= 1.0000
e: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
e execute s 0
= NULL W1
e prepare other : SELECT 1
e: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
e execute s 0
= NULL W1
e closestmt other
= empty
e: SHOW WARNINGS
= Warning | 1365 | Division by 0
e: DROP TABLE IF EXISTS nosuch1, nosuch2
[mysql] = OK W2
[mariadb] = OK W1
e: SHOW WARNINGS
[mysql] = Note | 1051 | Unknown table '$DB.nosuch1'; Note | 1051 | Unknown table '$DB.nosuch2'
[mariadb] = Note | 1051 | Unknown table '$DB.nosuch1,$DB.nosuch2'
e: SET sql_mode = 'NO_ZERO_DATE'
[mysql] = OK W1
[mariadb] = OK
e: SHOW WARNINGS
[mariadb] = Note | 1051 | Unknown table '$DB.nosuch1,$DB.nosuch2'
e: SET sql_mode = DEFAULT
e: SET SESSION max_sp_recursion_depth = 99999
= OK W1
e: SHOW WARNINGS
= Warning | 1292 | Truncated incorrect max_sp_recursion_depth value: '99999'
e: EXPLAIN FORMAT=TRADITIONAL SELECT n FROM t WHERE id = 1
[mysql] = 1 | SIMPLE | t | NULL | const | PRIMARY | PRIMARY | 4 | const | 1 | 100.00 | NULL W1
e: SHOW WARNINGS
[mysql] = Note | 1003 | /* select#1 */ select '2' AS `n` from `$DB`.`t` where true
[mariadb] = empty
e: SELECT 1 / 0
= NULL W1
e: GET DIAGNOSTICS @n = NUMBER
e: SHOW WARNINGS
= Warning | 1365 | Division by 0
e: SELECT 1 / 0
= NULL W1
e reset
e: SHOW WARNINGS
= empty
e: SELECT 1 / 0
= NULL W1
e changeuser
e: SHOW WARNINGS
= empty

# MariaDB's sequences, SET STATEMENT, blocks outside of routines, Oracle's mode.
@only mariadb
@matrix caps=-DEPRECATE_EOF
@setup CREATE SEQUENCE $DB.s START WITH 10 INCREMENT BY 5
@setup CREATE SEQUENCE $DB.other
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY DEFAULT NEXTVAL($DB.s), v INT)

# Each session remembers the value that it was given last.
a: SELECT LASTVAL(s)
= NULL
a: SELECT NEXTVAL(s)
= 10
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT LASTVAL(s)
= 10
b: SELECT LASTVAL(s)
= NULL
b: SELECT NEXT VALUE FOR s
= 15
a: DO 1
a: SELECT PREVIOUS VALUE FOR s, LASTVAL(other)
= 10 | NULL
a: BEGIN
a: SELECT NEXTVAL(s), NEXTVAL(other)
= 20 | 1
a: ROLLBACK
a: SELECT LASTVAL(s), LASTVAL(other)
= 20 | 1
a: INSERT INTO t (v) VALUES (1)
a: SELECT LASTVAL(s), LAST_INSERT_ID()
= 25 | 0
a: SELECT SETVAL(s, 100)
= 100
a: SELECT LASTVAL(s)
= 25
a: SELECT NEXTVAL(s)
= 105
a: SET sql_mode = 'ORACLE'
a: SELECT s.currval FROM dual
= 105
a: SELECT s.nextval FROM dual
= 110
a: SET sql_mode = DEFAULT
a: ALTER SEQUENCE s RESTART 1
a: SELECT NEXTVAL(s)
= 1
a reset
a: SELECT LASTVAL(s) IS NULL
= 1
b reset
a: SELECT RELEASE_ALL_LOCKS()
= 0

# SET STATEMENT: for one statement, whether it succeeds or not.
c: SET SESSION max_sp_recursion_depth = 3
c: SET STATEMENT max_sp_recursion_depth = 7 FOR SELECT @@max_sp_recursion_depth
= 7
c: SELECT @@max_sp_recursion_depth
= 3
c: SET STATEMENT max_sp_recursion_depth = 7 FOR SELECT nosuch
= ERR 1054/42S22
c: SELECT @@max_sp_recursion_depth
= 3
c: SET STATEMENT sql_mode = 'ANSI_QUOTES', div_precision_increment = 9 FOR SELECT "v", 1 / 3 FROM t
= v | 0.333333333
c: SELECT "v", 1 / 3
= v | 0.3333
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SET STATEMENT max_sp_recursion_depth = 7 FOR SET SESSION div_precision_increment = 8
c: SELECT @@div_precision_increment, @@max_sp_recursion_depth
= 8 | 3
c: SET STATEMENT max_sp_recursion_depth = 7 FOR SET SESSION max_sp_recursion_depth = 8
c: SELECT @@max_sp_recursion_depth
= 3
c: SET STATEMENT timestamp = 1000000000 FOR SELECT UNIX_TIMESTAMP()
= 1000000000
c: SELECT UNIX_TIMESTAMP() > 1600000000
= 1
c: SET STATEMENT sql_select_limit = 1 FOR SELECT seq FROM seq_1_to_3
= 1
c: SELECT seq FROM seq_1_to_3
= 1; 2; 3
c: SET STATEMENT foreign_key_checks = 0 FOR INSERT INTO t (v) VALUES (2)
c: SELECT @@foreign_key_checks
= 1
c prepare p : SET STATEMENT div_precision_increment = 2 FOR SELECT 1 / 3
c execute p
= 0.33
c: SELECT 1 / 3
= 0.33333333
c: SET STATEMENT nosuch = 1 FOR SELECT 1
= ERR 1193/HY000
c: SET STATEMENT character_set_results = latin1 FOR SELECT 'é'
= \xe9
c: SELECT 'é'
= é
c reset

# Blocks outside of routines.
d: BEGIN NOT ATOMIC SET @b = 1; SET SESSION max_sp_recursion_depth = 6; CREATE TEMPORARY TABLE tmp AS SELECT 5 AS v; END
d: SELECT 1
= 1
d: SELECT @b, @@max_sp_recursion_depth, (SELECT v FROM tmp)
= 1 | 6 | 5
d: DROP TEMPORARY TABLE tmp
d: BEGIN NOT ATOMIC DECLARE x INT DEFAULT 4; START TRANSACTION; INSERT INTO t (v) VALUES (x); SELECT x; END
= 4; OK
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: ROLLBACK
d: SELECT COUNT(*) FROM t WHERE v = 4
= 0
d: BEGIN NOT ATOMIC SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'x'; END
= ERR 1644/45000
d: SHOW WARNINGS
= Error | 1644 | x; Note | 4094 | At line 1 in anonymous block
d: IF 1 THEN SET @c = 'by if'; END IF
d: FOR i IN 1..3 DO SET @d = i; END FOR
d: SELECT @c, @d
= by if | 3
d: SET sql_mode = 'ORACLE'
d: BEGIN SELECT 'in oracle mode'; END
= in oracle mode; OK
d: DECLARE v INT := 5; BEGIN SELECT v INTO @o; END
d: SELECT @o, 'a' || 'b'
= 5 | ab
d: CREATE TABLE o (v VARCHAR2(10), n NUMBER(5))
d: SET sql_mode = DEFAULT
d: SHOW CREATE TABLE o
= o | CREATE TABLE `o` (\x0a  `v` varchar(10) DEFAULT NULL,\x0a  `n` decimal(5,0) DEFAULT NULL\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
d reset

@end shuffled mariadb
# RETURNING, tables of sequences, system versioning's time.
e: CREATE TABLE v (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING
e: INSERT INTO v VALUES (1, 1)
e: UPDATE v SET n = 2
e: SET @@system_versioning_asof = '2000-01-01 00:00:00'
e: SELECT n FROM v
= empty
e: DO 1
e: SELECT n FROM v
= empty
e: SET system_versioning_asof = DEFAULT
e: SELECT n FROM v
= 2
e: DELETE FROM v WHERE id = 1 RETURNING n
= 2

# GET DIAGNOSTICS, SIGNAL and RESIGNAL: conditions read after the statement that made them.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, n TINYINT NOT NULL)
@setup INSERT INTO $DB.t VALUES (1, 1)
@setup CREATE PROCEDURE $DB.handles() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 @h = MESSAGE_TEXT; END; INSERT INTO t VALUES (1, 1); END
@setup CREATE PROCEDURE $DB.resignals() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION RESIGNAL SET MESSAGE_TEXT = 'again'; INSERT INTO t VALUES (1, 1); END
@setup CREATE PROCEDURE $DB.continues() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @c = 'handled'; INSERT INTO t VALUES (1, 1); SELECT 'after' AS x; END
@setup CREATE PROCEDURE $DB.complete() SIGNAL SQLSTATE '45000' SET CLASS_ORIGIN = 'class', SUBCLASS_ORIGIN = 'subclass', CONSTRAINT_SCHEMA = 'cs', CONSTRAINT_NAME = 'cn', TABLE_NAME = 'tn', COLUMN_NAME = 'col', CURSOR_NAME = 'cur', MESSAGE_TEXT = 'it''s "full" é', MYSQL_ERRNO = 5000

# Of an error.
a: INSERT INTO t VALUES (1, 1)
= ERR 1062/23000
a: GET DIAGNOSTICS @num = NUMBER, @rows = ROW_COUNT
a: GET DIAGNOSTICS CONDITION 1 @state = RETURNED_SQLSTATE, @no = MYSQL_ERRNO, @text = MESSAGE_TEXT
a: SELECT @num, @rows, @state, @no, @text
[mysql] = 1 | -1 | 23000 | 1062 | Duplicate entry '1' for key 't.PRIMARY'
[mariadb] = 1 | -1 | 23000 | 1062 | Duplicate entry '1' for key 'PRIMARY'
@end shuffled mysql
a: SELECT nosuch
= ERR 1054/42S22
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: GET DIAGNOSTICS @num = NUMBER
a: SELECT @num
[mysql] = 0
[mariadb] = 1

# Of several warnings; a condition that is not there.
b: SET sql_mode = ''
b: INSERT INTO t VALUES (10, 1000), (11, 2000)
= OK W2
b: GET DIAGNOSTICS @num = NUMBER, @rows = ROW_COUNT
b: GET DIAGNOSTICS CONDITION 2 @text2 = MESSAGE_TEXT, @state2 = RETURNED_SQLSTATE
b: GET DIAGNOSTICS CONDITION 1 @text1 = MESSAGE_TEXT
b: SELECT @num, @rows, @text1, @text2, @state2
= 2 | 2 | Out of range value for column 'n' at row 1 | Out of range value for column 'n' at row 2 | 22003
b: INSERT INTO t VALUES (12, 1000)
= OK W1
b: GET DIAGNOSTICS CONDITION 5 @none = MESSAGE_TEXT
= OK W1
b: SHOW WARNINGS
= Warning | 1264 | Out of range value for column 'n' at row 1; Error | 1758 | Invalid condition number
b: SELECT @none
= NULL
b: SET @nth = 1
b: SELECT 1 / 0, 'x' + 1
= NULL | 1 W1
b: GET DIAGNOSTICS CONDITION @nth @text = MESSAGE_TEXT, @no = MYSQL_ERRNO
b: SELECT @text, @no
= Truncated incorrect DOUBLE value: 'x' | 1292

# SIGNAL outside of routines: a warning, an error, a condition with everything.
c: SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'only a warning', MYSQL_ERRNO = 3000
= OK W1
c: SHOW WARNINGS
= Warning | 3000 | only a warning
c: SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'an error'
= ERR 1644/45000
c: DO 1
c: SHOW WARNINGS
[mysql] = empty
[mariadb] = Error | 1644 | an error
c: CALL complete()
= ERR 5000/45000
c: GET DIAGNOSTICS CONDITION 1 @a = CLASS_ORIGIN, @b = SUBCLASS_ORIGIN, @c = CONSTRAINT_SCHEMA, @d = CONSTRAINT_NAME, @e = TABLE_NAME, @f = COLUMN_NAME, @g = CURSOR_NAME, @h = MESSAGE_TEXT, @i = MYSQL_ERRNO
c: SELECT @a, @b, @c, @d, @e, @f, @g, @h, @i
= class | subclass | cs | cn | tn | col | cur | it's "full" é | 5000
c: CALL complete()
= ERR 5000/45000
c: SHOW ERRORS
= Error | 5000 | it's "full" é
c: SIGNAL SQLSTATE '02000'
= ERR 1643/02000
c: SHOW WARNINGS
= Error | 1643 | Unhandled user-defined not found condition
c: RESIGNAL
= ERR 1645/0K000

# Handled, handed on, passed over in routines.
d: CALL handles()
d: SHOW WARNINGS
= empty
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT @h
[mysql] = Duplicate entry '1' for key 't.PRIMARY'
[mariadb] = Duplicate entry '1' for key 'PRIMARY'
d: CALL resignals()
= ERR 1062/23000
d: GET DIAGNOSTICS @n = NUMBER
d: GET DIAGNOSTICS CONDITION 1 @t = MESSAGE_TEXT
d: SHOW WARNINGS
[mysql] = Error | 1062 | again
[mariadb] = Error | 1062 | again; Note | 4094 | At line 2 in $DB.resignals
d: SELECT @n, @t
[mysql] = 1 | again
[mariadb] = 2 | again
d: CALL continues()
= after; OK
d: SHOW WARNINGS
= empty
d: SELECT @c
= handled

# Of prepared statements, and of those in SQL.
e prepare i : INSERT INTO t VALUES (?, ?)
e execute i 1 1
= ERR 1062/23000
e: GET DIAGNOSTICS CONDITION 1 @t = MESSAGE_TEXT
e: SELECT @t
[mysql] = Duplicate entry '1' for key 't.PRIMARY'
[mariadb] = Duplicate entry '1' for key 'PRIMARY'
e prepare g : GET DIAGNOSTICS @n = NUMBER
[mysql] = ERR 1295/HY000
[mariadb] = prepared
e: PREPARE q FROM 'INSERT INTO t VALUES (1, 1)'
e: EXECUTE q
= ERR 1062/23000
e: DEALLOCATE PREPARE q
e: SHOW WARNINGS
[mysql] = empty
[mariadb] = Error | 1062 | Duplicate entry '1' for key 'PRIMARY'
e: EXECUTE q
= ERR 1243/HY000
e: GET DIAGNOSTICS CONDITION 1 @t = MESSAGE_TEXT
e: SELECT @t
= Unknown prepared statement handler (q) given to EXECUTE
[mysql] e: SELECT 1 / 0
[mysql] = NULL W1
[mysql] e: GET STACKED DIAGNOSTICS @n = NUMBER
[mysql] = ERR 3004/0Z002

# Several statements in one text, and the option of the protocol that allows it.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@session m caps=+MULTI_STATEMENTS
@session n caps=+MULTI_STATEMENTS
@session p caps=+MULTI_STATEMENTS
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t (v) VALUES (1), (2)
@setup CREATE PROCEDURE $DB.two() BEGIN SELECT 1; SELECT 2; END

# Each sets something that stays.
m: SET @x = 1; SET SESSION max_sp_recursion_depth = 5; SELECT @x, @@max_sp_recursion_depth
= OK; OK; 1 | 5
m: SELECT GET_LOCK('$N.m', 0)
= 1
m: SELECT @x, @@max_sp_recursion_depth
= 1 | 5
m: SET NAMES latin1; SELECT HEX('\xe9'); SET NAMES utf8mb4
= OK; E9; OK
m: SELECT @@character_set_client
= utf8mb4
m: USE information_schema; SELECT DATABASE(); USE $DB
= OK; information_schema; OK
m: SELECT COUNT(*) FROM t
= 2

# Transactions begun, ended and left open.
m: BEGIN; INSERT INTO t (v) VALUES (3); COMMIT
= OK; OK; OK
m: SELECT COUNT(*) FROM t
= 3
m: BEGIN; INSERT INTO t (v) VALUES (4)
= OK; OK
m: SELECT LAST_INSERT_ID(), COUNT(*) FROM t
= 4 | 4
m: ROLLBACK; SELECT COUNT(*) FROM t
= OK; 3
m: SET autocommit = 0; SELECT 1; SELECT COUNT(*) FROM t
= OK; 1; 3
m: ROLLBACK; SET autocommit = 1
= OK; OK

# One fails in the middle: those in front have run.
n: SET @a = 1; SELECT nosuch; SET @a = 2
= OK; ERR 1054/42S22
n: SELECT @a
= 1
n: SET @b = 1; SELEC 1; SET @b = 2
= OK; ERR 1064/42000
n: SELECT @b
= 1
n: BEGIN; INSERT INTO t (v) VALUES (5); INSERT INTO t (id) VALUES (1); COMMIT
= OK; OK; ERR 1062/23000
n ping
[mysql] = OK W1
[mariadb] = OK
n: ROLLBACK
n: SELECT COUNT(*) FROM t
= 3
n: SELECT 1 / 0; SELECT 1
= NULL; 1
n: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
n: SELECT 1; SELECT 1 / 0
= 1; NULL W1
n: SHOW WARNINGS
= Warning | 1365 | Division by 0

# Temporary tables, prepared statements, procedures.
n: CREATE TEMPORARY TABLE tmp (v INT); INSERT INTO tmp VALUES (1); SELECT v FROM tmp
= OK; OK; 1
n: SELECT GET_LOCK('$N.n', 0)
= 1
n: SELECT v FROM tmp
= 1
n: DROP TABLE tmp; SELECT 'gone'
= OK; gone
n: PREPARE q FROM 'SELECT ?'; SET @p = 5; EXECUTE q USING @p
= OK; OK; 5
n: DO 1
n: EXECUTE q USING @p; DEALLOCATE PREPARE q
= 5; OK
n: CALL two(); SELECT 3; CALL two()
= 1; 2; OK; 3; 1; 2; OK
n: INSERT INTO t (v) VALUES (6), (7); SELECT ROW_COUNT(), LAST_INSERT_ID() > 0
= OK; 2 | 1
n: SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1; SELECT FOUND_ROWS() > 1
[mysql] = 1; 1 W1
[mariadb] = 1; 1
n: SELECT 1;
= 1
n: SELECT 1; ;
= 1
n: ;
= ERR 1065/42000

# Not in a prepared statement, whatever the option says.
n prepare bad : SELECT 1; SELECT 2
= ERR 1064/42000
n: PREPARE bad FROM 'SELECT 1; SELECT 2'
= ERR 1064/42000

# Switched on and off by COM_SET_OPTION.
p: SELECT 1; SELECT 2
= 1; 2
p setoption 1
= empty
p: SELECT 1; SELECT 2
= ERR 1064/42000
p: SELECT GET_LOCK('$N.p', 0)
= 1
p: SELECT 1; SELECT 2
= ERR 1064/42000
p setoption 0
[mysql] = empty W1
[mariadb] = empty
p: DO 1
p: SELECT 1; SELECT 2
= 1; 2
p reset
p: SELECT 1; SELECT 2
= 1; 2
p setoption 1
= empty
p changeuser
p: SELECT 1; SELECT 2
= ERR 1064/42000
q: SELECT 1; SELECT 2
= ERR 1064/42000
q setoption 0
[mysql] = empty W1
[mariadb] = empty
q: BEGIN
q: SELECT 1; SELECT 2
= 1; 2
q: COMMIT
q changeuser
q: SELECT 1; SELECT 2
= 1; 2
q setoption 7
= ERR 1047/08S01
q: SELECT 1
= 1

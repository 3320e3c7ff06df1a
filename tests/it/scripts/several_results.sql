# Multi-statements, procedures with several results, errors in the middle, COM_SET_OPTION.
@also over_tls over_zlib over_both observed
@session a caps=+MULTI_STATEMENTS
@session b caps=+MULTI_STATEMENTS,-DEPRECATE_EOF
a: CREATE TABLE t (id INT PRIMARY KEY)
a: SELECT 1; SELECT 2
= 1; 2
b: SELECT 1; SELECT 2, 3; SELECT 4
= 1; 2 | 3; 4
a: SELECT 1; INSERT INTO t VALUES (1); SELECT * FROM t; UPDATE t SET id = 2; SELECT 3;
b: SELECT 1; SELECT nosuch; SELECT 2
a: SELECT 1; SELEC; SELECT 2
a: INSERT INTO t VALUES (5); INSERT INTO t VALUES (5); INSERT INTO t VALUES (6)
a: SELECT id FROM t ORDER BY id
= 2; 5
a: ;;
a: SELECT 1;;
a: SELECT 1; -- GET_LOCK(1,1)
a: SELECT 'a;b'; SELECT "c;d"
a: CREATE PROCEDURE two() BEGIN SELECT 1 AS one; SELECT 2 AS two UNION ALL SELECT 3; END
a: CALL two()
b: CALL two()
a: CALL two(); SELECT 9
a: CREATE PROCEDURE breaks() BEGIN SELECT 1; SELECT nosuch FROM nosuch; END
a: CALL breaks()
b: CALL breaks()
a: CREATE PROCEDURE silent() BEGIN DECLARE x INT DEFAULT 0; SET x = 1; END
a: CALL silent()
a: CREATE PROCEDURE outs(IN i INT, OUT o INT, INOUT io INT) BEGIN SET o = i + 1; SET io = io + i; SELECT o, io; END
a prepare outs : CALL outs(?, ?, ?)
a execute outs 1 null 10
b prepare outs : CALL outs(?, ?, ?)
b execute outs 1 null 10
b execute outs 2 null 10
b prepare two : CALL two()
b execute two
b execute two
a: CALL nosuch()
a: BEGIN; SELECT 1; COMMIT
a: SET autocommit = 0; SELECT * FROM t; SELECT 1; SET autocommit = 1
a setoption 1
a: SELECT 1; SELECT 2
= ERR 1064/42000
a setoption 0
a: SELECT 1; SELECT 2
= 1; 2
a setoption 7
b setoption 1
b: SELECT 1; SELECT 2
= ERR 1064/42000
b setoption 0
b: SELECT 1; SELECT 2
= 1; 2
c: SELECT 1; SELECT 2
= ERR 1064/42000
c setoption 0
c: SELECT 1; SELECT 2
= 1; 2

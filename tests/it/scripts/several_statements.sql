# Lock calls in texts of several statements.
@also over_tls over_zlib observed
@session a caps=+MULTI_STATEMENTS
@session b caps=+MULTI_STATEMENTS,-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.t VALUES (1,10),(2,20)
a: SELECT GET_LOCK('$Na',0); SELECT IS_USED_LOCK('$Na')
= 1; <a>
a: SELECT 1; SELECT GET_LOCK('$Nb',0)
= 1; 1
b: SELECT IS_USED_LOCK('$Na'); SELECT IS_USED_LOCK('$Nb'); SELECT GET_LOCK('$Na',0)
= <a>; <a>; 0
a: SELECT 1; SELECT RELEASE_LOCK('$Na'); SELECT 2, 3
= 1; 1; 2 | 3
a: DO GET_LOCK('$Na',0); SELECT id FROM t ORDER BY id; DO RELEASE_LOCK('$Na')
= OK; 1; 2; OK
a: SELECT id, v FROM t ORDER BY id; SELECT RELEASE_LOCK('$Nb'), 5; UPDATE t SET v=v+1; SELECT ROW_COUNT()
= 1 | 10; 2 | 20; 1 | 5; OK; 2
a: SET @x = 5; SELECT GET_LOCK('$Na',0) INTO @v; SELECT @x, @v; SELECT RELEASE_ALL_LOCKS(); SELECT RELEASE_ALL_LOCKS()
= OK; OK; 5 | 1; 1; 0
a: BEGIN; SELECT GET_LOCK('$Na',0); UPDATE t SET v=99 WHERE id=1; ROLLBACK; SELECT IS_USED_LOCK('$Na'), v FROM t WHERE id=1
= OK; 1; OK; OK; <a> | 11
a: SET @n='$Nvar'; SELECT GET_LOCK(@n,0); SELECT IS_USED_LOCK('$Nvar')
= OK; 1; <a>
a: SELECT RELEASE_ALL_LOCKS(); SELECT ROW_COUNT(), FOUND_ROWS()
[mysql] = 2; -1 | 1 W1
[mariadb] = 2; -1 | 1
# Rows, counts and warnings of the statement before.
a: SELECT * FROM t; SELECT GET_LOCK('$Na',0); SELECT FOUND_ROWS()
[mysql] = 1 | 11; 2 | 21; 1; 1 W1
[mariadb] = 1 | 11; 2 | 21; 1; 1
a: UPDATE t SET v=v+1; SELECT ROW_COUNT(), GET_LOCK('$Nb',0); SELECT ROW_COUNT()
= OK; 2 | 1; -1
a: SELECT 1/0; SELECT GET_LOCK('$Na',0); SHOW WARNINGS
[mysql] = NULL; 1
[mariadb] = NULL; 1; Warning | 1365 | Division by 0
a: DO 1; DO GET_LOCK('$Na',0); DO RELEASE_ALL_LOCKS()
= OK; OK; OK
a: SELECT RELEASE_ALL_LOCKS()
= 0
# Empty statements, semicolons and comments after.
a: SELECT GET_LOCK('$Na',0); SELECT GET_LOCK('$Nb',0);
= 1; 1
a: SELECT RELEASE_LOCK('$Na'); SELECT RELEASE_LOCK('$Nb');\x20
= 1; 1
a: SELECT GET_LOCK('$Na',0);; SELECT GET_LOCK('$Nb',0)
= 1; ERR 1064/42000
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | NULL
a: ; SELECT GET_LOCK('$Na',0)
= ERR 1064/42000
a: SELECT GET_LOCK('$Na',0); -- after
= 1; OK
a: SELECT GET_LOCK('$Na',0); /* between */ SELECT 1 /* after */;
= 1; 1
a: SELECT GET_LOCK('$Na',0);;\x20
= 1
a: SELECT GET_LOCK('$Na',0); # after
= 1; OK
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | NULL
a: SELECT RELEASE_ALL_LOCKS()
= 5
a: SELECT 'GET_LOCK(1,1);'; SELECT GET_LOCK('$N;a',0); SELECT "x;y"
= GET_LOCK(1,1);; 1; x;y
a: SELECT RELEASE_LOCK('$N;a'); SELECT RELEASE_ALL_LOCKS()
= 1; 0
# An error in the middle: what ran before it stays, what follows does not run.
a: SELECT GET_LOCK('$Na',0); SELECT nosuch; SELECT GET_LOCK('$Nb',0)
= 1; ERR 1054/42S22
b: SELECT IS_USED_LOCK('$Na'); SELECT IS_USED_LOCK('$Nb')
= <a>; NULL
a: SELECT 1; SELECT GET_LOCK('$Nc',0), nosuch; SELECT GET_LOCK('$Nd',0)
= 1; ERR 1054/42S22
a: INSERT INTO t VALUES (1,1); SELECT GET_LOCK('$Nd',0)
= ERR 1062/23000
a: SELECT GET_LOCK('$Nc',0); INSERT INTO t VALUES (1,GET_LOCK('$Nd',0)); SELECT GET_LOCK('$Ne',0)
= 1; ERR 1062/23000
a: SELECT GET_LOCK(NULL,0); SELECT GET_LOCK('$Nf',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL; 1
a: SELECT 1; SELECT GET_LOCK('$Ng'); SELECT 2
= 1; ERR 1582/42000
b: SELECT IS_USED_LOCK('$Nc'), IS_USED_LOCK('$Nd'), IS_USED_LOCK('$Ne'), IS_USED_LOCK('$Nf'), IS_USED_LOCK('$Ng')
[mysql] = <a> | <a> | NULL | NULL | NULL
[mariadb] = <a> | <a> | NULL | <a> | NULL
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 3
[mariadb] = 4
a: SELECT GET_LOCK('$Na',0); SELECT GET_LOCK('$Nb',0); SELEC
= 1; 1; ERR 1064/42000
a: SELECT GET_LOCK('$Ne',0); SELECT 'unclosed
= 1; ERR 1064/42000
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc'), IS_USED_LOCK('$Nd'), IS_USED_LOCK('$Ne')
= <a> | <a> | NULL | NULL | <a>
a: SELECT RELEASE_ALL_LOCKS(); SELECT RELEASE_ALL_LOCKS()
= 3; 0
# Without the capability it is a syntax error, and nothing is taken.
c: SELECT GET_LOCK('$Na',0); SELECT GET_LOCK('$Nb',0)
= ERR 1064/42000
c: SELECT 1; SELECT GET_LOCK('$Na',0)
= ERR 1064/42000
c: SELECT GET_LOCK('$Na',0); -- after
= 1
c: SELECT GET_LOCK('$Nb',0);; SELECT 1
= ERR 1064/42000
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <c> | NULL
c setoption 0
[mysql] = empty W1
[mariadb] = empty
c: SELECT GET_LOCK('$Nb',0); SELECT RELEASE_ALL_LOCKS(); SELECT 1
= 1; 2; 1
c setoption 1
= empty
c: SELECT GET_LOCK('$Na',0); SELECT 1
= ERR 1064/42000
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= NULL | NULL
a prepare p : SELECT GET_LOCK('$Na',0); SELECT 1
= ERR 1064/42000
a: SELECT RELEASE_ALL_LOCKS()
= 0
# A setting between the statements of one text counts for those after it.
a: SELECT GET_LOCK('$Nsa',0), 1; SET sql_select_limit=0; SELECT GET_LOCK('$Nsb',0), 1; SET sql_select_limit=DEFAULT; SELECT 1
b: SELECT IS_FREE_LOCK('$Nsa'), IS_FREE_LOCK('$Nsb')
= 0 | 1
a: SELECT RELEASE_ALL_LOCKS()
# Versioned comments.
a: /*!50000 SET @x = 5 */; SELECT GET_LOCK('$Nv',0); SELECT @x /*!50000 + IS_USED_LOCK('$Nv') - CONNECTION_ID() */
= OK; 1; 5
a: SELECT 1; /*!50000 SELECT RELEASE_LOCK('$Nv') */
= 1; 1
a: /*!50000 PREPARE s FROM 'SELECT GET_LOCK(?,0)' */; SET @n='$Nv'; /*!50000 EXECUTE s USING @n */; SELECT RELEASE_ALL_LOCKS()
= OK; OK; 1; 1

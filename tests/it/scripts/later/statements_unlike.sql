# Lock calls in statements that the proxy refuses, or carries out in another way (docs/differences-reference.md).
@also observed
@session m caps=+MULTI_STATEMENTS
@setup CREATE TABLE $DB.one (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.one VALUES (1,10)
@setup CREATE TABLE $DB.log (v INT)
# Variables that the statement assigns, functions with effects.
a: SET @v = 1
a: SELECT @v, @w := IS_USED_LOCK('$Na') = CONNECTION_ID(), @v + RELEASE_LOCK('$Na')
a: SELECT GET_LOCK(CONCAT('$N',LAST_INSERT_ID(7)),0), LAST_INSERT_ID(), IS_USED_LOCK('$N7')
a: SELECT SLEEP(0), GET_LOCK('$Na',0)
= 0 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 2
a: SELECT @c := 0, @c := @c + GET_LOCK('$Nb',0), @c := @c + GET_LOCK('$Nb',0), @c
[mysql] = 0 | 1 | 2 | 2 W3
[mariadb] = 0 | 1 | 2 | 2
a: SELECT RELEASE_ALL_LOCKS()
= 2
# What depends on rows: the count, and whether anything is taken.
a: SELECT GET_LOCK('$Nk',0) FROM one WHERE id=99
= empty
b: SELECT IS_FREE_LOCK('$Nk')
= 1
a: SELECT GET_LOCK('$Nl',0), RELEASE_LOCK('$Nl') FROM one
= 1 | 1
a: SELECT GET_LOCK(CONCAT('$N',v),0) FROM one
= 1
a: SELECT IS_USED_LOCK(CONCAT('$N',v)) FROM one
= <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT GET_LOCK('$Nk',0) FROM (SELECT 1 UNION SELECT 2) d, one
= 1; 1
a: SELECT RELEASE_ALL_LOCKS()
= 2
a: INSERT INTO one VALUES (5,GET_LOCK('$Nc',0)),(1,GET_LOCK('$Nd',0)),(6,GET_LOCK('$Ne',0))
= ERR 1062/23000
b: SELECT IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 0 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 2
# MariaDB resolves late.
a: SET @v = GET_LOCK('$Na',0), @w = nosuch
= ERR 1054/42S22
b: SELECT IS_FREE_LOCK('$Na')
[mysql] = 1
[mariadb] = 0
a: INSERT INTO one SELECT GET_LOCK('$Nb',0)
= ERR 1136/21S01
b: SELECT IS_FREE_LOCK('$Nb')
= 1
# An error quotes the text to its end.
m: SELEC; SELECT GET_LOCK('$Nc',0)
= ERR 1064/42000
m: SELECT 1; SELECT GET_LOCK('$Nd',0) FROM; SELECT 2
= 1; ERR 1064/42000
a: SELECT RELEASE_ALL_LOCKS()
a: SELECT COUNT(*) FROM one WHERE id = 1 AND get_lock('$Nw', 10) = 1
= 1
a: INSERT INTO log (v) SELECT GET_LOCK('$Nd',0) FROM one
= OK
a: UPDATE one SET v=v+GET_LOCK('$Nb',0)-1, id=id WHERE id=1
= OK
a: SHOW TABLES WHERE GET_LOCK('$Nk',0)=2
= empty
a: INSERT INTO log (v) VALUES (GET_LOCK('$Nb',0)), (RELEASE_LOCK('$Nb')), (RELEASE_LOCK('$Nb'))
= OK
a: SET autocommit = 1, @v = GET_LOCK('$Nb',0)
= OK
a: SELECT RELEASE_ALL_LOCKS()
# Rows and plans decide what is evaluated.
b: SELECT id FROM one WHERE GET_LOCK('$Na',0)=1 AND IS_USED_LOCK('$Na')=CONNECTION_ID()
[mysql] = 1
[mariadb] = empty
b: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
b: SELECT id FROM one WHERE v=99 AND GET_LOCK('$Na',0)=1
= empty
b: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
b: SELECT id FROM one WHERE id=99 AND GET_LOCK('$Na',0)=1
= empty
b: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
b: DELETE FROM one WHERE GET_LOCK('$Na',0)=1 AND id=99
= OK
b: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
b: UPDATE one SET v=GET_LOCK('$Na',0) WHERE RELEASE_LOCK('$Na') IS NULL
= OK
b: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
b: INSERT INTO one VALUES (1,GET_LOCK('$Na',0)) ON DUPLICATE KEY UPDATE v=IFNULL(RELEASE_LOCK('$Na'),7)
= OK
b: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
# Text after a definition is not a part of it.
m: CREATE PROCEDURE $DB.p() BEGIN END; SELECT GET_LOCK('$Nsc',0) AS end
b: SELECT IS_FREE_LOCK('$Nsc')
= 0
# A parameter has the type that it had at the first execution, until it cannot.
[mysql] a: PREPARE typed FROM 'SELECT IS_FREE_LOCK(?), ?'
[mysql] a: SET @number = 5, @text = '$Ntext'
[mysql] a: EXECUTE typed USING @text, @number
[mysql] = 1 | 5
[mysql] a: EXECUTE typed USING @text, @text
[mysql] = 1 | 0 W1

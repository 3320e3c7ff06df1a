# Statements that SQL prepares: PREPARE, EXECUTE, DEALLOCATE.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (10), (20), (30)
@setup CREATE PROCEDURE $DB.prepares() BEGIN PREPARE by_procedure FROM 'SELECT MAX(v) FROM t'; END
@setup CREATE PROCEDURE $DB.executes() EXECUTE by_client

# From a literal.
a: PREPARE s FROM 'SELECT v FROM t WHERE id = ?'
a: SET @id = 2
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: EXECUTE s USING @id
= 20
a: BEGIN
a: SET @id = 3
a: EXECUTE s USING @id
= 30
a: COMMIT
a: EXECUTE s
= ERR 1210/HY000
a: EXECUTE s USING @id, @id
= ERR 1210/HY000
a: DO 1
a: DEALLOCATE PREPARE s
a: EXECUTE s USING @id
= ERR 1243/HY000
a: DEALLOCATE PREPARE s
= ERR 1243/HY000
a: DROP PREPARE s
= ERR 1243/HY000

# From a variable, which changes afterwards.
b: SET @text = 'SELECT COUNT(*) FROM t'
b: PREPARE s FROM @text
b: SET @text = 'SELECT nosuch'
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: EXECUTE s
= 3
b: PREPARE s FROM @text
= ERR 1054/42S22
b: EXECUTE s
= ERR 1243/HY000
b: SET @text = NULL
b: PREPARE s FROM @text
= ERR 1064/42000
b: SET @text = REPEAT(' ', 5000)
b: SET @text = CONCAT('SELECT', @text, '1')
b: PREPARE s FROM @text
b: SET @text = ''
b: DO 1
b: EXECUTE s
= 1
b: DEALLOCATE PREPARE s
[mariadb] b: PREPARE s FROM CONCAT('SELECT ', 1 + 1)
[mariadb] b: EXECUTE s
[mariadb] = 2
[mariadb] b: EXECUTE s
[mariadb] = 2
[mariadb] b: DEALLOCATE PREPARE s

# Replaced under the same name; names are alike in any case; two at once.
c: PREPARE s FROM 'SELECT 1'
c: PREPARE S FROM 'SELECT 2'
c: EXECUTE s
= 2
c: PREPARE `t t` FROM 'SELECT 3'
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: EXECUTE `T T`
= 3
c: EXECUTE S
= 2
c: PREPARE s FROM 'SELEC'
= ERR 1064/42000
c: EXECUTE s
= ERR 1243/HY000
c: EXECUTE `t t`
= 3
c: DEALLOCATE PREPARE `t t`
c: PREPARE s FROM 'SELECT 1; SELECT 2'
= ERR 1064/42000
c: PREPARE s FROM 'PREPARE x FROM ''SELECT 1'''
= ERR 1295/HY000
c: PREPARE s FROM 'EXECUTE x'
= ERR 1295/HY000

# From a procedure, for a procedure.
d: CALL prepares()
d: SELECT 1
= 1
d: EXECUTE by_procedure
= 30
d: DEALLOCATE PREPARE by_procedure
d: PREPARE by_client FROM 'SELECT MIN(v) FROM t'
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: CALL executes()
= 10; OK
d: DEALLOCATE PREPARE by_client
d: CALL executes()
= ERR 1243/HY000

# Writing statements, definitions, transactions, settings.
e: PREPARE i FROM 'INSERT INTO t (v) VALUES (?)'
e: SET @v = 40
e: EXECUTE i USING @v
e: SELECT LAST_INSERT_ID(), ROW_COUNT()
= 4 | 1
e: BEGIN
e: EXECUTE i USING @v
e: ROLLBACK
e: SELECT COUNT(*) FROM t
= 4
e: PREPARE i FROM 'SET @x = 5, @y = ?'
e: EXECUTE i USING @v
e: SELECT @x, @y
= 5 | 40
e: PREPARE i FROM 'CREATE TABLE made (id INT)'
e: EXECUTE i
e: EXECUTE i
= ERR 1050/42S01
e: SHOW WARNINGS
= Error | 1050 | Table 'made' already exists
e: DEALLOCATE PREPARE i
e: SHOW TABLES LIKE 'made'
= made
[mariadb] e: EXECUTE IMMEDIATE 'SELECT ?' USING 5
[mariadb] = 5
[mariadb] e: EXECUTE IMMEDIATE 'SET @im = 1'
[mariadb] e: SELECT @im
[mariadb] = 1

# A binary statement that executes one of SQL.
f: PREPARE q FROM 'SELECT 7'
f prepare x : EXECUTE q
= ERR 1295/HY000
f execute x
= ERR 1243/HY000
f: DEALLOCATE PREPARE q
f execute x
= ERR 1243/HY000

# Gone after a reset, and after a change of user.
f: PREPARE s FROM 'SELECT 1'
f reset
f: EXECUTE s
= ERR 1243/HY000
f: PREPARE s FROM 'SELECT 1'
f changeuser
f: EXECUTE s
= ERR 1243/HY000

# A table changes beneath one.
f: CREATE TABLE x (a INT)
f: PREPARE s FROM 'SELECT * FROM x'
f: INSERT INTO x VALUES (1)
f: EXECUTE s
= 1
f: ALTER TABLE x ADD COLUMN b INT DEFAULT 2
f: DO 1
f: EXECUTE s
= 1 | 2
f: DROP TABLE x
f: EXECUTE s
= ERR 1146/42S02
f: DEALLOCATE PREPARE s

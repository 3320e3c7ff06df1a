# Binary prepared statements through all that a session does between PREPARE and EXECUTE.
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@matrix caps=-PS_MULTI_RESULTS
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, s VARCHAR(20))
@setup INSERT INTO $DB.t (v, s) VALUES (10, 'ten'), (20, 'twenty'), (30, 'thirty')
@setup CREATE PROCEDURE $DB.shows(n INT) BEGIN SELECT v FROM t WHERE id = n; SELECT s FROM t WHERE id = n; END
@session r user=root

# Several at once, each executed several times, in any order.
a prepare one : SELECT v FROM t WHERE id = ?
a prepare two : SELECT s FROM t WHERE v > ? ORDER BY id
a prepare three : UPDATE t SET v = v + ? WHERE id = 1
a execute two 15
= twenty; thirty
a: SELECT GET_LOCK('$N.a', 0)
= 1
a execute one 1
= 10
a execute three 5
a: DO 1
a execute one 1
= 15
a execute two 100
= empty
a execute two 25
= thirty
a closestmt two
= empty
a execute two 1
= ERR 1243/HY000
a execute one 3
= 30

# In and out of transactions.
a: BEGIN
a execute three 5
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: ROLLBACK
a execute one 1
= 15
a: BEGIN
a prepare inside : INSERT INTO t (v, s) VALUES (?, ?)
a execute inside 40 'forty'
a: COMMIT
a: SELECT 1
= 1
a execute inside 50 'fifty'
a: SELECT LAST_INSERT_ID(), ROW_COUNT()
= 5 | 1
a execute inside 60 null
a: SELECT LAST_INSERT_ID()
= 6

# Types that change, types that are kept.
b prepare s : SELECT ? AS x, CHARSET(?), ? + 1
b execute s 1 1 1
= 1 | binary | 2
b execute s keep 2 2 2
= 2 | binary | 3
b: DO 1
b execute s keep 3 3 3
= 3 | binary | 4
b: SELECT GET_LOCK('$N.b', 0)
= 1
b execute s 1.5 1.5 1.5
b execute s d:'1.25' b:'\xff' dt:2024-01-02T03:04:05
[mysql] = 1.25 | binary | 20240102030406.000000
[mariadb] = 1.25 | binary | 20240102030406
b execute s t:1 s:500 u:18446744073709551615
= ERR 1690/22003
b execute s keep t:2 s:501 u:1
= 2 | binary | 2
b: BEGIN
b execute s keep t:3 s:502 u:2
= 3 | binary | 3
b: COMMIT
b execute s keep t:4 s:503 u:3
= 4 | binary | 4

# A table changes beneath them: columns, and gone, and back.
c prepare star : SELECT * FROM x
= ERR 1146/42S02
c: CREATE TABLE x (a INT)
c prepare star : SELECT * FROM x
c execute star
= empty
c: INSERT INTO x VALUES (1)
c execute star
= 1
c: ALTER TABLE x ADD COLUMN b VARCHAR(5) DEFAULT 'new'
c: SELECT GET_LOCK('$N.c', 0)
= 1
c execute star
= 1 | new
c: DROP TABLE x
c execute star
= ERR 1146/42S02
c: CREATE TABLE x (z DATE)
c execute star
= empty
c: INSERT INTO x VALUES ('2024-01-01')
c: DO 1
c execute star
= \xe8\x07\x01\x01
c: CREATE TEMPORARY TABLE x (t INT)
c execute star
= empty
c: DROP TEMPORARY TABLE x
c execute star
= \xe8\x07\x01\x01
c closestmt star
= empty

# CALL, with several results.
d prepare p : CALL shows(?)
d execute p 1
= 15; ten; OK
d: SELECT 1
= 1
d execute p 2
= 20; twenty; OK
d execute p 99
d: SHOW WARNINGS
= empty
d execute p 3
= 30; thirty; OK
d closestmt p
= empty

# A statement that cannot be prepared leaves no trace; so does one that fails.
d prepare bad : SELECT nosuch FROM t
= ERR 1054/42S22
d execute bad
= ERR 1243/HY000
d prepare bad : SELEC
= ERR 1064/42000
d: SHOW WARNINGS
[mysql] = Error | 1064 | You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC' at line 1
[mariadb] = Error | 1064 | You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near 'SELEC' at line 1
d prepare good : SELECT v / 0 FROM t WHERE id = 2
d execute good
= NULL W1
d: SHOW WARNINGS
= Warning | 1365 | Division by 0
d prepare good2 : INSERT INTO t (id) VALUES (?)
d execute good2 1
= ERR 1062/23000
d: SELECT GET_LOCK('$N.d', 0)
= 1
d execute good2 1
= ERR 1062/23000
d: GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT
d: SELECT @m
[mysql] = Duplicate entry '1' for key 't.PRIMARY'
[mariadb] = Duplicate entry '1' for key 'PRIMARY'

# Closed at a reset, and at a change of user.
e prepare s : SELECT ?
e execute s 1
= 1
e reset
e execute s 1
= ERR 1243/HY000
e prepare s : SELECT ?, 2
e execute s 1
= 1 | 2
e changeuser
e execute s 1
= ERR 1243/HY000
e prepare s : SELECT ?, 3
e execute s 1
= 1 | 3

# Many of them, and the same text twice.
f*60 prepare s$# : SELECT ? + $#
f execute s0 1
= 1
f execute s59 1
= 60
f: DO 1
f execute s30 1
= 31
f*30 closestmt s$#
f execute s30 1
= 31
f execute s0 1
= ERR 1243/HY000
f prepare twin : SELECT ? + 30
f execute twin 2
= 32
f closestmt twin
= empty
f execute s30 2
= 32

# Limits of the account and settings that hold for them.
f: SET sql_select_limit = 1
f prepare lim : SELECT id FROM t ORDER BY id
f execute lim
= 1
f: SET sql_select_limit = DEFAULT
f: SELECT GET_LOCK('$N.f', 0)
= 1
f execute lim
= 1; 2; 3; 4; 5; 6
f: SET sql_select_limit = 2
f execute lim
= 1; 2
f: SET sql_select_limit = DEFAULT

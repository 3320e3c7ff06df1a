# Prepared statements belong to the schema, SQL mode, character set and collation of their PREPARE.
@matrix caps=+QUERY_ATTRIBUTES
# Others hear EOF packets and reports: MariaDB may report the schema to them again after an execution (documented).
@client own mysqlnd pdo pymysql connector-python mariadb-node mariadb-java connector-j go libmysqlclient
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N
@setup GRANT ALL ON e_$N.* TO $USER@'%'
@setup CREATE TABLE $DB.t (v VARCHAR(20))
@setup CREATE TABLE e_$N.t (v VARCHAR(20))
@setup INSERT INTO $DB.t VALUES ('in the first')
@setup INSERT INTO e_$N.t VALUES ('in the second')
@session r user=root

# The schema.
a prepare s : SELECT v, DATABASE() = '$DB' FROM t
a: PREPARE q FROM 'SELECT v FROM t'
a: USE e_$N
a: SELECT GET_LOCK('$N.a', 0)
= 1
a execute s
= in the first | 1
a: EXECUTE q
= in the first
a: SELECT v FROM t
= in the second
a prepare s2 : SELECT v FROM t
a: USE $DB
a: DO 1
a execute s2
= in the second
a execute s
= in the first | 1
a: DEALLOCATE PREPARE q
a closestmt s
= empty
a closestmt s2
= empty

# The SQL mode.
b: SET sql_mode = 'ANSI_QUOTES'
b prepare s : SELECT "v" FROM t WHERE v <> ?
b: PREPARE q FROM 'SELECT "v" FROM t'
b: SET sql_mode = ''
b: SELECT "v" FROM t
= v
b execute s 'x'
= in the first
b: EXECUTE q
= in the first
b prepare s2 : SELECT "v" FROM t
b: SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'
b: SELECT GET_LOCK('$N.b', 0)
= 1
b execute s2
= v
b execute s 'x'
= in the first
b prepare s3 : SELECT 'a' || 'b', @@sql_mode
b: SET sql_mode = 'NO_BACKSLASH_ESCAPES'
b execute s3
= ab | NO_BACKSLASH_ESCAPES
b prepare s4 : SELECT 'a\nb', ?
b: SET sql_mode = ''
b execute s4 1
[mysql] = a\x0ab | 1
[mariadb] = a\nb | 1
b execute s4 'c\nd'
[mysql] = a\x0ab | 0 W1
[mariadb] = a\nb | c\nd
b: DEALLOCATE PREPARE q
b: SELECT @@sql_mode = ''
= 1
b closestmt s2
= empty
b closestmt s3
= empty
b closestmt s4
= empty

# Strictness, which is of the execution or of the preparation.
c: CREATE TABLE strict (n TINYINT NOT NULL, d DATE)
c: SET sql_mode = ''
c prepare i : INSERT INTO strict VALUES (?, '0000-00-00')
c: SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'
c execute i 1000
= ERR 1264/22003
c: SHOW WARNINGS
= Error | 1264 | Out of range value for column 'n' at row 1
c prepare j : INSERT INTO strict VALUES (?, '2024-01-01')
c: SET sql_mode = ''
c: DO 1
c execute j 1000
= OK W1
c execute i 1000
= OK W1
c: SELECT n, d FROM strict
= 127 | 2024-01-01; 127 | 0000-00-00
c closestmt i
= empty
c closestmt j
= empty

# The character set of its text and of its parameters.
d: SET NAMES latin1
d prepare s : SELECT '\xe9' AS e, HEX('\xe9'), HEX(?), ?, CHARSET(?)
d execute s '\xe9' '\xe9' '\xe9'
= \xe9 | E9 | E9 | \xe9 | latin1
d: SET NAMES utf8mb4
d: SELECT GET_LOCK('$N.d', 0)
= 1
d execute s 'é' 'é' 'é'
[mysql] = é | E9 | E9 | é | latin1
[mariadb] = é | E9 | C3A9 | é | utf8mb4
d: PREPARE q FROM 'SELECT HEX(''é''), ''é'' AS e'
d: SET NAMES latin1
d: EXECUTE q
= C3A9 | \xe9
d: DEALLOCATE PREPARE q
d execute s '\xe9' '\xe9' '\xe9'
= \xe9 | E9 | E9 | \xe9 | latin1
d: SET character_set_results = cp850
d execute s '\xe9' '\xe9' '\xe9'
= \x82 | E9 | E9 | \x82 | latin1
d: SET NAMES utf8mb4
d: SELECT 1
= 1
d execute s 'é' 'é' 'é'
[mysql] = é | E9 | E9 | é | latin1
[mariadb] = é | E9 | C3A9 | é | utf8mb4
d closestmt s
= empty

# The collation of its comparisons.
e: SET NAMES utf8mb4 COLLATE utf8mb4_bin
e prepare s : SELECT 'a' = 'A', ? = 'A', COLLATION('x'), COLLATION(?)
e execute s 'a' 'y'
= 0 | 0 | utf8mb4_bin | utf8mb4_bin
e: SET NAMES utf8mb4 COLLATE utf8mb4_general_ci
e execute s 'a' 'y'
[mysql] = 0 | 0 | utf8mb4_bin | utf8mb4_bin
[mariadb] = 0 | 0 | utf8mb4_bin | utf8mb4_general_ci
e: DO 1

# What is not bound: variables, time zone, user variables, warnings' limits.
f: SET @x = 1, time_zone = '+00:00', div_precision_increment = 2
f prepare s : SELECT @x, FROM_UNIXTIME(0), 1 / 3, @@div_precision_increment
f execute s
= 1 | \xb2\x07\x01\x01 | 0.33 | 2
f: SET @x = 'two', time_zone = '+02:00', div_precision_increment = 8
f: SELECT GET_LOCK('$N.f', 0)
= 1
f execute s
f: PREPARE q FROM 'SELECT 1 / 3'
f: SET div_precision_increment = 4
f: EXECUTE q
[mysql] = 0.33333333
[mariadb] = 0.3333
f execute s
f: DEALLOCATE PREPARE q
f closestmt s
= empty

# MySQL goes on to name the collation of SET NAMES for results after collation_connection has changed.
e prepare s2 : SELECT 'a' = 'A', ? = 'A', COLLATION('x'), COLLATION(?)
# The length of GROUP_CONCAT(), which is the session's again after the statement was prepared again.
h: SET group_concat_max_len = 6
h prepare s : SELECT GROUP_CONCAT(v), @@group_concat_max_len FROM $DB.t
h: SET group_concat_max_len = 100
h execute s
h: DO 1
h: SELECT @@group_concat_max_len, GROUP_CONCAT(v) FROM $DB.t
= 100 | in the first
h: BEGIN
h execute s
h: SELECT @@group_concat_max_len
= 100
h: COMMIT

@end shuffled mysql
e: SET collation_connection = utf8mb4_bin
e execute s2 'a' 'y'
= 1 | 1 | utf8mb4_general_ci | utf8mb4_general_ci
e execute s 'a' 'y'
[mysql] = 0 | 0 | utf8mb4_bin | utf8mb4_bin
[mariadb] = 0 | 0 | utf8mb4_bin | utf8mb4_general_ci
e: SELECT 'a' = 'A'
= 0
e closestmt s
= empty
e closestmt s2
= empty

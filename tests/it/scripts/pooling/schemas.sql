# The default schema: chosen, refused, dropped, and none at all.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N CHARACTER SET latin1
@setup GRANT ALL ON e_$N.* TO $USER@'%'
@session none db=none
@session r user=root
a: CREATE TABLE t (v VARCHAR(20))
a: INSERT INTO t VALUES ('in the first')
a: CREATE TABLE e_$N.t (v VARCHAR(20))
a: INSERT INTO e_$N.t VALUES ('in the second')

# USE, and names without a schema afterwards.
a: USE e_$N
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT v FROM t
= in the second
a: SELECT DATABASE() = 'e_$N', @@character_set_database
= 1 | latin1
a: BEGIN
a: INSERT INTO t VALUES ('one more')
a: ROLLBACK
a: SELECT COUNT(*) FROM t
= 1
a initdb $DB
a: DO 1
a: SELECT v, DATABASE() = '$DB', @@character_set_database FROM t
= in the first | 1 | utf8mb4

# One that may not be used leaves the old one.
a: USE nosuch_$N
= ERR 1044/42000
a: SELECT v FROM t
= in the first
a initdb nosuch_$N
= ERR 1044/42000
a: SELECT DATABASE() = '$DB'
= 1
a: USE mysql
= ERR 1044/42000
a: SELECT v FROM t
= in the first
r: USE nosuch_$N
= ERR 1049/42000
r: SELECT DATABASE() = '$DB'
= 1

# A schema that every user may see.
a: USE information_schema
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: SELECT DATABASE(), COUNT(*) FROM schemata WHERE schema_name = '$DB'
= information_schema | 1
a: USE `$DB`
a: SELECT v FROM t
= in the first

# No schema at login.
none: SELECT DATABASE()
= NULL
none: SELECT * FROM t
= ERR 1046/3D000
none: SELECT GET_LOCK('$N.none', 0)
= 1
none: SELECT v FROM $DB.t
= in the first
none: CREATE TABLE x (id INT)
= ERR 1046/3D000
none: SELECT DATABASE(), @@collation_database = @@global.collation_server
= NULL | 1
none: USE e_$N
none: SELECT v FROM t
= in the second
none: SELECT RELEASE_LOCK('$N.none')
= 1
none: SELECT v FROM t
= in the second
# A reset keeps it, a change of user takes the one that it names.
none reset
none: SELECT DATABASE() = 'e_$N'
= 1
none changeuser
none: SELECT DATABASE()
= NULL
none changeuser db=$DB
none: SELECT v FROM t
= in the first
none changeuser db=none
none: SELECT * FROM t
= ERR 1046/3D000

# In a routine of another schema, which gives the schema back.
b: CREATE PROCEDURE e_$N.p() SELECT DATABASE() = 'e_$N', v FROM t
b: CALL e_$N.p()
= 1 | in the second; OK
b: SELECT DATABASE() = '$DB', v FROM t
= 1 | in the first
b prepare s : USE e_$N
[mysql] = ERR 1295/HY000
[mariadb] = prepared
b: PREPARE s FROM 'USE e_$N'
[mysql] = ERR 1295/HY000
[mariadb] = OK
[mariadb] b: EXECUTE IMMEDIATE 'USE e_$N'
b: SELECT DATABASE() = '$DB'
[mysql] = 1
[mariadb] = 0
b: USE $DB
b: DROP DATABASE e_$N

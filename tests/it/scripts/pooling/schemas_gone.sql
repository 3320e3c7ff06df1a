# The default schema is dropped by another session: what needs none goes on, whichever connection the session has.
@matrix caps=-DEPRECATE_EOF
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N CHARACTER SET latin1
@setup GRANT ALL ON e_$N.* TO $USER@'%'
@setup CREATE TABLE $DB.t (v VARCHAR(20))
@setup INSERT INTO $DB.t VALUES ('in the first')
@session r user=root

b: USE e_$N
b: CREATE TABLE t (v INT)
b prepare q : SELECT v FROM $DB.t
b: SET @x = 5
r: DROP DATABASE e_$N
b: SELECT @x
= 5
b: SELECT v FROM $DB.t
= in the first
b execute q
= in the first
b: BEGIN
b: INSERT INTO $DB.t VALUES ('second')
b: ROLLBACK
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SET time_zone = '+03:00'
b: SELECT @@time_zone, COUNT(*) FROM $DB.t
= +03:00 | 1
b initdb e_$N
= ERR 1049/42000
b: SELECT v FROM $DB.t
= in the first

# Made again: it is the session's default schema.
r: CREATE DATABASE e_$N CHARACTER SET latin1
b: DO 1
b: CREATE TABLE t (id INT)
b: SELECT DATABASE() = 'e_$N', COUNT(*) FROM t
= 1 | 0
b: SELECT @@collation_database LIKE 'latin1%'
= 1

# Another one instead.
r: DROP DATABASE e_$N
b: SELECT IS_USED_LOCK('$N.b') = CONNECTION_ID()
= 1
b: USE $DB
b: SELECT v FROM t
= in the first
b: SELECT RELEASE_LOCK('$N.b')
= 1

# The default schema is dropped, by another session and by its own.
@not shuffled
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N CHARACTER SET latin1
@setup GRANT ALL ON e_$N.* TO $USER@'%'
@setup CREATE TABLE $DB.t (v VARCHAR(20))
@setup INSERT INTO $DB.t VALUES ('in the first')
@session r user=root

# The schema of a session is dropped by another, then made again.
b: USE e_$N
b: CREATE TABLE t (v INT)
b: SELECT COUNT(*) FROM t
= 0
r: DROP DATABASE e_$N
b: SELECT 1
= 1
b: SELECT v FROM t
[mysql] = ERR 1049/42000
[mariadb] = ERR 1146/42S02
b: SELECT v FROM $DB.t
= in the first
b: CREATE TABLE t (id INT)
= ERR 1049/42000
r: CREATE DATABASE e_$N CHARACTER SET latin1
b: SELECT DATABASE() = 'e_$N'
= 1
b: CREATE TABLE t (id INT)
b: SELECT COUNT(*) FROM e_$N.t
= 0

# A session drops its own: then it has none.
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: DROP DATABASE e_$N
b: SELECT DATABASE()
= NULL
b: SELECT * FROM t
= ERR 1046/3D000
b: SELECT IS_FREE_LOCK('$N.b'), @@collation_database = @@global.collation_server
= 0 | 1
b: USE e_$N
= ERR 1049/42000
b: SELECT DATABASE()
= NULL
b: USE $DB
b: SELECT v FROM t
= in the first

# A prepared statement whose schema is dropped. After a move, MariaDB cannot be given a schema that no longer exists.
@not shuffled
@matrix caps=+QUERY_ATTRIBUTES
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N
@setup GRANT ALL ON e_$N.* TO $USER@'%'
@setup CREATE TABLE $DB.t (v VARCHAR(20))
@setup CREATE TABLE e_$N.t (v VARCHAR(20))
@setup INSERT INTO $DB.t VALUES ('in the first')
@setup INSERT INTO e_$N.t VALUES ('in the second')
a prepare s : SELECT v, DATABASE() = '$DB' FROM t
a: USE e_$N
a prepare s2 : SELECT v FROM t
a: USE $DB
a execute s2
= in the second
a execute s
= in the first | 1
a: DROP DATABASE e_$N
a execute s2
[mysql] = ERR 1049/42000
[mariadb] = ERR 1146/42S02
a execute s
= in the first | 1
a closestmt s
= empty
a closestmt s2
= empty

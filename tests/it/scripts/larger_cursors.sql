# Larger prepared statements with lock calls, executed with a cursor.
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
@session a
@session b
@session o caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY, name VARCHAR(20))
@setup INSERT INTO $DB.jobs VALUES (1,'$Nk'),(2,'$Nl'),(3,'$Nm')
a prepare g : SELECT GET_LOCK(?,?), ? AS x
a prepare t : SELECT id, name, IS_FREE_LOCK(name), IS_USED_LOCK(?) IS NULL FROM jobs WHERE id < ? ORDER BY id
a prepare d : DO GET_LOCK(?,0), RELEASE_LOCK(?)
a prepare s : SET @v = GET_LOCK(?,0)
a prepare u : SELECT id, IS_USED_LOCK(?) = CONNECTION_ID() AS mine FROM jobs WHERE id < 3 ORDER BY id
o prepare t : SELECT id, name, IS_FREE_LOCK(name) FROM jobs WHERE IS_FREE_LOCK(?) ORDER BY id
a execute g cursor '$Nk' 0 7
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: SELECT 1 UNION SELECT 2
a fetch g 1
a fetch g 1
a fetch g 1
= ERR 1421/HY000
a execute t cursor '$Nk' 3
a fetch t 1
a fetch t 0
a: SELECT 5
= 5
a fetch t 5
a fetch t 1
= ERR 1421/HY000
a execute t cursor '$Nk' 9
a fetch t 2
a execute t cursor '$Nl' 9
a fetch t 1
[mariadb] a execute t '$Nl' 9
[mariadb] a fetch t 1
[mariadb] = ERR 1421/HY000
a execute t cursor '$Nl' 9
a resetstmt t
a fetch t 1
= ERR 1421/HY000
a execute t cursor '$Nl' 0
a fetch t 1
# A number that may be NULL, also where it is not.
a execute u cursor '$Nk'
a fetch u 2
[mariadb] a execute d cursor '$Nk' '$Nk'
[mariadb] a execute s cursor '$Nl'
[mariadb] a: SELECT @v
[mariadb] = 1
a execute t cursor '$Nl' 9
a closestmt t
a fetch t 1
= ERR 1243/HY000
o execute t cursor '$Nm'
o fetch t 2
o fetch t 2
o execute t cursor '$Nk'
o fetch t 1
a: SELECT RELEASE_ALL_LOCKS()
o reset
o fetch t 1
= ERR 1243/HY000

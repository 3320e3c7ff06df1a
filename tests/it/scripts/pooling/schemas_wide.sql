# Default schemas whose characters are wide: in them MariaDB's reports of the session look differently.
# Clients that track get these reports in the usual form from the proxy.
@matrix caps=-DEPRECATE_EOF,-SESSION_TRACK
@session a caps=-SESSION_TRACK
@setup DROP DATABASE IF EXISTS w_$N
@setup CREATE DATABASE w_$N CHARACTER SET utf16
@setup GRANT ALL ON w_$N.* TO $USER@'%'
@setup DROP DATABASE IF EXISTS x_$N
@setup CREATE DATABASE x_$N CHARACTER SET utf32
@setup GRANT ALL ON x_$N.* TO $USER@'%'
a: USE w_$N
a: DO 1
a: SELECT DATABASE() = 'w_$N', @@character_set_database
= 1 | utf16
a: CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(9))
a: INSERT INTO t (v) VALUES ('one'), ('two')
a: DO 1
a: UPDATE t SET v = 'three' WHERE id = 2
a: SELECT LAST_INSERT_ID(), COUNT(*) FROM t
= 1 | 2
a: SET sql_mode = 'ANSI', sql_select_limit = 7, time_zone = '+03:00'
a: DO 1
a: SELECT @@sql_select_limit, @@time_zone, 'a' || 'b'
= 7 | +03:00 | ab
a: BEGIN
a: INSERT INTO t (v) VALUES ('four')
a: ROLLBACK
a: SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY
a: BEGIN
a: INSERT INTO t (v) VALUES ('five')
= ERR 1792/25006
a: COMMIT
a: SET @v = 'kept'
a: SELECT GET_LOCK('$N.w', 0), @v
= 1 | kept
a initdb x_$N
a: DO 1
a: SELECT DATABASE() = 'x_$N', @@character_set_database, @v
= 1 | utf32 | kept
a: PREPARE s FROM 'SELECT ? + 1'
a: EXECUTE s USING @v
a: DO 1
a: EXECUTE s USING @@sql_select_limit
[mysql] = ERR 1064/42000
[mariadb] = 8
a: USE $DB
a: DO 1
a: SELECT DATABASE() = '$DB', RELEASE_LOCK('$N.w')
= 1 | 1

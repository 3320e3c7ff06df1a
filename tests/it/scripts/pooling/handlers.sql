# HANDLER: an open place in a table, through everything else that a session does.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT, KEY by_v (v)) ENGINE=InnoDB
@setup INSERT INTO $DB.t VALUES (1, 30), (2, 20), (3, 10)
@setup CREATE TABLE $DB.u (id INT PRIMARY KEY) ENGINE=MyISAM
@setup INSERT INTO $DB.u VALUES (1), (2)

# Opened, read on, closed.
a: HANDLER t OPEN
a: HANDLER t READ FIRST
= 1 | 30
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: HANDLER t READ NEXT
= 2 | 20
a: DO 1
a: HANDLER t READ NEXT
= 3 | 10
a: HANDLER t READ NEXT
= empty
a: HANDLER t CLOSE
a: HANDLER t READ FIRST
= ERR 1109/42S02

# By an index, with a condition, under another name, two at once.
a: HANDLER t OPEN AS h
a: HANDLER u OPEN
a: HANDLER h READ by_v FIRST
= 3 | 10
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: HANDLER h READ by_v NEXT
= 2 | 20
a: HANDLER u READ FIRST
= 1
a: HANDLER h READ by_v = (30)
= 1 | 30
a: HANDLER h READ `PRIMARY` >= (2) WHERE v < 20
= 3 | 10
a: HANDLER u READ NEXT
= 2
a: HANDLER h CLOSE
a: HANDLER u READ NEXT
= empty
a: HANDLER u CLOSE
a: HANDLER nosuch OPEN
= ERR 1146/42S02
a: HANDLER t OPEN
a: HANDLER t OPEN
= ERR 1066/42000
a: HANDLER t CLOSE

# Across a transaction, with LIMIT.
b: HANDLER t OPEN
b: BEGIN
b: HANDLER t READ FIRST LIMIT 2
= 1 | 30; 2 | 20
b: COMMIT
b: SELECT 1
= 1
b: HANDLER t READ NEXT
= 3 | 10
b: ROLLBACK
b: HANDLER t CLOSE

# What closes it: an ALTER, a reset, a change of user, LOCK TABLES.
b: HANDLER t OPEN
b: ALTER TABLE t COMMENT 'x'
b: HANDLER t READ FIRST
= ERR 1109/42S02
b: HANDLER t CLOSE
= ERR 1109/42S02
b: HANDLER t OPEN
b reset
b: HANDLER t READ FIRST
= ERR 1109/42S02
b: HANDLER t OPEN
b changeuser
b: HANDLER t READ FIRST
= ERR 1109/42S02
b: HANDLER t OPEN
b: FLUSH TABLES t
= ERR 1227/42000
b: HANDLER t OPEN
= ERR 1066/42000
b: HANDLER t READ FIRST
= 1 | 30
b: HANDLER t CLOSE

# On a temporary table.
b: CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)
b: INSERT INTO tmp VALUES (5), (6)
b: HANDLER tmp OPEN
b: HANDLER tmp READ FIRST
= 5
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: HANDLER tmp READ NEXT
= 6
b: HANDLER tmp CLOSE
b: DROP TABLE tmp
b: HANDLER tmp READ FIRST
= ERR 1109/42S02

# Not in a routine; in a prepared statement only on one server.
b: CREATE PROCEDURE p() HANDLER t OPEN
= ERR 1314/0A000
b prepare o : HANDLER t OPEN
[mysql] = ERR 1295/HY000
[mariadb] = prepared
b: PREPARE s FROM 'HANDLER t OPEN'
[mysql] = ERR 1295/HY000
[mariadb] = OK
b closestmt o
= empty
[mariadb] b: DEALLOCATE PREPARE s

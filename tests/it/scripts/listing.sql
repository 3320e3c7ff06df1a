# Tables of the server's own that list locks: values, definitions of columns, and what a statement
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
# leaves behind. Conditions are such that the server finds no index for them: what reads the durable
# locks never has one, which a status flag tells.
@also over_tls
@session a user=root
@session b user=root
@session c user=root
@session d
@session e user=root
@matrix caps=-DEPRECATE_EOF

a: SELECT GET_LOCK('$N Job',0), GET_LOCK('$N two',0), GET_LOCK('$N two',0)
[mysql] b!: SELECT GET_LOCK('$N job',60)
[mariadb] b!: SELECT GET_LOCK('$N Job',60)

# Holder and waiter. Where connection ids are compared, they are also looked for in names: no name there.
@end shuffled mysql
c: SELECT m.OBJECT_TYPE,m.OBJECT_SCHEMA,m.OBJECT_NAME='$N two' AS y,m.LOCK_DURATION,m.LOCK_STATUS,m.LOCK_TYPE,CASE t.PROCESSLIST_ID WHEN $ID(a) THEN 'a' WHEN $ID(b) THEN 'b' END AS x FROM performance_schema.metadata_locks m JOIN performance_schema.threads t ON t.THREAD_ID=m.OWNER_THREAD_ID WHERE m.OBJECT_NAME LIKE '$N%' ORDER BY m.OBJECT_NAME,m.LOCK_STATUS
c: SELECT OBJECT_NAME,LOCK_STATUS FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%' ORDER BY 1,2
[mysql] c: SELECT COLUMN_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%'
c: SELECT COUNT(*),COUNT(DISTINCT OBJECT_INSTANCE_BEGIN),MIN(OBJECT_INSTANCE_BEGIN)>0 FROM performance_schema.metadata_locks WHERE OBJECT_TYPE LIKE 'USER LEVEL LOCK%' AND OBJECT_NAME LIKE '$N%'
c: SHOW WARNINGS
c: SELECT FOUND_ROWS(), ROW_COUNT()
c: SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE 'lockstead_gate_$N%'

# Definitions of columns.
c: SELECT * FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N none'
c: SELECT m.*, 1 AS x, CONCAT(OBJECT_TYPE,'x'), OWNER_THREAD_ID+1 FROM performance_schema.metadata_locks AS m WHERE OBJECT_NAME='$N none'
c: SELECT performance_schema.metadata_locks.OBJECT_NAME AS n, metadata_locks.LOCK_STATUS FROM `performance_schema` . `metadata_locks` WHERE OBJECT_NAME LIKE '$N t%'
c: SELECT DISTINCT CONCAT(OBJECT_NAME,'') AS n FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%' ORDER BY 1
c: SELECT LOCK_STATUS,COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%' GROUP BY LOCK_STATUS ORDER BY 1
c: SELECT MAX(OBJECT_NAME),MIN(OWNER_THREAD_ID)>0 FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%'
c: SELECT OBJECT_NAME COLLATE utf8mb4_bin FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N TWO'
c: (SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N t%') UNION ALL (SELECT 'x')
c: WITH l AS (SELECT * FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N t%') SELECT OBJECT_NAME FROM l
c: SELECT 1 WHERE EXISTS (SELECT 1 FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N two')
c: SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_TYPE LIKE "USER LEVEL LOCK" AND OBJECT_NAME="$N two"
c: SELECT OBJECT_NAME INTO @n FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N two'
c: SELECT @n
c: SET @n = (SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%')
c: SELECT @n
c: SELECT IS_USED_LOCK('$N two')=$ID(a) AS u, m.LOCK_STATUS FROM performance_schema.metadata_locks m WHERE OBJECT_NAME='$N two'
c: SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N two' FOR UPDATE
c: DO 1; SELECT GET_LOCK('$N c',0); SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N c'; SELECT RELEASE_LOCK('$N c')

# Without the schema.
c: SELECT OBJECT_NAME FROM metadata_locks
c initdb performance_schema
c: SELECT OBJECT_NAME, metadata_locks.LOCK_STATUS FROM metadata_locks WHERE OBJECT_NAME='$N two'
c initdb $DB
c: CREATE TABLE metadata_locks (OBJECT_NAME VARCHAR(64))
c: INSERT INTO metadata_locks VALUES ('mine')
c: SELECT * FROM metadata_locks
c: SELECT COUNT(*) FROM metadata_locks, performance_schema.metadata_locks AS s WHERE s.OBJECT_NAME='$N two'
c: INSERT INTO metadata_locks SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '$N%'
c: SELECT ROW_COUNT()
c: INSERT INTO $DB.metadata_locks SELECT m.OBJECT_NAME FROM performance_schema.metadata_locks m WHERE OBJECT_NAME LIKE '$N t%'
c: SELECT OBJECT_NAME FROM $DB.metadata_locks ORDER BY 1

# In a transaction that has read before, and under its own settings.
c: SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE
c: BEGIN
c: SELECT COUNT(*) FROM $DB.metadata_locks
a: SELECT GET_LOCK('$N late',0)
c: SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N late'
c: COMMIT
c: SET NAMES latin1
c: SELECT * FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N none'
c: SET NAMES utf8mb4
c: SET collation_connection=utf16_bin
c: SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N two'
c: SET NAMES utf8mb4
c: SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'
= OK
c: SELECT "OBJECT_NAME" FROM "performance_schema"."metadata_locks" WHERE OBJECT_NAME='$N two'
c: SELECT OBJECT_NAME AS "a\b" FROM performance_schema.metadata_locks WHERE OBJECT_NAME='$N two'
c: SET sql_mode=DEFAULT

# Prepared.
e prepare p1 : SELECT * FROM performance_schema.metadata_locks WHERE OBJECT_NAME=?
e prepare p2 : SELECT OBJECT_NAME,LOCK_STATUS,OWNER_THREAD_ID IS NULL,? AS x FROM performance_schema.metadata_locks WHERE OBJECT_NAME=?
e prepare p4 : SELECT LOCK_STATUS,LOCK_DURATION FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE ? ORDER BY 1
e execute p1 '$N none'
e execute p2 5 '$N two'
e execute p2 5 '$N late'
a: SELECT RELEASE_LOCK('$N late')
e execute p2 5 '$N late'
e longdata p2 1 $N two
e execute p2 6 long
e execute p4 cursor '$N%'
e fetch p4 1
e fetch p4 5
e closestmt p4
e closestmt p2
e closestmt p1
c: PREPARE s FROM 'SELECT COUNT(*)>0 FROM performance_schema.metadata_locks WHERE 1'
c: EXECUTE s

# Errors, and who may not read it.
c: SELECT nosuch FROM performance_schema.metadata_locks
c: SELECT * FROM performance_schema.metadata_locks WHERE OBJECT_NAME = ?
c: SELECT * FROM Performance_Schema.Metadata_Locks WHERE OBJECT_NAME='$N none'
c: DELETE FROM performance_schema.metadata_locks
d: SELECT * FROM performance_schema.metadata_locks
d: SELECT COUNT(*) FROM performance_schema.metadata_locks
d prepare p3 : SELECT COUNT(*) FROM performance_schema.metadata_locks

a: SELECT RELEASE_LOCK('$N Job')
b?

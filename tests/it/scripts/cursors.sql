# Cursors and fetches on ordinary statements, and binary rows of all types.
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
@also over_tls over_zlib over_both observed
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a: CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(30), d DOUBLE, n DECIMAL(10,3), b BLOB, dt DATETIME(3), u BIGINT UNSIGNED, ti TINYINT, f FLOAT, da DATE, tm TIME)
a: INSERT INTO t VALUES (1,'a',1.5,2.5,x'00','2024-01-02 03:04:05.678',1,1,1.25,'2024-01-02','-12:34:56'),(2,'b',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(3,'c',3,3,'x','2024-01-01',3,-3,3,'2024-01-03','100:00:00')
a prepare s : SELECT * FROM t ORDER BY id
= prepared
a execute s
a execute s cursor
a fetch s 2
a fetch s 2
a fetch s 1
a execute s cursor
a fetch s 1
a: SELECT 'in between'
= in between
a fetch s 5
a execute s cursor
a resetstmt s
a fetch s 1
a prepare w : SELECT id, s FROM t WHERE id > ? AND s <> ?
a execute w cursor 1 'x'
a fetch w 1
a fetch w 1
a fetch w 1
a execute w cursor 100 'x'
a fetch w 1
a prepare i : INSERT INTO t (id, s, b) VALUES (?, ?, ?)
a longdata i 2 $REP(blob,1000)
a longdata i 2 more
a execute i 10 'long' long
= OK
a: SELECT LENGTH(b) FROM t WHERE id = 10
= 4004
a execute i 10 'dup' 'x'
= ERR 1062/23000
a execute i t:11 v:'varchar' b:'blob'
a execute i s:12 c:'char' null
a execute i i:13 null:253 d:'1.25'
a execute i u:14 1.5 f:2.5
a execute i 15 dt:2024-01-02T03:04:05 ''
a: SELECT id, s, b FROM t WHERE id >= 10 ORDER BY id
a prepare two : SELECT ?, ?
a execute two 1 'x'
a execute two keep 2 'y'
a execute two null 1.5
a prepare none : DO 1
a execute none
= OK
a prepare err : SELECT nosuch
= ERR 1054/42S22
a closestmt w
a fetch w 1
a execute w 1 'x'
a fetch nosuch 1
a closestmt s
a prepare again : SELECT 1
a execute again
= 1
a reset
@end shuffled mysql
a execute again

# A mixed bag of statements that have nothing to do with locks.
@also over_tls over_zlib over_both observed
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@matrix caps=-SESSION_TRACK,-DEPRECATE_EOF
@matrix charset=latin1
a: SELECT 1
= 1
a: SELECT 1, 'two', 3.5, NULL, 4e0, x'ff00', DATE'2024-02-29', TRUE
a: SELECT @@version, @@version_comment, DATABASE(), SCHEMA()
a: SELECT USER(), CURRENT_USER()
a: SELECT CONNECTION_ID()
= <a>
a: CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(30), d DOUBLE, n DECIMAL(10,3), b BLOB, dt DATETIME(3), u BIGINT UNSIGNED, j JSON, e ENUM('x','y'), bi BIT(9), y YEAR)
a: INSERT INTO t (s,d,n,b,dt,u,j,e,bi,y) VALUES ('é',1.5,2.125,x'00ff','2024-01-02 03:04:05.678',18446744073709551615,'{"a":1}','y',b'101',2024),(NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL)
= OK
a: SELECT * FROM t ORDER BY id
a: SELECT COUNT(*), MAX(u), GROUP_CONCAT(s) FROM t
a: SELECT LAST_INSERT_ID()
a: UPDATE t SET s = 'é' WHERE id = 1
a: UPDATE t SET s = 'other' WHERE id = 1
a: DELETE FROM t WHERE id = 99
a: INSERT INTO t (id, s) VALUES (1, 'dup')
= ERR 1062/23000
a: INSERT IGNORE INTO t (id, s) VALUES (1, 'dup')
a: SHOW WARNINGS
a: REPLACE INTO t (id, s) VALUES (1, 'replaced')
a: SELECT nosuch FROM t
= ERR 1054/42S22
a: SELECT * FROM nosuch
= ERR 1146/42S02
a: SELEC 1
= ERR 1064/42000
a:
= ERR 1065/42000
a: ;
= ERR 1065/42000
a: -- only a comment
a: /* only a comment */
a: # only a comment
a: SELECT 1; SELECT 2
= ERR 1064/42000
a: SELECT 1;
= 1
a: SHOW CREATE TABLE t
a: SHOW TABLES
a: SHOW VARIABLES LIKE 'autocommit'
a: DESCRIBE t
a: EXPLAIN FORMAT=TRADITIONAL SELECT * FROM t WHERE id = 1
a: SET @a = 1, @b := 'x'
a: SELECT @a, @b, @nosuch
a: SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
= 1; 2; 3
a: SELECT REPEAT('x', 300), REPEAT('y', 70000)
a: WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, REPEAT('z', i) FROM n
a: SELECT '\x00\x01\xff', 'a\0b'
a: SELECT SLEEP(0)
= 0
a: DO SLEEP(0)
= OK
a: SELECT 1 INTO @v
= OK
a: SELECT 1 WHERE FALSE
= empty
a: SELECT 1 AS a, 2 AS a, 3 AS `a b`, 4 AS ''
a: HANDLER t OPEN
a: HANDLER t READ FIRST
a: HANDLER t CLOSE
a: ANALYZE TABLE t
a: CHECK TABLE t
a: LOCK TABLES t WRITE
a: UNLOCK TABLES
a: FLUSH TABLES t
a: BEGIN
a: INSERT INTO t (s) VALUES ('x')
a: ROLLBACK
a: SAVEPOINT nothing
a: ROLLBACK TO nosuch
a: COMMIT
a: USE $DB
= OK
a: USE nosuch_$N
a: KILL QUERY 4294967290
= ERR 1094/HY000
a: SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'GET_LOCK failed', MYSQL_ERRNO = 1644
= ERR 1644/45000
a: CREATE TEMPORARY TABLE tmp AS SELECT 1 AS one
a: SELECT * FROM tmp
= 1
a: DROP TABLE t
= OK

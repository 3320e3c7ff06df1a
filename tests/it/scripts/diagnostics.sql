# What the session remembers after each kind of call: warnings, counts, ids.
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+FOUND_ROWS
a: CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
a: INSERT INTO t (v) VALUES (1),(2),(3)
= OK
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT ROW_COUNT()
= -1
a: INSERT INTO t (v) VALUES (4)
a: DO GET_LOCK('$Nk',0)
a: SELECT ROW_COUNT()
= 0
a: SELECT RELEASE_LOCK('$Nk')
@end shuffled mysql
a: SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID(), @@warning_count, @@error_count
a: SELECT * FROM t
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
a: SELECT * FROM t
a: DO GET_LOCK('$Nk',0)
a: SELECT FOUND_ROWS()
a: SELECT GET_LOCK('$Nk',0)
a: SELECT LAST_INSERT_ID()
= 4
a: SELECT GET_LOCK('$Nk',0)
a: SELECT @@identity, @@last_insert_id
a: UPDATE t SET v = 9
a: SELECT RELEASE_LOCK('$Nnone')
= NULL
a: SELECT ROW_COUNT()
= -1
a: UPDATE t SET v = v + 1
a: SELECT GET_LOCK('$Nk',0)
a: DO IS_FREE_LOCK('$Nk')
a: SELECT ROW_COUNT()
= 0
# Old warnings: cleared on MySQL, kept on MariaDB.
a: SELECT 1/0
= NULL W1
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT @@warning_count
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk',0)
a: SHOW WARNINGS
a: SELECT 1/0
a: DO RELEASE_LOCK('$Nk')
a: SHOW WARNINGS
a: SELECT 1/0
a: SELECT IS_FREE_LOCK('$Nk')
a: SHOW COUNT(*) WARNINGS
a: SELECT nosuch
= ERR 1054/42S22
a: SELECT GET_LOCK('$Nk',0)
a: SHOW ERRORS
a: SELECT nosuch
a: SELECT GET_LOCK('$Nk',0)
a: SELECT @@error_count
a: SELECT nosuch
a: DO GET_LOCK('$Nk',0)
a: SHOW COUNT(*) ERRORS
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk','abc')
a: SHOW WARNINGS
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk','abc')
a: SELECT @@warning_count
a: SELECT @@warning_count
# Commands whose OK tells the count too.
a: SELECT 1/0
a ping
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk',0)
a ping
a: SELECT 1/0
a: DO GET_LOCK('$Nk',0)
a ping
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk',0)
a initdb $DB
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk',0)
a setoption 0
a: SELECT GET_LOCK('$Nk','abc')
a ping
a: SELECT GET_LOCK(NULL,0)
a ping
a: SELECT GET_LOCK('$Nk')
a ping
# Diagnostics of calls that fail.
a: SELECT GET_LOCK(NULL,0)
a: SELECT ROW_COUNT()
a: SELECT GET_LOCK('')
= ERR 1582/42000
a: SELECT ROW_COUNT()
= -1
a: SHOW WARNINGS
a: SELECT GET_LOCK('$N$REP(a,200)',0)
a: SHOW WARNINGS
a: SELECT GET_LOCK('$N$REP(a,200)',0)
a: GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT
a: SELECT @n, @r
a: SELECT GET_LOCK('$N$REP(a,200)',0)
a: GET DIAGNOSTICS CONDITION 1 @e = MYSQL_ERRNO, @m = MESSAGE_TEXT
a: SELECT @e, @m
# A session that has moved finds no warning by GET DIAGNOSTICS (docs/pooling.md).
@end shuffled mariadb
a: SELECT GET_LOCK('$Nk',0)
a: GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT
a: SELECT @n, @r
a: DO GET_LOCK('$Nk',0)
a: GET DIAGNOSTICS @r = ROW_COUNT
a: SELECT @r
# Counts around a wait and a timeout.
b: SELECT GET_LOCK('$Nw',0)
a: INSERT INTO t (v) VALUES (5),(6)
a: SELECT GET_LOCK('$Nw',0)
= 0
a: SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()
a: SELECT 1/0
a!: SELECT GET_LOCK('$Nw',20)
b: SELECT RELEASE_LOCK('$Nw')
a?
= 1
a: SHOW WARNINGS
a: SELECT ROW_COUNT()
b: SELECT ROW_COUNT()
= -1
# After prepared calls.
a prepare g : SELECT GET_LOCK(?,?)
a prepare d : DO RELEASE_LOCK(?)
a: SELECT 1/0
a execute g '$Nk' 0
= 1
a: SHOW WARNINGS
a execute g '$Nk' 0
a: SELECT ROW_COUNT(), FOUND_ROWS()
a execute d '$Nk'
a: SELECT ROW_COUNT()
= 0
a: SELECT 1/0
a execute g '$Nk' 'abc'
a: SELECT @@warning_count
a: SELECT 1/0
a prepare h : SELECT GET_LOCK(?,?)
a: SELECT @@warning_count
a: INSERT INTO t (v) VALUES (7)
a prepare i : SELECT GET_LOCK(?,?)
a: SELECT ROW_COUNT()
# Inside routines that ask.
a: CREATE PROCEDURE counts() BEGIN SELECT ROW_COUNT(), FOUND_ROWS(); END
a: INSERT INTO t (v) VALUES (8)
a: SELECT GET_LOCK('$Nk',0)
a: CALL counts()
a: INSERT INTO t (v) VALUES (9)
a: DO GET_LOCK('$Nk',0)
a: CALL counts()
a: PREPARE s FROM 'SELECT ROW_COUNT(), FOUND_ROWS(), @@warning_count'
a: SELECT 1/0
a: SELECT GET_LOCK('$Nk',0)
a: EXECUTE s
a: SELECT RELEASE_ALL_LOCKS()
a: SELECT ROW_COUNT(), FOUND_ROWS()

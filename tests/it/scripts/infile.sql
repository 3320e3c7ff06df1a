# LOAD DATA LOCAL INFILE: the server asks, the client answers.
@also over_tls observed
@not over_zlib over_both
@global local_infile=1
@global max_allowed_packet=67108864
@session a caps=+LOCAL_FILES
@session b caps=+LOCAL_FILES,-DEPRECATE_EOF,+MULTI_STATEMENTS
a: CREATE TABLE t (id INT, s VARCHAR(100))
a: LOAD DATA LOCAL INFILE 'one.txt' INTO TABLE t
= infile
a infile 1\x09one\x0a2\x09two\x0a
= OK
a: SELECT * FROM t ORDER BY id
= 1 | one; 2 | two
a: LOAD DATA LOCAL INFILE 'none.txt' INTO TABLE t
= infile
a infile
= OK
a: LOAD DATA LOCAL INFILE 'bad.txt' INTO TABLE t
a infile x\x09y\x09z\x0a
a: SHOW WARNINGS
b: SELECT 1; LOAD DATA LOCAL INFILE 'GET_LOCK(1,1)' INTO TABLE t; SELECT 2
b infile 3\x09three\x0a
a: LOAD DATA LOCAL INFILE 'x' INTO TABLE nosuch
= ERR 1146/42S02
a: LOAD DATA LOCAL INFILE 'big.txt' INTO TABLE t
a infile $REP(4\x09GET_LOCK\x0a,20000)
a: SELECT COUNT(*) FROM t
= 20004
# A file in one packet of more than 16 MiB, most of it skipped.
a: LOAD DATA LOCAL INFILE 'huge.txt' INTO TABLE t IGNORE 169995 LINES
a infile $REP(5\x09xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\x0a,170000)
a: SELECT COUNT(*) FROM t WHERE id = 5
c: LOAD DATA LOCAL INFILE 'x' INTO TABLE t
a: SELECT GET_LOCK('$Nk',0)
= 1
# MariaDB prepares it, too.
[mariadb] a: EXECUTE IMMEDIATE 'LOAD DATA LOCAL INFILE "x" INTO TABLE t'
[mariadb] a infile 6\x09six\x0a
[mariadb] a prepare file : LOAD DATA LOCAL INFILE 'x' INTO TABLE t
[mariadb] a execute file
[mariadb] a infile 6\x09six\x0a
[mariadb] a execute file cursor
[mariadb] a infile 6\x09six\x0a
[mariadb] a: SELECT COUNT(*) FROM t WHERE id = 6
[mariadb] = 3

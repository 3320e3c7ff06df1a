# Requests for a file in texts that take locks: whatever the proxy keeps back, the request goes out at once.
@not over_zlib over_both
@also observed
@global local_infile=1
@setup CREATE FUNCTION $DB.takes(n VARCHAR(30)) RETURNS INT NO SQL RETURN GET_LOCK(n,0)
@session a caps=+LOCAL_FILES,+MULTI_STATEMENTS
@session b caps=+LOCAL_FILES,+MULTI_STATEMENTS,-SESSION_TRACK
@matrix caps=-DEPRECATE_EOF
a: CREATE TABLE t (id INT, n INT)
a: SELECT GET_LOCK('$Nk',0); LOAD DATA LOCAL INFILE 'one.txt' INTO TABLE t (id)
a infile 1\x0a2\x0a
b: SELECT IS_FREE_LOCK('$Nk')
= 0
a: LOAD DATA LOCAL INFILE 'one.txt' INTO TABLE t (id); DO GET_LOCK('$Nl',0); LOAD DATA LOCAL INFILE 'two.txt' INTO TABLE t (id); SELECT IS_USED_LOCK('$Nl') = CONNECTION_ID()
a infile 3\x0a
a infile 4\x0a
b: LOAD DATA LOCAL INFILE 'none.txt' INTO TABLE t (id); SELECT GET_LOCK('$Nm',0)
b infile
b: SELECT GET_LOCK('$Nm',0); LOAD DATA LOCAL INFILE 'bad.txt' INTO TABLE t (id); SELECT 2
b infile x\x0a
a: DO GET_LOCK('$Nn',0); LOAD DATA LOCAL INFILE 'x' INTO TABLE nosuch; SELECT 2
a: LOAD DATA LOCAL INFILE 'held.txt' INTO TABLE t (id)
a infile 5\x0a
a: SELECT COUNT(*) FROM t
b: SELECT IS_FREE_LOCK('$Nk'), IS_FREE_LOCK('$Nl'), IS_FREE_LOCK('$Nm')
= 0 | 0 | 0
a: DO RELEASE_ALL_LOCKS()
b: DO RELEASE_ALL_LOCKS()
# MariaDB prepares this, too.
[mariadb] a prepare file : LOAD DATA LOCAL INFILE 'prepared.txt' INTO TABLE t (id)
[mariadb] a execute file
[mariadb] a infile 6\x0a
[mariadb] a execute file cursor
[mariadb] a infile 7\x0a
a: LOAD DATA LOCAL INFILE 'set.txt' INTO TABLE t (id) SET n = GET_LOCK('$No',0)
a infile 5\x0a6\x0a
a: LOAD DATA LOCAL INFILE 'set.txt' INTO TABLE t (id) SET n = takes('$Np'); SELECT GET_LOCK('$Nq',0)
a infile 7\x0a
b: SELECT IS_FREE_LOCK('$No'), IS_FREE_LOCK('$Np'), IS_FREE_LOCK('$Nq')
= 0 | 0 | 0
a: SELECT COUNT(*), SUM(n) FROM t

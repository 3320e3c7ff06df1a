# Values that a statement uses up, or that stand still: the time, the next insert id, the seeds.
@matrix caps=-DEPRECATE_EOF
@session r user=root
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)

# A session with a fixed time.
a: SET time_zone = '+00:00'
a: SET timestamp = 1000000000
a: SELECT NOW(), UNIX_TIMESTAMP(), @@timestamp
= 2001-09-09 01:46:40 | 1000000000 | 1000000000.000000
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: BEGIN
a: SELECT NOW(), CURDATE(), @@timestamp
= 2001-09-09 01:46:40 | 2001-09-09 | 1000000000.000000
a: COMMIT
a: SET timestamp = 1000000000.25
a: DO 1
a: SELECT NOW(3), @@timestamp
= 2001-09-09 01:46:40.250 | 1000000000.250000
a: SET timestamp = DEFAULT
a: SELECT NOW() > '2020-01-01', @@timestamp > 1600000000
= 1 | 1
a: SET timestamp = 1200000000
a: SET timestamp = 0
a: SELECT NOW() > '2020-01-01'
= 1
a: SET timestamp = 1200000000
a reset
a: SELECT NOW() > '2020-01-01'
= 1
a: SET timestamp = 'abc'
= ERR 1232/42000

# The id of the next row, used up by it.
b: SET insert_id = 50
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT @@insert_id
= 50
b: INSERT INTO t (v) VALUES (1)
b: SELECT LAST_INSERT_ID(), @@insert_id
= 50 | 0
b: INSERT INTO t (v) VALUES (2), (3)
b: SELECT LAST_INSERT_ID()
= 51
b: SELECT id, v FROM t
= 50 | 1; 51 | 2; 52 | 3
b: SET insert_id = 70
b: INSERT INTO t (v) VALUES (4), (5)
b: INSERT INTO t (v) VALUES (6)
b: SELECT id, v FROM t
= 50 | 1; 51 | 2; 52 | 3; 70 | 4; 71 | 5; 72 | 6
b: SET insert_id = 90
b reset
b: INSERT INTO t (v) VALUES (7)
b: SELECT MAX(id) FROM t
= 73
b: SET insert_id = 95
b: SELECT nosuch
= ERR 1054/42S22
b: INSERT INTO t (v) VALUES (8)
b: SELECT LAST_INSERT_ID()
= 95

# The seeds: the same numbers each time.
c: SET rand_seed1 = 10, rand_seed2 = 20
c: SELECT RAND()
= 0.00000004656612877414201
c: SELECT RELEASE_ALL_LOCKS()
= 0
c: SELECT RAND()
= 0.00000023562461159715858
c: SET rand_seed1 = 10
c: SET rand_seed2 = 20
c: DO 1
c: SELECT RAND(), RAND()
= 0.00000004656612877414201 | 0.00000023562461159715858
c: SELECT @@rand_seed1 = 0, @@rand_seed2 = 0
[mysql] = 1 | 1
[mariadb] = 0 | 0
c: SELECT RAND(7)
= 0.9065021936842261
c reset
c: SELECT RAND() BETWEEN 0 AND 1
= 1

# last_insert_id and identity as variables.
d: SET last_insert_id = 44
d: SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity
= 44 | 44 | 44
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT LAST_INSERT_ID()
= 44
d: SET identity = 45
d: BEGIN
d: SELECT LAST_INSERT_ID(), @@identity
= 45 | 45
d: COMMIT
d: SET last_insert_id = 18446744073709551615
d: SELECT LAST_INSERT_ID()
= 18446744073709551615
d reset
d: SELECT LAST_INSERT_ID(), @@identity
= 0 | 0

# Steps of counted ids.
r: SET SESSION auto_increment_increment = 10, auto_increment_offset = 3
r: TRUNCATE t
r: INSERT INTO t (v) VALUES (1), (2)
r: SELECT GET_LOCK('$N.r', 0)
= 1
r: INSERT INTO t (v) VALUES (3)
r: SELECT id, v, @@auto_increment_increment, @@auto_increment_offset FROM t
= 3 | 1 | 10 | 3; 13 | 2 | 10 | 3; 23 | 3 | 10 | 3
r: SET SESSION auto_increment_increment = DEFAULT, auto_increment_offset = DEFAULT
r: INSERT INTO t (v) VALUES (4)
r: SELECT MAX(id) FROM t
= 33

# What replication sets, as the account may.
d: SET sql_log_bin = 0
= ERR 1227/42000
d: SET SESSION binlog_format = 'ROW'
= ERR 1227/42000
[mysql] d: SET gtid_next = 'AUTOMATIC'
[mysql] = ERR 1227/42000
[mariadb] d: SET gtid_domain_id = 5
[mariadb] = ERR 1227/42000
[mysql] d: SET pseudo_replica_mode = 1
[mysql] = ERR 1227/42000
d: SET pseudo_thread_id = 1
= ERR 1227/42000
r: SET sql_log_bin = 0
r: SELECT RELEASE_ALL_LOCKS()
= 1
r: INSERT INTO t (v) VALUES (5)
r: SELECT @@sql_log_bin
= 0
r: BEGIN
r: SET sql_log_bin = 1
= ERR 1694/HY000
r: ROLLBACK
r: SET sql_log_bin = 1
r: SELECT @@sql_log_bin
= 1
[mariadb] r: SET SESSION gtid_domain_id = 5, server_id = 77
[mariadb] r: DO 1
[mariadb] r: SELECT @@gtid_domain_id, @@server_id
[mariadb] = 5 | 77
[mariadb] r: SET SESSION gtid_domain_id = DEFAULT, server_id = DEFAULT
[mariadb] r: SELECT @@gtid_domain_id = @@global.gtid_domain_id, @@server_id = @@global.server_id
[mariadb] = 1 | 1

# SET of `@@` without a scope sets the session's variable, but MariaDB's state tracker does not report it.
@matrix caps=-SESSION_TRACK
@matrix caps=-DEPRECATE_EOF
a: CREATE TABLE t (v VARCHAR(9))
a: SET @@sql_mode = 'NO_BACKSLASH_ESCAPES'
a: INSERT INTO t VALUES ('a\')
a: SELECT v, @@sql_mode FROM t
= a\ | NO_BACKSLASH_ESCAPES
a: SET @@sql_mode = "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"
a: SELECT "v" FROM "t"
= a\
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT "v" FROM "t"
= a\
a: SET @@max_join_size := 1000000, @@`div_precision_increment` = 7
a: SELECT @@max_join_size, 1/3
= 1000000 | 0.3333333
a: SET sql_mode = '', @@time_zone = '+03:00'
a: SELECT @@time_zone, LENGTH(@@sql_mode)
= +03:00 | 0

a: SET @@nosuch = 1
= ERR 1193/HY000
a: SET @@max_connections = 10
= ERR 1229/HY000
a: SELECT @@time_zone, @@max_join_size
= +03:00 | 1000000
a: SELECT RELEASE_ALL_LOCKS()
= 1

# Character sets.
b: SET @@character_set_results = latin1, @@character_set_client = latin1
b: SELECT @@character_set_results, @@character_set_client
= latin1 | latin1
b: SET @@collation_connection = latin1_bin
b: SELECT @@collation_connection, 'a' = 'A'
= latin1_bin | 0

# In a prepared statement, of either kind.
c prepare p : SET @@max_join_size = ?
c execute p 7
c: SELECT @@max_join_size
= 7
c execute p 8
c: SELECT @@max_join_size
= 8
c: PREPARE s FROM 'SET @@sort_buffer_size = 100000'
c: EXECUTE s
c: DEALLOCATE PREPARE s
c: SELECT @@sort_buffer_size
= 100000

# Through a reset, which ends it.
d: SET @@div_precision_increment = 9
d: SELECT @@div_precision_increment
= 9
d reset
d: SELECT @@div_precision_increment
= 4

# What is used up, and what changes the replication.
e: SET @@insert_id = 50
e: CREATE TABLE i (id INT PRIMARY KEY AUTO_INCREMENT)
e: INSERT INTO i VALUES ()
e: SELECT * FROM i
= 50
e: SET @@timestamp = 1000000000
e: SELECT UNIX_TIMESTAMP()
= 1000000000

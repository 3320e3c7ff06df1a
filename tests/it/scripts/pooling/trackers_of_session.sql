# A session that changes what the server tells it about its state.
@client own libmysqlclient mysql2
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t VALUES (1, 1)
@setup CREATE PROCEDURE $DB.sets() BEGIN SET SESSION time_zone = '+02:00'; SELECT 1; SET @x = 1; END

# A list of variables of its own.
a: SET SESSION session_track_system_variables = 'time_zone,sql_mode'
a: SET SESSION time_zone = '+01:00'
a: SET SESSION max_sp_recursion_depth = 5
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SET SESSION sql_mode = ''
a: SET NAMES latin1
a: SELECT @@session_track_system_variables
[mysql] = time_zone,sql_mode
[mariadb] = sql_mode,time_zone
a: CALL sets()
= 1; OK
a: SET SESSION session_track_system_variables = ''
a: SET SESSION time_zone = '+03:00'
a: DO 1
a: SELECT @@session_track_system_variables
a: SET SESSION session_track_system_variables = DEFAULT
a: SET SESSION time_zone = '+04:00'
a: SELECT @@session_track_system_variables = @@global.session_track_system_variables
= 1
a: SET SESSION session_track_system_variables = 'autocommit,nosuch'
[mysql] = OK W1
[mariadb] = ERR 1193/HY000
a: SHOW WARNINGS
[mysql] = Warning | 1231 | nosuch is not a valid system variable and will be ignored.
[mariadb] = Error | 1193 | Unknown system variable 'nosuch'
a: SET autocommit = 0
a: SET autocommit = 1
[mariadb] a: SET SESSION session_track_system_variables = '*'
[mariadb] a: SET SESSION max_sp_recursion_depth = 6
[mariadb] a: SELECT 1
[mariadb] = 1
[mariadb] a: SET SESSION session_track_system_variables = DEFAULT

# The schema.
b: SET SESSION session_track_schema = OFF
b: USE information_schema
b: SELECT DATABASE()
= information_schema
b: SET SESSION session_track_schema = ON
b: USE $DB
b initdb information_schema
b: SELECT GET_LOCK('$N.b', 0)
= 1
b initdb $DB
b: SELECT @@session_track_schema
= 1

# Whether anything changed.
c: SET SESSION session_track_state_change = ON
c: SET @x = 1
c: SELECT 1
= 1
c: SET SESSION max_sp_recursion_depth = 3
c: CREATE TEMPORARY TABLE tmp (v INT)
c: PREPARE q FROM 'SELECT 1'
c: SELECT RELEASE_ALL_LOCKS()
= 0
c: EXECUTE q
= 1
c: DEALLOCATE PREPARE q
c: DROP TEMPORARY TABLE tmp
c: USE $DB
c: SET SESSION session_track_state_change = OFF
c: SET @x = 2
c: SELECT @@session_track_state_change
= 0

# Transactions: their state and their characteristics.
d: SET SESSION session_track_transaction_info = 'CHARACTERISTICS'
d: BEGIN
d: SELECT v FROM t
= 1
d: UPDATE t SET v = 2
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: COMMIT
d: SET TRANSACTION READ ONLY
d: SELECT 1
= 1
d: START TRANSACTION
d: COMMIT
d: SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
d: SELECT v FROM t
= 2
d: LOCK TABLES t READ
d: SELECT 1
= 1
d: UNLOCK TABLES
d: XA START '$Nx'
d: XA END '$Nx'
d: XA ROLLBACK '$Nx'
d: SET SESSION session_track_transaction_info = 'STATE'
d: START TRANSACTION READ ONLY
d: DO 1
d: ROLLBACK
d: SET SESSION session_track_transaction_info = 'OFF'
d: BEGIN
d: COMMIT
d: SELECT @@session_track_transaction_info
= OFF

# Through a reset and a change of user.
e: SET SESSION session_track_state_change = ON, session_track_schema = OFF
e: SET @x = 1
e reset
e: SET @x = 1
e: USE $DB
e: SELECT @@session_track_state_change = @@global.session_track_state_change, @@session_track_schema = @@global.session_track_schema
= 1 | 1
e: SET SESSION session_track_transaction_info = 'STATE'
e changeuser
e: BEGIN
e: ROLLBACK

# Locks of the whole server, and what the server runs for each login: on a server of the script's own.
@own
@first SET GLOBAL init_connect='SET @of_login = 1'
@not coexist shuffled
@session r user=root
@session i caps=+INTERACTIVE
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.t VALUES (1, 1)

# FLUSH TABLES WITH READ LOCK, until UNLOCK TABLES.
r: SELECT GET_LOCK('$N.r', 0)
= 1
r: FLUSH TABLES WITH READ LOCK
r: SELECT v FROM t
= 1
r: UPDATE t SET v = 2
= ERR 1223/HY000
r: DO 1
r: UPDATE t SET v = 2
= ERR 1223/HY000
r: UNLOCK TABLES
r: UPDATE t SET v = 2
r: FLUSH TABLES WITH READ LOCK
r: BEGIN
r: UPDATE t SET v = 3
= ERR 1223/HY000
r: ROLLBACK
r: UNLOCK TABLES
r: UPDATE t SET v = 3
r: FLUSH TABLES WITH READ LOCK
r reset
r: UPDATE t SET v = 4
r: FLUSH TABLES WITH READ LOCK
r changeuser
r: UPDATE t SET v = 5
r: FLUSH LOCAL TABLES
r: SELECT v FROM t
= 5

# The lock of the backup, and its stages.
[mysql] r: SELECT GET_LOCK('$N.r', 0)
[mysql] = 1
[mysql] r: LOCK INSTANCE FOR BACKUP
[mysql] r: UPDATE t SET v = 6
[mysql] r: CREATE TABLE x (id INT)
[mysql] r: UNLOCK INSTANCE
[mysql] r: LOCK INSTANCE FOR BACKUP
[mysql] r reset
[mysql] r: CREATE TABLE y (id INT)
[mariadb] r: SELECT GET_LOCK('$N.r', 0)
[mariadb] = 1
[mariadb] r: BACKUP STAGE START
[mariadb] r: BACKUP STAGE FLUSH
[mariadb] r: SELECT v FROM t
[mariadb] = 5
[mariadb] r: BACKUP STAGE BLOCK_COMMIT
[mariadb] r: DO 1
[mariadb] r: BACKUP STAGE END
[mariadb] r: UPDATE t SET v = 6
[mariadb] r: BACKUP STAGE START
[mariadb] r reset
[mariadb] r: BACKUP STAGE END
[mariadb] = ERR 4146/HY000
[mariadb] r: BACKUP LOCK t
[mariadb] r: SELECT v FROM t
[mariadb] = 6
[mariadb] r: BACKUP UNLOCK
[mariadb] r: UPDATE t SET v = 7

# State that init_connect has set is there, and gone after a reset.
a: SELECT @of_login
= 1
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT @of_login
= 1
a: SET @of_login = 2
a: DO 1
a: SELECT @of_login
= 2
a reset
a: SELECT @of_login
= NULL
a changeuser
a: SELECT @of_login
= NULL
r: SELECT @of_login
= NULL
r: FLUSH TABLES WITH READ LOCK
r: UNLOCK TABLES

# Another statement of init_connect, for those who log in afterwards.
r: SET GLOBAL init_connect = 'SET SESSION max_sp_recursion_depth = 17, time_zone = ''+07:00'''
b: SELECT @@max_sp_recursion_depth, @@time_zone
= 17 | +07:00
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT @@max_sp_recursion_depth, @@time_zone
= 17 | +07:00
b: SET SESSION max_sp_recursion_depth = 18
b: BEGIN
b: COMMIT
b: SELECT @@max_sp_recursion_depth, @@time_zone
= 18 | +07:00
b reset
b: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth
= 1
r: SET GLOBAL init_connect = ''
c: SELECT @@max_sp_recursion_depth = @@global.max_sp_recursion_depth
= 1
r: SET GLOBAL init_connect = 'SET @of_login = 1'

# The timeout of an interactive client, which a reset keeps on one server only.
r: SET GLOBAL interactive_timeout = 1111
i: SELECT @@wait_timeout
= 1111
i: SELECT GET_LOCK('$N.i', 0)
= 1
i: DO 1
i: SELECT @@wait_timeout
= 1111
i reset
i: SELECT @@wait_timeout
[mysql] = 1111
[mariadb] = 28800
i changeuser
i: SELECT @@wait_timeout
[mysql] = 1111
[mariadb] = 28800
i: SET SESSION wait_timeout = 222
i: BEGIN
i: COMMIT
i: SELECT @@wait_timeout
= 222
r: SET GLOBAL interactive_timeout = DEFAULT

# A resource group.
[mysql] r: SET RESOURCE GROUP USR_default
[mysql] r: SELECT 1
[mysql] = 1
[mysql] r: SET RESOURCE GROUP nosuch
[mysql] = ERR 3651/HY000
r: SELECT v FROM t
[mysql] = 6
[mariadb] = 7

# Capabilities of the login that change what a session may do or is told.
@session found caps=+FOUND_ROWS
@session space caps=+IGNORE_SPACE
@session inter caps=+INTERACTIVE
@session plain caps=-SESSION_TRACK,-DEPRECATE_EOF,-PLUGIN_AUTH_LENENC_DATA,-CONNECT_ATTRS
@session attrs caps=+QUERY_ATTRIBUTES
@session nodb db=none
@session lone caps=-TRANSACTIONS
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)
@setup INSERT INTO $DB.t (v) VALUES (1), (1), (2)

# Rows that are found but not changed.
found: UPDATE t SET v = 1 WHERE id < 3
found: SELECT ROW_COUNT()
= 2
found: SELECT GET_LOCK('$N.found', 0)
= 1
found: UPDATE t SET v = 1 WHERE id < 3
found: INSERT INTO t (id, v) VALUES (1, 1) ON DUPLICATE KEY UPDATE v = 1
found: SELECT ROW_COUNT()
= 1
found reset
found: UPDATE t SET v = 1 WHERE id < 3
found changeuser
found: UPDATE t SET v = 1 WHERE id < 3
plain: UPDATE t SET v = 1 WHERE id < 3
plain: SELECT ROW_COUNT()
= 0

# Spaces after the names of functions.
space: SELECT COUNT (*) FROM t
= 3
space: SELECT @@sql_mode LIKE '%IGNORE_SPACE%'
= 1
space: SET sql_mode = ''
space: SELECT COUNT (*) FROM t
= ERR 1064/42000
space: SELECT GET_LOCK ('$N.space', 0)
= 1
space reset
space: SELECT COUNT (*) FROM t
[mysql] = 3
[mariadb] = ERR 1064/42000
space: DO 1
space: SELECT @@sql_mode LIKE '%IGNORE_SPACE%'
[mysql] = 1
[mariadb] = 0
space changeuser
space: SELECT COUNT (*) FROM t
[mysql] = 3
[mariadb] = ERR 1064/42000

# An interactive session's timeout.
inter: SELECT @@wait_timeout = @@global.interactive_timeout
= 1
inter: SET SESSION wait_timeout = 1234
inter: SELECT GET_LOCK('$N.inter', 0)
= 1
inter: SELECT @@wait_timeout
= 1234
inter reset
inter: SELECT @@wait_timeout = @@global.interactive_timeout, @@wait_timeout = @@global.wait_timeout
= 1 | 1

# The plainest of all, with as much state as any.
plain: SET @x = 1, SESSION max_sp_recursion_depth = 5
plain: USE information_schema
plain: SELECT GET_LOCK('$N.plain', 0)
= 1
plain: SELECT @x, @@max_sp_recursion_depth, DATABASE()
= 1 | 5 | information_schema
plain: USE $DB
plain: BEGIN
plain: UPDATE t SET v = 5 WHERE id = 1
plain: SELECT v FROM t
= 5; 1; 2
plain: ROLLBACK
plain prepare s : SELECT v FROM t WHERE id = ?
plain execute s 3
= 2
plain: SET NAMES latin1
plain execute s 3
= 2
plain reset
plain: SELECT @x, DATABASE() = '$DB'
= NULL | 1

# Query attributes, with and without.
attrs qattr trace='x' n=5 : SELECT v FROM t WHERE id = 3
= 2
attrs: SELECT GET_LOCK('$N.attrs', 0)
= 1
attrs qattr trace='y' : SET @x = 1
attrs: SELECT @x
= 1
attrs prepare s : SELECT ?
attrs execute s 1 attr:trace='x'
= 1
attrs execute s 2
= 2
attrs execute s keep 3 attr:n=5
[mysql] = ERR 1835/HY000
[mariadb] = 3

# No schema from the beginning.
nodb: SELECT DATABASE()
= NULL
nodb: SET @x = 1
nodb: SELECT GET_LOCK('$N.nodb', 0)
= 1
nodb: SELECT @x, DATABASE()
= 1 | NULL
nodb: CREATE TEMPORARY TABLE x (v INT)
= ERR 1046/3D000
nodb: SELECT v FROM $DB.t WHERE id = 3
= 2
lone: BEGIN
lone: UPDATE t SET v = 9 WHERE id = 3
lone: ROLLBACK
lone: SELECT v FROM t WHERE id = 3
= 2

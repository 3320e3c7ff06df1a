# Character sets and collations of a session, set together and one by one.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK

# SET NAMES of another character set, and back.
a: SET NAMES latin1
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
= latin1 | latin1 | latin1 | latin1_swedish_ci
a: SELECT '\xe9' AS e, HEX('\xe9'), CHAR_LENGTH('\xe9'), CHARSET('\xe9')
= \xe9 | E9 | 1 | latin1
a: SET NAMES utf8mb4
a: SELECT 'é' AS e, HEX('é'), CHAR_LENGTH('é'), CHARSET('é')
= é | C3A9 | 1 | utf8mb4

# With a collation, which decides what is equal.
a: SET NAMES utf8mb4 COLLATE utf8mb4_bin
a: SELECT 'a' = 'A'
= 0
a: DO 1
a: SELECT @@collation_connection, COLLATION('x'), 'a' = 'A'
= utf8mb4_bin | utf8mb4_bin | 0
a: SET NAMES utf8mb4 COLLATE utf8mb4_general_ci
a: SELECT 'a' = 'A', 'ß' = 's', @@collation_connection
= 1 | 1 | utf8mb4_general_ci
a: SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci
a: BEGIN
a: SELECT 'ß' = 'ss', @@collation_connection
= 1 | utf8mb4_unicode_ci
a: COMMIT
a: SELECT 'ß' = 'ss', @@collation_connection
= 1 | utf8mb4_unicode_ci
a: SET NAMES utf8mb4
a: SELECT @@collation_connection, COLLATION('x')
[mysql] = utf8mb4_0900_ai_ci | utf8mb4_0900_ai_ci
[mariadb] = utf8mb4_general_ci | utf8mb4_general_ci
a: SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'
a: SET NAMES DEFAULT
a: SELECT @@character_set_client, @@character_set_results, @@character_set_connection = @@character_set_client
[mysql] = utf8mb4 | utf8mb4 | 1
[mariadb] = latin1 | latin1 | 1

# One that does not exist, one that does not fit, one that cannot be a client's: nothing changes.
b: SET NAMES latin1 COLLATE latin1_bin
b: SET NAMES nosuch
= ERR 1115/42000
b: SET NAMES utf8mb4 COLLATE latin1_bin
= ERR 1253/42000
b: SET NAMES utf8mb4 COLLATE nosuch
= ERR 1273/HY000
b: SET NAMES ucs2
= ERR 1231/42000
b: SET character_set_client = utf16
= ERR 1231/42000
b: SELECT RELEASE_LOCK('$N.b')
= NULL
b: SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
= latin1 | latin1 | latin1 | latin1_bin

# SET CHARACTER SET takes the connection's from the schema.
b: SET CHARACTER SET latin2
b: SELECT 1
= 1
b: SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection = @@collation_database
= latin2 | utf8mb4 | latin2 | 1
b: SET CHARSET utf8mb4
b: SELECT @@character_set_client, @@character_set_connection, @@character_set_results
= utf8mb4 | utf8mb4 | utf8mb4
b: SET CHARACTER SET DEFAULT
b: SELECT @@character_set_client, @@character_set_results
[mysql] = utf8mb4 | utf8mb4
[mariadb] = latin1 | latin1

# Three different ones.
d: SET character_set_client = latin1, character_set_connection = utf8mb4, character_set_results = cp1251
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
[mysql] = latin1 | utf8mb4 | cp1251 | utf8mb4_0900_ai_ci
[mariadb] = latin1 | utf8mb4 | cp1251 | utf8mb4_general_ci
d: SELECT '\xe9\xdf' AS e, HEX('\xe9\xdf'), _utf8mb4 x'D0B6' AS zhe
= ?? | C3A9C39F | \xe6
d: SET collation_connection = 'latin1_german2_ci'
d: SELECT '\xe4' = 'ae', @@character_set_connection, COLLATION('x')
= 1 | latin1 | latin1_german2_ci
d: SET character_set_connection = latin1
d: SELECT '\xe4' = 'ae', @@collation_connection
= 0 | latin1_swedish_ci

# By number of the collation, by another variable.
d: SET collation_connection = 33
[mysql] = OK W1
[mariadb] = OK
d: SELECT @@character_set_connection, @@collation_connection
= utf8mb3 | utf8mb3_general_ci
d: SET character_set_client = @@character_set_connection
[mysql] = OK W1
[mariadb] = OK
d: SELECT @@character_set_client
= utf8mb3
d: SET @c = 'koi8r'
d: SET character_set_results = @c
d: SELECT @@character_set_results, _utf8mb4 x'D0B6' AS zhe
= koi8r | \xd6

# Results as they are stored.
e: SET character_set_results = NULL
e: SELECT 1
= 1
e: SELECT @@character_set_results, @@character_set_client
= NULL | utf8mb4
e: SELECT _latin1 x'E9' AS l, _utf8mb4 x'C3A9' AS u
= \xe9 | é
e: SELECT GET_LOCK('$N.e', 0)
= 1
e: SELECT _latin1 x'E9' AS l, _utf8mb4 x'C3A9' AS u
= \xe9 | é
e: SET NAMES latin1
e: SELECT _latin1 x'E9' AS l, _utf8mb4 x'C3A9' AS u
= \xe9 | \xe9
e: SET character_set_results = binary
e: SELECT _latin1 x'E9' AS l, _utf8mb4 x'C3A9' AS u, @@character_set_results
= \xe9 | é | binary
e: SET NAMES binary
e: SELECT 'é' AS e, HEX('é'), CHARSET('é'), @@collation_connection
= é | C3A9 | binary | binary

# Names of columns and errors come in the character set of results.
f: CREATE TABLE `tä` (`cö` VARCHAR(10) CHARACTER SET latin1)
f: INSERT INTO `tä` VALUES ('ü')
f: SET NAMES latin1
f: DO 1
f: SELECT * FROM `t\xe4`
= \xfc
f: SELECT `n\xf6` FROM `t\xe4`
= ERR 1054/42S22
f: SHOW WARNINGS
[mysql] = Error | 1054 | Unknown column 'n\xf6' in 'field list'
[mariadb] = Error | 1054 | Unknown column 'n\xf6' in 'SELECT'
f: SET NAMES utf8mb4
f: SELECT * FROM `tä`
= ü
f: SELECT `nö` FROM `tä`
= ERR 1054/42S22
f: SHOW WARNINGS
[mysql] = Error | 1054 | Unknown column 'nö' in 'field list'
[mariadb] = Error | 1054 | Unknown column 'nö' in 'SELECT'

# Narrow and wide results.
f: SET character_set_results = ascii
f: SELECT 'é' AS e
= ?
f: SET character_set_results = ucs2
[mysql] = OK W1
[mariadb] = OK
f: SELECT HEX('é'), 'é' AS e
f: SET character_set_results = utf8mb4
f: SELECT 'é' AS e
= é

@end shuffled mysql
# Of the server, the schema and the file system, as far as a session has its own.
g: SET character_set_server = latin1
g: SELECT @@character_set_server, @@collation_server
= latin1 | latin1_swedish_ci
g: SET collation_server = latin1_bin
g: DO 1
g: SELECT @@character_set_server, @@collation_server
= latin1 | latin1_bin
g: SET character_set_filesystem = latin1
[mysql] = ERR 1227/42000
[mariadb] = OK
g: SELECT @@character_set_filesystem
[mysql] = binary
[mariadb] = latin1
g: SELECT @@character_set_database, @@collation_database = @@global.collation_database
[mysql] = utf8mb4 | 1
[mariadb] = utf8mb4 | 0
g: SET collation_server = DEFAULT
g: SELECT @@collation_server = @@global.collation_server
= 1
g: ALTER DATABASE $DB CHARACTER SET latin1 COLLATE latin1_bin
g: SELECT @@character_set_database, @@collation_database
= latin1 | latin1_bin
g: ALTER DATABASE $DB CHARACTER SET utf8mb4
g: SELECT @@character_set_database
= utf8mb4

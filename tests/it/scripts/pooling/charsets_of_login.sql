# The character set of the login: what it makes of the session, and what a reset makes of it.
@session l charset=latin1
@session s charset=sjis
@session n charset=utf8mb4_0900
@session u charset=utf8mb3
@session b charset=binary
@session g charset=gbk
@session k charset=koi8r

# As it logs in, and later.
l: SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
= latin1 | latin1 | latin1 | latin1_swedish_ci
l: SELECT GET_LOCK('$N.l', 0)
= 1
l: SELECT '\xe9' AS e, HEX('\xe9')
= \xe9 | E9
l: CREATE TABLE t (s VARCHAR(10) CHARACTER SET utf8mb4)
l: INSERT INTO t VALUES ('\xe9')
l: SELECT s, HEX(s) FROM t
= \xe9 | C3A9

# A character of two bytes whose second is a backslash or a quote's neighbour.
s: SELECT '\x83\x5c' AS x, HEX('\x83\x5c'), CHAR_LENGTH('\x83\x5c')
= \x83\ | 835C | 1
s: DO 1
s: SELECT @@character_set_client, @@collation_connection, '\x95\x5c' = '\x95\x5c'
= sjis | sjis_japanese_ci | 1
g: SELECT HEX('\xbf\x5c'), CHAR_LENGTH('\xbf\x5c')
= BF5C | 1
g: SELECT 1
= 1
g: SELECT HEX('\xbf\x5c'), @@character_set_client
= BF5C | gbk

# Others.
n: SELECT @@character_set_client, @@collation_connection, 'a' = 'A'
[mysql] = utf8mb4 | utf8mb4_0900_ai_ci | 1
[mariadb] = latin1 | latin1_swedish_ci | 1
n: BEGIN
n: SELECT @@collation_connection, 'ß' = 'ss'
[mysql] = utf8mb4_0900_ai_ci | 1
[mariadb] = latin1_swedish_ci | 0
n: COMMIT
u: SELECT @@character_set_client, @@character_set_results, @@collation_connection, 'é' AS e
= utf8mb3 | utf8mb3 | utf8mb3_general_ci | é
b: SELECT @@character_set_client, @@character_set_results, @@collation_connection, 'é' AS e
= binary | binary | binary | é
b: SELECT RELEASE_ALL_LOCKS()
= 0
b: SELECT 'a' = 'A', @@collation_connection
= 0 | binary
k: SELECT '\xd6' AS zhe, HEX(CONVERT('\xd6' USING utf8mb4)), @@character_set_client
= \xd6 | D0B6 | koi8r
k: DO 1
k: SELECT '\xd6' AS zhe, HEX(CONVERT('\xd6' USING utf8mb4)), @@character_set_client
= \xd6 | D0B6 | koi8r

# Changed, used, and back to the login's by a change of user.
k: SET NAMES utf8mb4 COLLATE utf8mb4_bin
k: SELECT 'ж' AS zhe, @@collation_connection
= ж | utf8mb4_bin
k changeuser
k: SELECT '\xd6' AS zhe, @@character_set_client, @@collation_connection
= \xd6 | koi8r | koi8r_general_ci
k changeuser charset=latin1
k: SELECT '\xd6' AS o, @@character_set_client, @@collation_connection
= \xd6 | latin1 | latin1_swedish_ci
k: DO 1
k: SELECT @@character_set_client, @@character_set_results, @@collation_connection
= latin1 | latin1 | latin1_swedish_ci

@end shuffled mariadb
# After a reset, which is not alike on the servers. (MariaDB resets a session whose login had a
# collation that it does not know to that of an earlier connection.)
l reset
l: SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
[mysql] = utf8mb4 | utf8mb4 | utf8mb4 | utf8mb4_0900_ai_ci
[mariadb] = latin1 | latin1 | latin1 | latin1_swedish_ci
l: SELECT HEX('é')
= C3A9
s: SET NAMES latin1
s reset
s: SELECT @@character_set_client, @@character_set_results, @@collation_connection
[mysql] = utf8mb4 | utf8mb4 | utf8mb4_0900_ai_ci
[mariadb] = sjis | sjis | sjis_japanese_ci
s: DO 1
s: SELECT @@character_set_client, @@character_set_results, @@collation_connection
[mysql] = utf8mb4 | utf8mb4 | utf8mb4_0900_ai_ci
[mariadb] = sjis | sjis | sjis_japanese_ci
[mysql] n: SET NAMES latin1
[mysql] n reset
[mysql] n: SELECT @@character_set_client, @@collation_connection
[mysql] = utf8mb4 | utf8mb4_0900_ai_ci

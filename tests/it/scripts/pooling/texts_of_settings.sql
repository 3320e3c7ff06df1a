# Settings with texts, under SQL modes and character sets in which texts mean something else.
@matrix caps=-DEPRECATE_EOF

# Modes that read quotes and backslashes otherwise.
a: SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'
a: SET lc_time_names = 'de_DE', time_zone = '+03:00'
a: SELECT @@lc_time_names, @@time_zone, @@sql_mode
[mysql] = de_DE | +03:00 | PIPES_AS_CONCAT,ANSI_QUOTES,NO_BACKSLASH_ESCAPES
[mariadb] = de_DE | +03:00 | PIPES_AS_CONCAT,ANSI_QUOTES,NO_BACKSLASH_ESCAPES
a: SET NAMES swe7
a: SELECT @@lc_time_names, @@time_zone
= de_DE | +03:00
a: SET NAMES gbk
a: SET @a = '\xd5\', @b = 2
a: SELECT HEX(@a), @b
= D55C | 2
a: SET sql_mode = ''
a: SELECT HEX(@a), @b, @@sql_mode, @@lc_time_names
= D55C | 2 |  | de_DE
a: SET NAMES utf8mb4
a: SET default_storage_engine = 'MyISAM', lc_messages = 'fr_FR', optimizer_switch = 'index_merge=off'
a: SELECT @@default_storage_engine, @@lc_messages, @@optimizer_switch LIKE 'index_merge=off,%'
= MyISAM | fr_FR | 1
a: SET NAMES big5
a: SELECT @@default_storage_engine, @@lc_messages, @@optimizer_switch LIKE 'index_merge=off,%'
= MyISAM | fr_FR | 1

# Modes of MariaDB's in which an empty text is NULL, and others' dialects.
[mariadb] b: SET sql_mode = 'EMPTY_STRING_IS_NULL'
[mariadb] b: SET @e = CONCAT('a', 'b'), @n = 3
[mariadb] b: SELECT @e, @n, '' IS NULL
[mariadb] = ab | 3 | 1
[mariadb] b: SET old_mode = DEFAULT
[mariadb] b: SELECT @@old_mode, @@sql_mode, @e
[mariadb] = UTF8_IS_UTF8MB3 | EMPTY_STRING_IS_NULL | ab
[mariadb] b: SET sql_mode = ''
[mariadb] b: SELECT @e, '' IS NULL
[mariadb] = ab | 0
[mariadb] b: SET sql_mode = 'ORACLE'
[mariadb] b: SET time_zone = '+01:00'
[mariadb] b: SELECT @@time_zone, @e
[mariadb] = +01:00 | ab
[mariadb] b: SET sql_mode = 'MSSQL'
[mariadb] b: SELECT @@time_zone, @e
[mariadb] = +01:00 | ab
[mariadb] b: SET default_master_connection = 'é{'
[mariadb] b: SET NAMES latin1
[mariadb] b: SELECT HEX(CONVERT(@@default_master_connection USING utf8mb4))
[mariadb] = C3A97B
[mariadb] b: SET sql_mode = DEFAULT

# The character set of the schema, set by hand before another schema is chosen and after.
[mariadb] c: SET character_set_database = latin2
[mariadb] c: SELECT @@character_set_database
[mariadb] = latin2
[mariadb] c: USE information_schema
[mariadb] c: SELECT @@character_set_database
[mariadb] = utf8mb3
[mariadb] c: SET character_set_database = latin2
[mariadb] c: SELECT @@character_set_database
[mariadb] = latin2

# A limit for queries that have none is none for the proxy's questions.
d: SET sql_select_limit = 0
d: SET @x = 5
d: SET sql_select_limit = DEFAULT
d: SELECT @x, @@sql_select_limit
= 5 | 18446744073709551615

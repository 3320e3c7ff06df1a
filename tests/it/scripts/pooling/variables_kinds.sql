# Switches, names, sets and texts among the variables, and what statements make of them.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
a: CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB
a: CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, p INT, FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB

# Foreign keys: off, used, on again.
a: SET foreign_key_checks = 0
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: INSERT INTO c (p) VALUES (5)
a: SELECT @@foreign_key_checks, @@session.foreign_key_checks
= 0 | 0
a: SET foreign_key_checks = ON, unique_checks = OFF
a: INSERT INTO c (p) VALUES (5)
= ERR 1452/23000
a: SELECT @@foreign_key_checks, @@unique_checks
= 1 | 0
a: SET foreign_key_checks = DEFAULT, unique_checks = DEFAULT
a: SELECT @@foreign_key_checks, @@unique_checks
[mysql] = 0 | 0
[mariadb] = 1 | 1
a: SET foreign_key_checks = 2
= ERR 1231/42000
a: SET foreign_key_checks = 'off'
a: SELECT @@foreign_key_checks
= 0

# Safe updates.
b: SET sql_safe_updates = TRUE
b: DELETE FROM c
= ERR 1175/HY000
b: DO SLEEP(0)
b: UPDATE c SET p = NULL WHERE p = 5
b: SET sql_safe_updates = FALSE
b: UPDATE c SET p = NULL
b: SELECT @@sql_safe_updates
= 0

# Notes and warnings that are counted or not.
b: SET sql_notes = 0
b: DROP TABLE IF EXISTS nosuch
b: SET sql_notes = 1
b: DROP TABLE IF EXISTS nosuch
= OK W1
b: SHOW WARNINGS
= Note | 1051 | Unknown table '$DB.nosuch'
b: SET sql_warnings = 1
b: SELECT @@sql_notes, @@sql_warnings
= 1 | 1

# An enumeration by name and by number.
b: SET SESSION default_storage_engine = MyISAM
b: SELECT RELEASE_LOCK('$N.b')
= NULL
b: CREATE TABLE m (id INT)
b: SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'm'
= MyISAM
b: SELECT @@default_storage_engine
= MyISAM
b: SET SESSION default_storage_engine = nosuch
= ERR 1286/42000
b: SET SESSION default_storage_engine = DEFAULT
b: SELECT @@default_storage_engine
= InnoDB
b: SET SESSION block_encryption_mode = 'aes-256-cbc'
[mysql] = OK
[mariadb] = ERR 1193/HY000
b: BEGIN
b: SELECT HEX(AES_ENCRYPT('text', 'key', REPEAT('i', 16)))
[mysql] = 091BB230357B5CD8943D39D76A81F20C
[mariadb] = ERR 1582/42000
b: COMMIT
b: SELECT @@block_encryption_mode
[mysql] = aes-256-cbc
[mariadb] = ERR 1193/HY000
b: SET SESSION completion_type = 1
b: SELECT @@completion_type
= CHAIN
b: SET SESSION completion_type = DEFAULT
b: SELECT @@completion_type
= NO_CHAIN

# A set as text, as a number, out of itself, and empty.
d: SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'
d: SELECT 1
= 1
d: SELECT "id", 'a' || 'b' FROM p
= empty
d: SELECT @@sql_mode
= PIPES_AS_CONCAT,ANSI_QUOTES
d: SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_ZERO_DATE')
[mysql] = OK W1
[mariadb] = OK
d: SELECT @@sql_mode
= PIPES_AS_CONCAT,ANSI_QUOTES,NO_ZERO_DATE
d: SET SESSION sql_mode = 4
d: SELECT @@sql_mode
= ANSI_QUOTES
d: SET SESSION sql_mode = ''
d: SELECT @@sql_mode = '', "text", 'a' || 'b'
[mysql] = 1 | text | 0 W3
[mariadb] = 1 | text | 0 W2
d: SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT 'a\nb', LENGTH('a\nb')
= a\nb | 4
d: SET SESSION sql_mode = 'ANSI'
d: SELECT @@sql_mode
[mysql] = REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI
[mariadb] = REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI
d: SET SESSION sql_mode = 'nosuch'
= ERR 1231/42000
d: SET SESSION sql_mode = DEFAULT
d: SELECT @@sql_mode = @@global.sql_mode
= 1
d: SET sql_mode = 'IGNORE_SPACE'
d: SELECT COUNT (*) FROM p
= 0
d: SET sql_mode = ''
d: SELECT COUNT (*) FROM p
= ERR 1064/42000
d: SET sql_mode = 'STRICT_ALL_TABLES'
[mysql] = OK W1
[mariadb] = OK
d: INSERT INTO p VALUES ('abc')
[mysql] = ERR 1366/HY000
[mariadb] = ERR 1366/22007
d: SET sql_mode = ''
d: INSERT INTO p VALUES ('abc')
= OK W1
d: DELETE FROM p
d: SET sql_mode = 'ONLY_FULL_GROUP_BY'
d: SELECT p, COUNT(*) FROM c
= ERR 1140/42000
d: SET sql_mode = ''
d: SELECT COUNT(*) > 0 FROM c
= 1

# The optimizer's switches, of which one statement changes one.
d: SET SESSION optimizer_switch = 'index_merge=off,mrr=on'
d: SELECT 1
= 1
d: SET SESSION optimizer_switch = 'mrr=off'
d: SELECT @@optimizer_switch LIKE '%index_merge=off%', @@optimizer_switch LIKE '%mrr=off%'
= 1 | 1
d: SET SESSION optimizer_switch = 'nosuch=on'
= ERR 1231/42000
d: SET SESSION optimizer_switch = DEFAULT
d: SELECT @@optimizer_switch = @@global.optimizer_switch
= 1

# Time zones and languages.
e: SET time_zone = '+05:30'
e: SELECT FROM_UNIXTIME(0), @@time_zone
= 1970-01-01 05:30:00 | +05:30
e: SET lc_time_names = 'de_AT'
e: SELECT RELEASE_ALL_LOCKS()
= 0
e: SELECT DATE_FORMAT('2024-03-01', '%M %W'), HEX(DATE_FORMAT('2024-03-01', '%M')), @@lc_time_names
= März Freitag | 4DC3A4727A | de_AT
e: SET lc_messages = 'de_DE'
e: SELECT nosuch
= ERR 1054/42S22
e: DO 1
e: SELECT * FROM nosuch
= ERR 1146/42S02
e: SELECT @@lc_messages
= de_DE
e: SET lc_messages = 'xx_XX'
= ERR 1649/HY000
e: SET lc_messages = DEFAULT
e: SELECT nosuch
= ERR 1054/42S22
e: SET time_zone = '-13:59'
[mysql] = OK
[mariadb] = ERR 1298/HY000
e: SELECT FROM_UNIXTIME(86400)
[mysql] = 1970-01-01 10:01:00
[mariadb] = 1970-01-02 05:30:00
e: SET time_zone = 'no/such'
= ERR 1298/HY000
e: SELECT @@time_zone
[mysql] = -13:59
[mariadb] = +05:30
e: SET time_zone = DEFAULT
e: SELECT @@time_zone = @@global.time_zone
= 1

@end shuffled
# The last inserted row as what IS NULL finds.
f: SET sql_auto_is_null = 1
f: INSERT INTO c (p) VALUES (NULL)
f: SELECT id > 0 FROM c WHERE id IS NULL
= 1
f: SELECT id > 0 FROM c WHERE id IS NULL
[mysql] = 1
[mariadb] = empty
f: SELECT @@sql_auto_is_null
= 1
f: SET sql_auto_is_null = 0
f: INSERT INTO c (p) VALUES (NULL)
f: SELECT id > 0 FROM c WHERE id IS NULL
= empty

# How definitions are shown.
f: SET sql_quote_show_create = 0
f: SELECT GET_LOCK('$N.f', 0)
= 1
f: SHOW CREATE TABLE p
[mysql] = p | CREATE TABLE p (\x0a  id int NOT NULL,\x0a  PRIMARY KEY (id)\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
[mariadb] = p | CREATE TABLE p (\x0a  `id` int(11) NOT NULL,\x0a  PRIMARY KEY (`id`)\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
f: SET sql_quote_show_create = 1
f: SHOW CREATE TABLE p
[mysql] = p | CREATE TABLE `p` (\x0a  `id` int NOT NULL,\x0a  PRIMARY KEY (`id`)\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
[mariadb] = p | CREATE TABLE `p` (\x0a  `id` int(11) NOT NULL,\x0a  PRIMARY KEY (`id`)\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci

# Forms in which a call is easily overlooked: b sees whose lock it is.
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.t VALUES (1,1)
@setup CREATE PROCEDURE $DB.p(a INT) SELECT a
@setup CREATE EVENT $DB.e ON SCHEDULE EVERY 1 DAY DO SELECT 1
[mariadb] a prepare q : SELECT mariadb_schema.GET_LOCK(?,?)
# MariaDB's schemas of its own functions. On MySQL they are schemas like any other.
a: SELECT mariadb_schema.GET_LOCK('$Nk',0)
[mysql] = ERR 1370/42000
[mariadb] = 1
b: SELECT IS_USED_LOCK('$Nk')
[mariadb] = <a>
a: SELECT `mariadb_schema`.`GET_LOCK`('$Nk',0) AS x
a: SELECT oracle_schema . /* c */ get_lock ('$Nk',0), 1 + maxdb_schema.RELEASE_LOCK('$Nk')
[mariadb] = 1 | 2
a: SELECT MARIADB_SCHEMA.GET_LOCK('$Nother',0)
a: SELECT mysql.GET_LOCK('$Nother',0)
a: SELECT .GET_LOCK('$Nother',0)
a: SELECT a.mariadb_schema.GET_LOCK('$Nother',0)
a: SELECT {fn mariadb_schema.IS_USED_LOCK('$Nk')}
a: DO mariadb_schema.GET_LOCK(mariadb_schema.CONCAT('$N','k'),0)
a: SET @a=mariadb_schema.GET_LOCK('$Nk',0)
a: INSERT INTO t VALUES (2,mariadb_schema.GET_LOCK('$Nk',0))
b: SELECT IS_USED_LOCK('$Nk'), IS_USED_LOCK('$Nother')
[mysql] = NULL | NULL
[mariadb] = <a> | NULL
a: SELECT mariadb_schema.RELEASE_ALL_LOCKS()
a: SELECT RELEASE_ALL_LOCKS()
= 0
[mariadb] a: EXECUTE IMMEDIATE 'SELECT mariadb_schema.GET_LOCK(''$Nk'',0)'
[mariadb] = 1
[mariadb] a: SET STATEMENT max_statement_time=9 FOR SELECT mariadb_schema.GET_LOCK('$Nk',0)
[mariadb] = 1
[mariadb] a execute q '$Nk' 0
[mariadb] = 1
[mariadb] a: SELECT RELEASE_ALL_LOCKS()
[mariadb] = 3
# In swe7 brackets and braces are letters, and a backtick is one in the name of a variable.
a: SET NAMES swe7
a: SELECT @a`, GET_LOCK('$Nk',0), @b`
= NULL | 1 | NULL
a: SET @a`=1, @b=GET_LOCK('$Nk',0), @c`=2
= OK
a: SELECT {fn GET_LOCK('$Nother',0)}
= ERR 1064/42000
a: SELECT [GET_LOCK('$Nother',0)
= ERR 1305/42000
a: SELECT 1 AS {, GET_LOCK('$Nk',0)
= 1 | 1
a: SELECT @@version_comment <> '`', GET_LOCK('$Nk',0), '`'
= 1 | 1 | `
b: SELECT IS_USED_LOCK('$Nk'), IS_USED_LOCK('$Nother')
= <a> | NULL
a: SELECT RELEASE_ALL_LOCKS()
= 4
[mariadb] a: SET sql_mode=MSSQL
[mariadb] a: SELECT 1 AS [, GET_LOCK('$Nk',0) AS ]
[mariadb] = 1 | 1
[mariadb] a: SELECT [GET_LOCK]('$Nother',0)
[mariadb] = ERR 1305/42000
[mariadb] b: SELECT IS_USED_LOCK('$Nk'), IS_USED_LOCK('$Nother')
[mariadb] = <a> | NULL
[mariadb] a: SET sql_mode=DEFAULT
[mariadb] a: SELECT RELEASE_ALL_LOCKS()
[mariadb] = 1
a: SET NAMES utf8mb4
# In the definition of a table the server refuses calls.
a: CREATE TABLE r (a INT CHECK (GET_LOCK('$Nk',0)))
a: CREATE TABLE r (a INT, CHECK (GET_LOCK('$Nk',0) = 1))
a: CREATE TABLE r (a INT, KEY ((a + GET_LOCK('$Nk',0))))
a: CREATE TABLE r (a INT DEFAULT (IS_USED_LOCK('$Nk')))
a: CREATE TABLE r (a INT, b INT AS (RELEASE_ALL_LOCKS()))
a: CREATE INDEX i ON t ((id + GET_LOCK('$Nk',0)))
a: ALTER TABLE t ADD KEY ((id + RELEASE_LOCK('$Nk')))
a: ALTER TABLE t ALTER COLUMN v SET DEFAULT (GET_LOCK('$Nk',0))
a: ALTER TABLE t ADD CHECK (IS_FREE_LOCK('$Nk') = 1)
b: SELECT IS_USED_LOCK('$Nk')
= NULL
# The schedule of an event is evaluated when it is defined, settings and the bounds of a loop at once.
a: ALTER EVENT e ON SCHEDULE EVERY GET_LOCK('$Ne',0)+1 DAY
~ ERR 1235/42000
a: CREATE EVENT e2 ON SCHEDULE EVERY 1 DAY STARTS CURRENT_TIMESTAMP + INTERVAL GET_LOCK('$Ne',0) DAY DO SELECT 1
~ ERR 1235/42000
a: CREATE EVENT e3 ON SCHEDULE EVERY 1 DAY DO SELECT GET_LOCK('$Ne',0)
[mariadb] a: SET STATEMENT max_statement_time=GET_LOCK('$Ne',0) FOR SELECT GET_LOCK('$Ne',0)
[mariadb] = 1
[mariadb] ~ ERR 1235/42000
[mariadb] a: FOR i IN 1..GET_LOCK('$Ne',0) DO SELECT i; END FOR
[mariadb] ~ ERR 1235/42000
[mariadb] a: CREATE TABLE r (a INT) PARTITION BY SYSTEM_TIME INTERVAL GET_LOCK('$Ne',0) DAY
[mariadb] = ERR 4124/HY000
[mariadb] ~ ERR 1235/42000

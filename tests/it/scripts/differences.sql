# What docs/differences-reference.md says of answers: = is the server's answer, ~ the proxy's.
@session a
@session b caps=-MARIADB_CACHE_METADATA
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY, name VARCHAR(20))
@setup INSERT INTO $DB.jobs VALUES (1,'$Nk'),(2,'$Nl')
b prepare n : SELECT GET_LOCK('$N\xc3\xa8',0)
[mariadb] b prepare r : SELECT RELEASE_ALL_LOCKS() + 1
# Locks of tables and of names in one circle.
a: SELECT GET_LOCK('$Ncircle',0)
= 1
b: LOCK TABLES jobs WRITE
a!: SELECT COUNT(*) FROM jobs
b: SELECT GET_LOCK('$Ncircle',1)
= 0
b: UNLOCK TABLES
a?
= ERR 1213/40001
~ 2
a: DO RELEASE_ALL_LOCKS()
# State that a question of the proxy changes.
[mariadb] a: SELECT 1 UNION SELECT 2
[mariadb] a: DO GET_LOCK('$N\xc3\xa9',0)
[mariadb] a: SELECT FOUND_ROWS()
[mariadb] = 2
[mariadb] ~ 1
a: UPDATE jobs SET name='x' WHERE id=1
a: SELECT ROW_COUNT(), "it\"s GET_LOCK('k',0)"
= 1 | it"s GET_LOCK('k',0)
~ -1 | it"s GET_LOCK('k',0)
# Names in a wide character set: its server compares bytes, up to the first zero.
[mariadb] a: SET collation_connection=utf16_general_ci
[mariadb] a: DO GET_LOCK('$Nwide',0)
[mariadb] a: SET NAMES utf8mb4
[mariadb] a: SELECT IS_USED_LOCK('$Nwide') IS NULL
[mariadb] = 1
[mariadb] ~ 0
[mariadb] a: DO RELEASE_ALL_LOCKS()
# Names in bytes of no character set, which the server reads as a wide one.
[mysql] a: SET NAMES binary
[mysql] a: SET collation_connection=utf16_bin
[mysql] a: DO GET_LOCK('$Nbinary',0)
[mysql] a: SET NAMES utf8mb4
[mysql] a: SELECT IS_USED_LOCK('$Nbinary') IS NULL
[mysql] = 1
[mysql] ~ 0
[mysql] a: DO RELEASE_ALL_LOCKS()
# Types.
[mysql] a: SELECT JSON_ARRAY(GET_LOCK('$Njson',0))
[mysql] = [1]
[mysql] ~ [true]
[mariadb] b execute r
[mariadb] = 1
[mariadb] ~ 1
# The name of a column that was prepared in another character set of results.
b: SET character_set_results=latin1
b execute n
= 1
~ 1
# Warnings of what is not run again.
[mysql] a: SELECT GET_LOCK(@x:='$Nw',0), 2
[mysql] = 1 | 2 W1
[mysql] ~ 1 | 2

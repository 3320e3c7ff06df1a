# Where the text of a named statement comes from, and what may stand around it.
@session a
@session b
@session m caps=+MULTI_STATEMENTS
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY)
a: SET @x = CONVERT('SELECT GET_LOCK(''$Nwide'',0)' USING utf16)
a: PREPARE s FROM @x
= OK
a: EXECUTE s
= 1
b: SELECT IS_USED_LOCK('$Nwide')
= <a>
a: SET @x.y = 'SELECT GET_LOCK(''$Ndots'',0)'
a: PREPARE s FROM @x.y
= OK
a: EXECUTE s
= 1
b: SELECT IS_USED_LOCK('$Ndots')
= <a>
a: \x0bPREPARE s FROM 'SELECT IS_USED_LOCK(?)=CONNECTION_ID()'
a: SET @dots.k = '$Ndots'
a: \x0bEXECUTE s USING @dots.k
= 1
# After USING only a variable may follow; the server refuses anything else.
[mysql] a: EXECUTE s USING @dots.k + 1
[mysql] = ERR 1064/42000
[mysql] a: EXECUTE s USING @@version
[mysql] = ERR 1064/42000
# In MySQL what the statement before has left is gone by then.
a: PREPARE s FROM 'SELECT @@warning_count, @@error_count, IS_FREE_LOCK(?)'
a: SELECT CAST('x' AS SIGNED)
a: EXECUTE s USING @dots.k
# Longer than a question's answer may be.
a: SET @x = CONCAT('SELECT ', REPEAT(' ', 3000000), '5')
a: PREPARE s FROM @x
= OK
a: EXECUTE s
= 5
# Beside other statements.
m: SET @x='SELECT GET_LOCK(''$Nddl'',0)'; CREATE TEMPORARY TABLE c (id INT); PREPARE s FROM @x; ALTER TABLE jobs COMMENT 'x'; EXECUTE s
= OK; OK; OK; OK; 1
b: SELECT IS_USED_LOCK('$Nddl')
= <m>
m: /*!40101 SET @x='SELECT GET_LOCK(''$Nversion'',0)' */; PREPARE s FROM @x; /*!50000 EXECUTE s */
= OK; OK; 1
b: SELECT IS_USED_LOCK('$Nversion')
= <m>
m: DO 1; \x0bEXECUTE s
= OK; 1
m: SELECT RELEASE_ALL_LOCKS()
= 3
# A statement that limits rows may come from a variable too.
a: SET @x = CONCAT('SET sql_select', '_limit=0')
a: PREPARE s FROM @x
a: EXECUTE s
a: SELECT GET_LOCK('$Nlimit',0)
a: SET sql_select_limit=DEFAULT
a: SELECT IS_FREE_LOCK('$Nlimit')
= 1
# White space of latin1, which is half a letter in UTF-8.
a: SET NAMES latin1
a: SELECT\xa0GET_LOCK\xa0('$Nspace',\xa00)
= 1
b: SELECT IS_USED_LOCK('$Nspace')
= <a>
a: \xa0PREPARE\xa0s\xa0FROM 'SELECT RELEASE_LOCK(?)'
= OK
a: SET @n='$Nspace'
a: EXECUTE\xa0s\xa0USING @n
= 1
a: SELECT GET_LOCK('$N\xe0\xa0x',0)\xa0+ 1
= 2

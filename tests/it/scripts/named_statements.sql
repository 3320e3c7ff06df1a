# Lock calls in statements that are prepared under a name.
@session a
@session b
@session o caps=-DEPRECATE_EOF
@session m caps=+MULTI_STATEMENTS
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY, owner BIGINT, state VARCHAR(20))
@setup INSERT INTO $DB.jobs VALUES (1,0,'new'),(2,0,'new')
a: SET @n = '$Nvar', @t = 0, @l = 1, @null = NULL, @num = 77
a: PREPARE s FROM 'SELECT GET_LOCK(?,?)'
= OK
a: EXECUTE s USING @n, @t
= 1
b: SELECT IS_USED_LOCK('$Nvar')
= <a>
a: EXECUTE S USING @n, @t
= 1
a: PREPARE r FROM 'SELECT RELEASE_LOCK(?) AS gone'
a: EXECUTE r USING @n
= 1
a: EXECUTE `r` USING @n
= 1
a: EXECUTE r USING @n
= NULL
a: EXECUTE s USING @n
= ERR 1210/HY000
a: EXECUTE s
= ERR 1210/HY000
a: EXECUTE s USING @n, @t, @t
= ERR 1210/HY000
b: SELECT IS_FREE_LOCK('$Nvar')
= 1
a: EXECUTE s USING @null, @t
a: SHOW WARNINGS
a: EXECUTE s USING @num, @t
a: SELECT RELEASE_ALL_LOCKS()
a: EXECUTE s USING @n, @null
a: SHOW WARNINGS
a: SELECT RELEASE_ALL_LOCKS()
# The text is in a variable.
a: SET @sql = "SELECT GET_LOCK('$Nfrom', 0) AS got, IS_USED_LOCK('$Nfrom') = CONNECTION_ID() mine"
a: PREPARE v FROM @sql
= OK
a: SET @sql = 'SELECT 1'
a: EXECUTE v
= 1 | 1
b: SELECT GET_LOCK('$Nfrom', 0)
= 0
o: SET @sql = "DO RELEASE_ALL_LOCKS()", @`a b` = 'SELECT IS_USED_LOCK(?) = CONNECTION_ID(), ?', @k = '$Nfrom', @x = 5
o: PREPARE v FROM @sql
o: EXECUTE v
= OK
o: PREPARE v FROM @`a b`
o: EXECUTE v USING @k, @x
o: PREPARE v FROM @'sql'
o: EXECUTE v
= OK
o: PREPARE v FROM @nosuch
= ERR 1064/42000
o: EXECUTE v
= ERR 1243/HY000
o: DEALLOCATE PREPARE v
= ERR 1243/HY000
# A name is used again, and given up.
a: PREPARE s FROM 'SELECT 5'
= OK
a: EXECUTE s
= 5
a: PREPARE s FROM 'SELECT GET_LOCK(?,0), nosuch'
= ERR 1054/42S22
a: EXECUTE s USING @n
= ERR 1243/HY000
a: PREPARE s FROM 'SELECT GET_LOCK(?,0), ?'
a: DEALLOCATE PREPARE s
= OK
a: EXECUTE s USING @n, @n
= ERR 1243/HY000
a: PREPARE s FROM 'SELECT GET_LOCK(?)'
= ERR 1582/42000
a: PREPARE s FROM 'SELECT GET_LOCK(1,0); SELECT 1'
= ERR 1064/42000
a: PREPARE s FROM 'PREPARE t FROM "SELECT GET_LOCK(1,0)"'
= ERR 1295/HY000
a: PREPARE s FROM 'SELECT "GET_LOCK(1,1)"'
a: EXECUTE s
= GET_LOCK(1,1)
a: DROP PREPARE s
= OK
b: SELECT IS_FREE_LOCK('$Nvar')
= 1
# Values that stay the server's own.
a: PREPARE s FROM 'SELECT GET_LOCK(?, ?) AS got, ? AS x, CONCAT(?, \'-\', "it\'s", \'\\\\\') y LIMIT ?'
= OK
a: EXECUTE s USING @n, @t, @num, @n, @l
a: SHOW WARNINGS
a: SELECT FOUND_ROWS(), ROW_COUNT()
a: EXECUTE s USING @n, @t, @num, @null, @l
a: SELECT RELEASE_ALL_LOCKS()
a: PREPARE i FROM 'INSERT INTO jobs VALUES (?, GET_LOCK(?,0), ?)'
a: SET @id = 10, @st = 'taken'
a: EXECUTE i USING @id, @n, @st
= OK
a: SELECT ROW_COUNT()
= 1
a: EXECUTE i USING @id, @n, @st
= ERR 1062/23000
a: PREPARE u FROM 'UPDATE jobs SET state=?, owner=IS_USED_LOCK(?) WHERE id=? AND IS_USED_LOCK(?) = CONNECTION_ID()'
a: EXECUTE u USING @st, @n, @l, @n
a: SELECT id, owner=CONNECTION_ID(), state FROM jobs ORDER BY id
= 1 | 1 | taken; 2 | 0 | new; 10 | 0 | taken
a: PREPARE q FROM 'SELECT id, IS_FREE_LOCK(?), state FROM jobs WHERE id < ? ORDER BY id'
a: EXECUTE q USING @n, @id
= 1 | 0 | taken; 2 | 0 | new
o: PREPARE q FROM 'SELECT IS_FREE_LOCK(?), ? FROM DUAL'
o: SET @f = 1.50, @d = TIMESTAMP'2024-01-02 03:04:05'
o: EXECUTE q USING @k, @f
o: PREPARE q FROM 'SELECT IS_FREE_LOCK(?), ? FROM DUAL'
o: EXECUTE q USING @k, @d
a: PREPARE c FROM 'SET @got = GET_LOCK(?, ?)'
a: EXECUTE c USING @n, @t
a: SELECT @got
= 1
a: PREPARE c FROM 'SELECT GET_LOCK(?, 0) INTO @got'
a: EXECUTE c USING @n
a: PREPARE c FROM 'SELECT IF(?, GET_LOCK(?,0), -1), COALESCE(RELEASE_LOCK(?), -5)'
a: EXECUTE c USING @l, @n, @n
= 1 | 1
a: EXECUTE c USING @t, @n, @n
= -1 | 1
a: PREPARE c FROM 'EXPLAIN SELECT GET_LOCK(?,0)'
a: SET @other = '$Nother'
a: EXECUTE c USING @other
b: SELECT IS_FREE_LOCK('$Nother')
= 1
a: SELECT RELEASE_ALL_LOCKS()
# Waits, and how they end.
a: SELECT GET_LOCK('$Nw',0)
= 1
b: SET @w = '$Nw', @s = 9, @short = 1
b: PREPARE w FROM 'SELECT GET_LOCK(?,?), ?'
b~1000: EXECUTE w USING @w, @short, @w
= 0 | $Nw
b!: EXECUTE w USING @w, @s, @w
a: SELECT RELEASE_LOCK('$Nw')
= 1
b?
= 1 | $Nw
b: SELECT RELEASE_ALL_LOCKS()
= 1
# Several statements in one text.
m: SET @sql='SELECT GET_LOCK(\'$Nmulti\', 0)'; PREPARE s FROM @sql; EXECUTE s; SELECT IS_USED_LOCK('$Nmulti')=CONNECTION_ID(); DEALLOCATE PREPARE s
= OK; OK; 1; 1; OK
b: SELECT IS_USED_LOCK('$Nmulti')
= <m>
m: PREPARE s FROM 'DO RELEASE_ALL_LOCKS()'; SELECT 1; /* now */ EXECUTE s; EXECUTE s
= OK; 1; OK; OK
b: SELECT IS_FREE_LOCK('$Nmulti')
= 1
m: EXECUTE s; EXECUTE nosuch; SELECT 1
= OK; ERR 1243/HY000
m: /* x */ PREPARE s FROM /* y */ 'SELECT GET_LOCK(\'$Nc\',0)' -- z
= OK
m: /* x */ execute s # y
= 1
m: /*!50000 EXECUTE s */
= 1
m: SELECT RELEASE_ALL_LOCKS()
= 2
# They end with the session's state, not with its locks.
m reset
= OK
m: EXECUTE s
= ERR 1243/HY000
m: PREPARE s FROM "SELECT GET_LOCK('$Nansi',0)"
m: EXECUTE s
= 1
m: SET sql_mode=CONCAT(@@sql_mode,',ANSI_QUOTES')
m: PREPARE t FROM "SELECT GET_LOCK('$Nansi',0)"
[mysql] = ERR 1064/42000
[mariadb] = ERR 1054/42S22
m: PREPARE t FROM 'SELECT GET_LOCK(''$Nansi'',0) AS "x"'
m: EXECUTE t
= 1
m: SET sql_mode='NO_BACKSLASH_ESCAPES', @q='\', @n='$Nansi'
m: PREPARE t FROM 'SELECT GET_LOCK(?,0), ''\'', ?'
m: EXECUTE t USING @n, @q
m: SELECT RELEASE_ALL_LOCKS()
# A table goes and comes back.
a: PREPARE z FROM 'SELECT id FROM jobs WHERE IS_FREE_LOCK(?) AND id = ?'
a: SET @z='$Nz'
a: EXECUTE z USING @z, @l
= 1
a: RENAME TABLE jobs TO gone
a: EXECUTE z USING @z, @l
= ERR 1146/42S02
a: RENAME TABLE gone TO jobs
a: EXECUTE z USING @z, @l
= 1
a changeuser db=none
= OK
a: EXECUTE z USING @z, @l
= ERR 1243/HY000

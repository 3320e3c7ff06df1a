# Calls inside larger statements: not covered by the proxy yet.
a: SELECT GET_LOCK('$Nk',0) FOR UPDATE
a: SELECT GET_LOCK('$Nk',0) + 0
= 1
a: SELECT GET_LOCK('$Nk',0) = 1
= 1
a: SELECT GET_LOCK('$Nk',0) IS TRUE
= 1
a: SELECT IF(GET_LOCK('$Nk',0), 'yes', 'no')
= yes
a: SELECT GET_LOCK('$Nk',0), GET_LOCK('$Nl',0)
= 1 | 1
a: SELECT GET_LOCK('$Nm',0), GET_LOCK(NULL,0)
[mysql] = ERR 3057/42000
[mariadb] = 1 | NULL
b: SELECT IS_USED_LOCK('$Nm')
= <a>
a: SELECT GET_LOCK(NULL,GET_LOCK('$Nz',0))
b: SELECT IS_USED_LOCK('$Nz')
= <a>
a: SET @x = GET_LOCK('$Nk',0)
= OK
a: SELECT @x
= 1
a: SELECT GET_LOCK('$Nk',0) INTO @y
= OK
a: SELECT ROW_COUNT(), @y
a: SELECT GET_LOCK(CONCAT('$N','c'),0)
= 1
a: SET @name = '$Nvar'
a: SELECT GET_LOCK(@name,0)
= 1
a: SELECT GET_LOCK('$Nk',(SELECT 0))
= 1
a: PREPARE s FROM 'SELECT GET_LOCK(?,?)'
a: SET @t = 0
a: EXECUTE s USING @name, @t
= 1
a: SELECT RELEASE_ALL_LOCKS()

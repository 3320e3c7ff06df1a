# Lock calls whose value goes into a variable.
@matrix caps=-DEPRECATE_EOF
a: SET @v = GET_LOCK('$Na',0)
= OK
a: SELECT @v, ROW_COUNT()
= 1 | 0
b: SELECT IS_USED_LOCK('$Na')
= <a>
a: SET @v := GET_LOCK('$Nb',0)
= OK
a: SELECT ROW_COUNT(), @v, FOUND_ROWS()
[mysql] = 0 | 1 | 1 W1
[mariadb] = 0 | 1 | 1
a: SET @x = GET_LOCK('$Nc',0), @y = IS_USED_LOCK('$Nc')=CONNECTION_ID(), @z = RELEASE_LOCK('$Nnone'), @w = 'plain'
= OK
a: SELECT @x, @y, @z, @w
= 1 | 1 | NULL | plain
b: SET @v = GET_LOCK('$Na',0), @u = IS_USED_LOCK('$Nb')
= OK
b: SELECT @v, @u=$ID(a)
= 0 | 1
b: SET @v = @v + 1, @f = IS_FREE_LOCK('$Nc') OR IS_FREE_LOCK('$Nd')
= OK
b: SELECT @v, @f
= 1 | 1
a: SET @v = RELEASE_ALL_LOCKS()
= OK
a: SELECT @v
= 3
# The variables keep what the call gives: type and NULL.
a: SET @r = RELEASE_LOCK('$Nnone'), @u = IS_USED_LOCK('$Nnone'), @n = RELEASE_ALL_LOCKS(), @g = GET_LOCK('$Na',0)
= OK
a: SELECT @r, @u, @n, @g
= NULL | NULL | 0 | 1
a: SELECT @r IS NULL, @n+1, CONCAT(@g,'x'), @g/2
= 1 | 1 | 1x | 0.5000
a: CREATE TABLE v AS SELECT @g AS g, @n AS n, @u AS u
= OK
a: SHOW CREATE TABLE v
[mysql] = v | CREATE TABLE `v` (\x0a  `g` bigint DEFAULT NULL,\x0a  `n` bigint unsigned DEFAULT NULL,\x0a  `u` bigint DEFAULT NULL\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
[mariadb] = v | CREATE TABLE `v` (\x0a  `g` bigint(20) DEFAULT NULL,\x0a  `n` bigint(20) unsigned DEFAULT NULL,\x0a  `u` bigint(20) DEFAULT NULL\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
a: SET @r = IF(GET_LOCK('$Nb',0),'got it','busy'), @s = (SELECT IS_FREE_LOCK('$Nb'))
= OK
b: SET @r = IF(GET_LOCK('$Nb',0),'got it','busy')
= OK
a: SELECT @r, @s
= got it | 0
b: SELECT @r
= busy
# Bad names.
a: SET @v = 'old'
= OK
a: SET @v = GET_LOCK(NULL,0)
[mysql] = ERR 3057/42000
[mariadb] = OK
a: SELECT @v
[mysql] = old
[mariadb] = NULL
a: SHOW WARNINGS
= empty
a: SET @a = GET_LOCK('$Nc',0), @b = GET_LOCK('',0), @c = GET_LOCK('$Nd',0)
[mysql] = ERR 3057/42000
[mariadb] = OK
a: SELECT @a, @b, @c
[mysql] = NULL | NULL | NULL
[mariadb] = 1 | NULL | 1
b: SELECT IS_USED_LOCK('$Nc'), IS_USED_LOCK('$Nd')
[mysql] = <a> | NULL
[mariadb] = <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 3
[mariadb] = 4
# SELECT INTO.
a: SELECT GET_LOCK('$Na',0) INTO @i
= OK
a: SELECT ROW_COUNT(), @i
= 1 | 1
a: SELECT GET_LOCK('$Nb',0), 'second' INTO @i, @j
= OK
a: SELECT @i, @j, ROW_COUNT()
= 1 | second | 1
a: SELECT IS_USED_LOCK('$Na')=CONNECTION_ID(), RELEASE_LOCK('$Na'), RELEASE_LOCK('$Na') INTO @i, @j, @k
= OK
a: SELECT @i, @j, @k
= 1 | 1 | NULL
a: SELECT GET_LOCK('$Nc',0) INTO @i FROM DUAL WHERE 1=0
= OK W1
a: SELECT @i, @@warning_count
= 1 | 1
a: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1329 | No data - zero rows fetched, selected, or processed
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc')
= NULL | <a> | NULL
a: SELECT GET_LOCK('$Nc',0) INTO @i, @j
= ERR 1222/21000
b: SELECT IS_USED_LOCK('$Nc')
= NULL
a: SELECT GET_LOCK(NULL,0) INTO @i
[mysql] = ERR 3057/42000
[mariadb] = OK
a: SELECT @i
[mysql] = 1
[mariadb] = NULL
a: SELECT RELEASE_ALL_LOCKS() INTO @i
= OK
a: SELECT @i
= 1
# := in a select list.
a: SELECT @v := GET_LOCK('$Na',0)
[mysql] = 1 W1
[mariadb] = 1
a: SHOW WARNINGS
[mysql] = Warning | 1287 | Setting user variables within expressions is deprecated and will be removed in a future release. Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.
[mariadb] = Error | 1222 | The used SELECT statements have a different number of columns
a: SELECT RELEASE_ALL_LOCKS()
= 1

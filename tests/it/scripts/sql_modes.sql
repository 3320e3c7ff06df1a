# Modes of the session that change what a text means, and the flags that report them.
@also over_tls
@matrix caps=-DEPRECATE_EOF
a: SELECT GET_LOCK("$Nk",0)
= 1
a: SELECT "GET_LOCK"('$Nk',0)
= ERR 1064/42000
a: SET SESSION sql_mode = 'ANSI_QUOTES'
a: SELECT GET_LOCK("$Nk",0)
= ERR 1054/42S22
a: SELECT "GET_LOCK"('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk',0) AS "x y"
= 1
a: SELECT GET_LOCK('$N"GET_LOCK(''x'',0)"',0)
= 1
a: DO GET_LOCK('$Nk',0)
a: SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk\',0)
= 1
a: SELECT GET_LOCK('$Nk\'',0)
= ERR 1064/42000
a: SELECT GET_LOCK('$N\\',0)
= 1
a: SELECT GET_LOCK('$N\0x',0)
= 1
a: DO GET_LOCK('$Nk',0)
a: SET SESSION sql_mode = ''
b: SELECT IS_USED_LOCK('$Nk\\')
= <a>
b: SELECT IS_USED_LOCK('$N\\\\')
= <a>
b: SELECT IS_USED_LOCK('$N\\0x')
= <a>
a: SET SESSION sql_mode = 'ANSI'
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT "get_lock" ('$Nk',0)
= 1
a: SET SESSION sql_mode = 'IGNORE_SPACE'
a: SELECT GET_LOCK ('$Nk',0)
= 1
a: SET SESSION sql_mode = 'PIPES_AS_CONCAT'
a: SELECT GET_LOCK('$Nk',0)
[mariadb] a: SET SESSION sql_mode = 'ORACLE'
[mariadb] a: SELECT GET_LOCK('$Nk',0)
[mariadb] = 1
[mariadb] a: SELECT GET_LOCK("$Nk",0)
[mariadb] a: SELECT GET_LOCK('',0)
[mariadb] a: SELECT GET_LOCK('$Nk',0) FROM dual
[mariadb] a: SET SESSION sql_mode = 'MSSQL'
[mariadb] a: SELECT GET_LOCK('$Nk',0)
[mariadb] a: SET SESSION sql_mode = 'EMPTY_STRING_IS_NULL'
[mariadb] a: SELECT GET_LOCK('',0)
a: SET SESSION sql_mode = DEFAULT
a: SELECT GET_LOCK('$Nk',0)
= 1
a: SET SESSION sql_mode = CONCAT('ANSI_','QUOTES')
a: SELECT GET_LOCK("$Nk",0)
= ERR 1054/42S22
a reset
a: SELECT GET_LOCK("$Nk",0)
= 1
# Set inside a routine: undone at its end.
a: CREATE PROCEDURE quotes() SET SESSION sql_mode = 'ANSI_QUOTES'
a: SET SESSION sql_mode = ''
a: CALL quotes()
a: SET SESSION sql_mode = ''
a: SELECT GET_LOCK("$Nk",0)
= 1
# Other variables that touch a call or its answer.
a: SET SESSION lock_wait_timeout = 1
b!: SELECT GET_LOCK('$Nk',20)
a: DO SLEEP(0)
a: SELECT RELEASE_ALL_LOCKS()
b?
= 1
a: SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1
a~2000: SELECT GET_LOCK('$Nk',2)
= 0
a: SELECT IS_FREE_LOCK('$Nz')
a: SET SESSION max_error_count = 0
a: SELECT GET_LOCK('$Nz','abc')
a: SET SESSION max_error_count = DEFAULT
a: SET SESSION sql_notes = 0
a: SELECT GET_LOCK('$Nz','1 ')
a: SET SESSION sql_warnings = 1
a: DO GET_LOCK('$Nz','abc')
a: SET SESSION sql_auto_is_null = 1
a: SELECT GET_LOCK('$Nz',0)
# Brackets quote names.
[mariadb] a: SET sql_mode='MSSQL'
[mariadb] a: SELECT [GET_LOCK]('$Nbr',0)
[mariadb] = 1
[mariadb] b: SELECT IS_USED_LOCK('$Nbr')
[mariadb] = <a>
[mariadb] a: SELECT RELEASE_LOCK('$Nbr') AS [it's]
[mariadb] = 1
[mariadb] a: SELECT 1 AS [it's GET_LOCK(]
[mariadb] = 1
[mariadb] a: SET sql_mode=''

# Names that are no characters, without a strict mode.
a: SET sql_mode = ''
a: SELECT GET_LOCK(x'$X61ff',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT GET_LOCK(0x$X61c3,0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT GET_LOCK(x'$X61c3a9',0)
= 1
b: SELECT IS_USED_LOCK('$Na')
= NULL
a: SET NAMES binary
a: SELECT GET_LOCK('$Na\xe9',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 1
[mariadb] = 4
b: SELECT IS_USED_LOCK('$Na')
= NULL

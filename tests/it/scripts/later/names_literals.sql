b: SELECT IS_FREE_LOCK(CAST('$NA' AS BINARY))
[mysql] = 0
[mariadb] = 1
b: SELECT IS_FREE_LOCK(BINARY '$NA')
[mysql] = 0 W1
[mariadb] = 1
a: SELECT GET_LOCK(CONVERT('$Nwide' USING ucs2),0)
[mysql] = 1 W1
[mariadb] = 1
b: SELECT IS_FREE_LOCK('$Nwide')
[mysql] = 0
[mariadb] = 1
a: SELECT RELEASE_LOCK(CONVERT('$Nwide' USING ucs2))
[mysql] = 1 W1
[mariadb] = 1

b: SELECT IS_FREE_LOCK(CAST('$NA' AS BINARY))
[mysql] = 0
[mariadb] = 1
b: SELECT IS_FREE_LOCK(BINARY '$NA')
[mysql] = 0 W1
[mariadb] = 1

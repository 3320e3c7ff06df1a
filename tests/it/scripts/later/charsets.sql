t: SELECT GET_LOCK('$N😀',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
t: SELECT GET_LOCK('$Ny',/* 😀 */0)
g: SELECT GET_LOCK('$Ng\x81\x5c',0)
= 1
t: SELECT GET_LOCK('$N😀',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
t: SELECT GET_LOCK('$Ny',/* 😀 */0)
g: SELECT GET_LOCK('$Ng\xe9',0)
[mysql] = ERR 4163/42000
[mariadb] = 1

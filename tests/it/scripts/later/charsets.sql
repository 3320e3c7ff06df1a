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
u: SET character_set_results = utf16
= OK
u: SELECT GET_LOCK('$Nk',0) AS 'é漢'
u: SELECT GET_LOCK('$Nk',0)
u: SELECT mysql.GET_LOCK('$Nk',0)
u: SELECT GET_LOCK('$Nk')
u: SELECT RELEASE_LOCK('$Né')
i: SELECT GET_LOCK('$Nb\xe9',0)
[mysql] = ERR 3057/42000
[mariadb] = 1

# Column names under unusual character sets of results, and of bytes that are no characters.
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
@also over_tls
@matrix caps=-DEPRECATE_EOF
@session u charset=utf8mb4
@session l charset=latin1
@session t charset=utf8mb3
@session g charset=gbk
@session i charset=binary
@session c charset=ascii
u prepare early : SELECT GET_LOCK(?,0)
u prepare wide : SELECT GET_LOCK(/*é*/?,0)
u: SET character_set_results = utf16
= OK
u prepare late : SELECT GET_LOCK(?,0)
u execute late '$Nk'
u: SELECT GET_LOCK('$Nk',0) AS 'é漢'
u: SELECT GET_LOCK('$Nk',0)
u: SELECT GET_LOCK('$Nk',0) AS plain
u: SELECT GET_LOCK('$Né',0)
u: SELECT GET_LOCK("$Né\\",0)
u: SELECT IS_USED_LOCK('$Nnone')
u: SELECT RELEASE_ALL_LOCKS()
u: DO GET_LOCK('$Nk',0)
u: SELECT GET_LOCK('$Nk','abc')
u: SELECT mysql.GET_LOCK('$Nk',0)
u: SELECT GET_LOCK('$Nk')
u: SELECT RELEASE_LOCK('$Né')
# Prepared in the one, executed in the other.
u execute early '$Nk'
u execute early '$Né'

u: SET character_set_results = utf8mb4
u execute late '$Nk'
u execute early '$Nk'
u: SELECT GET_LOCK('$Nk',0)
u: SET character_set_results = ucs2
u: SELECT GET_LOCK('$Nk',0)
u: SET character_set_results = utf16le
u: SELECT GET_LOCK('$Nk',0)
u execute early cursor '$Nk'
u fetch early 2
u: SET character_set_results = utf32
u: SELECT GET_LOCK('$Nk',0)
u: SELECT IS_USED_LOCK('$Nnone') LIMIT 1
u: SET character_set_results = binary
u: SELECT GET_LOCK('$Nk',0)
u: SELECT GET_LOCK('$N😀',0)
u: SELECT RELEASE_ALL_LOCKS()
u: SET character_set_results = NULL
u: SELECT GET_LOCK('$Nk',/*é\xe9*/0)
u execute wide '$Nk'
u: SET NAMES latin1
t: SELECT GET_LOCK('$N😀',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
t: SELECT GET_LOCK('$Nty',/* 😀 */0)
t: SELECT RELEASE_ALL_LOCKS()
l: SELECT GET_LOCK('$Ny',/* \x81\xa0 */0)
c: SELECT GET_LOCK('$Ny',/* \xe9 */0)
g: SELECT GET_LOCK('$Ng\xe9',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
i: SELECT GET_LOCK('$Nb\xe9',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
l: SELECT GET_LOCK('$Nk',/*x$REP(é,200)*/0)
t: SELECT GET_LOCK('$Nk',/*x$REP(é,200)*/0)
t: SELECT GET_LOCK('$Nk',/*$REP(é,200)*/0)
u: SET NAMES utf8mb4
u: SELECT GET_LOCK('$Nk',/*x$REP(é,200)*/0)
u: SELECT GET_LOCK('$Nk',/*$REP(é,200)*/0)
u: SELECT GET_LOCK('$Nk',/*$REP(x,300)*/0)
t: SELECT GET_LOCK('$Nk',/*$REP(x,300)*/0)
u: SELECT 1/0
u: SELECT GET_LOCK('$Nk',/*é*/0)
u: SHOW WARNINGS
u: SELECT GET_LOCK('$Nk',/*é*/'abc') -- é
u: SHOW WARNINGS
u: SELECT GET_LOCK('$Nk',/*é*/0) FROM DUAL LIMIT 1;
u: SELECT GET_LOCK('$N\xed\xa0\x80',0)

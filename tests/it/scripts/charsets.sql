# Connections under other character sets: which bytes are which name, and how columns are called.
@also over_tls
@matrix caps=-DEPRECATE_EOF
@session u charset=utf8mb4
@session l charset=latin1
@session t charset=utf8mb3
@session g charset=gbk
@session s charset=sjis
@session w charset=cp932
@session f charset=big5
@session h charset=gb18030
@session i charset=binary
@session k charset=koi8r
@session c charset=ascii
l: SELECT GET_LOCK('$N\xe9',0)
= 1
u: SELECT IS_FREE_LOCK('$Né')
[mysql] = 0
[mariadb] = 1
l: SELECT IS_USED_LOCK('$N\xc9')
[mysql] = <l>
[mariadb] = NULL
u: SELECT IS_FREE_LOCK(x'$Xe9')
[mysql] = ERR 3057/42000
[mariadb] = 0
l: SELECT RELEASE_LOCK('$N\xe9')
= 1
# Two latin1 characters, or one in UTF-8.
l: SELECT GET_LOCK('$Nx\xc3\xa9',0)
= 1
u: SELECT IS_FREE_LOCK('$Nxé')
[mysql] = 1
[mariadb] = 0
u: SELECT IS_FREE_LOCK('$NxÃ©')
[mysql] = 0
[mariadb] = 1
l: SELECT GET_LOCK('$Nalias',0) AS '\xe9'
= 1
l: SELECT GET_LOCK('$Nalias',/* \xe9 */0)
= 1
l: SELECT GET_LOCK('$N\\',0)
= 1
# The introducer's literal is in the connection's bytes.
l: SELECT IS_FREE_LOCK(_utf8mb4'$N\xc3\xa9')
l: SELECT GET_LOCK(_utf8mb4'$Nq\xe9',0)
# utf8mb3.
t: SELECT GET_LOCK('$Nté',0)
= 1
u: SELECT IS_FREE_LOCK('$Nté')
= 0
t: SELECT GET_LOCK('$N\xe9',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
# gbk and its relatives: a backslash may be half a character.
g: SELECT GET_LOCK('$Ng\x81\x5c',0)
= 1
g: SELECT IS_USED_LOCK('$Ng\x81\x5c')
= <g>
[mysql] g: SELECT GET_LOCK('$Ng\xe9',0)
[mysql] = ERR 4163/42000
g: SELECT GET_LOCK('$Ng\xc4\xe3',0)
= 1
u: SELECT IS_FREE_LOCK('$Ng你')
[mysql] = 0
[mariadb] = 1
g: SELECT GET_LOCK('$Nplain',0)
= 1
g: SELECT GET_LOCK('$N\x81\x27x',0)
g: SELECT GET_LOCK('$Nplain',0) AS '\x81\x5c'
g: SELECT GET_LOCK('$Nplain',/* \x81\x5c */0)
s: SELECT GET_LOCK('$Ns\x81\x5c',0)
= 1
s: SELECT IS_USED_LOCK('$Ns\x81\x5c')
= <s>
[mysql] s: SELECT GET_LOCK('$Ns\xe9',0)
[mysql] = ERR 4163/42000
s: SELECT GET_LOCK('$Ns\x83\x41',0)
= 1
u: SELECT IS_FREE_LOCK('$Nsア')
[mysql] = 0
[mariadb] = 1
s: SELECT GET_LOCK('$Nsplain',0)
= 1
w: SELECT GET_LOCK('$Nw\x81\x5c',0)
= 1
w: SELECT GET_LOCK('$Nw\x83\x5c',0)
= 1
w: SELECT GET_LOCK('$Nw\x87\x40',0)
= 1
f: SELECT GET_LOCK('$Nf\xa5\x5c',0)
= 1
f: SELECT IS_USED_LOCK('$Nf\xa5\x5c')
= <f>
f: SELECT GET_LOCK('$Nfplain',0)
= 1
[mysql] h: SELECT GET_LOCK('$Nh\x81\x5c',0)
[mysql] = 1
[mysql] h: SELECT GET_LOCK('$Nh\x81\x30\x81\x30',0)
# Under single-byte sets and UTF-8 the backslash escapes the quote.
l: SELECT GET_LOCK('$N\x81\x5c',0)
= ERR 1064/42000
u: SELECT GET_LOCK('$N\x81\x5c',0)
= ERR 1064/42000
# binary, koi8r, ascii.
[mysql] i: SELECT GET_LOCK('$Nb\xe9',0)
[mysql] = ERR 3057/42000
i: SELECT GET_LOCK('$Nbé',0)
= 1
u: SELECT IS_FREE_LOCK('$NbÉ')
[mysql] = 0
[mariadb] = 1
u: SELECT IS_FREE_LOCK('$Nbé')
= 0
k: SELECT GET_LOCK('$Nk\xe1',0)
= 1
k: SELECT IS_USED_LOCK('$Nk\xc1')
[mysql] = <k>
[mariadb] = NULL
u: SELECT IS_FREE_LOCK('$Nkа')
[mysql] = 0
[mariadb] = 1
c: SELECT GET_LOCK('$Nc\xe9',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
c: SELECT GET_LOCK('$Nascii',0)
= 1
# The session changes its character set itself, in each of the three ways.
u: SET NAMES latin1
= OK
u: SELECT GET_LOCK('$Nset\xe9',0)
= 1
l: SELECT IS_USED_LOCK('$Nset\xe9')
= <u>
u: SET NAMES gbk
= OK
u: SELECT GET_LOCK('$Nset\x81\x5c',0)
= 1
g: SELECT IS_USED_LOCK('$Nset\x81\x5c')
= <u>
u: SET NAMES utf8mb4
= OK
u: SET character_set_client = latin1
= OK
u: SELECT GET_LOCK('$Ncsc\xe9',0)
= 1
u: SELECT IS_USED_LOCK('$Ncsc\xe9') AS '\xe9'
= <u>
u: SET character_set_connection = latin1
= OK
u: SELECT GET_LOCK('$Ncsc2\xe9',0)
= 1
u: SET character_set_results = latin1
= OK
u: SELECT GET_LOCK('$Ncsc2\xe9',0)
= 1
u: SET character_set_results = NULL
= OK
u: SELECT GET_LOCK('$Ncsc2\xe9',0) AS '\xe9'
= 1
u: SET CHARACTER SET utf8mb4
= OK
u: SELECT GET_LOCK('$Né',0)
= 1
u: SET character_set_results = ascii
= OK
u: SELECT GET_LOCK('$Né漢',0)
= 1
u: SELECT GET_LOCK('$Nk',0) AS 'é漢'
= 1
u: SELECT GET_LOCK('$N$REP(a,600)',0)
u: SELECT GET_LOCK(NULL,0) AS 'é'

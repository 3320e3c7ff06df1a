# Literals of other kinds as names: hexadecimal, bits, introducers, numbers, temporal, NULL.
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a: SELECT GET_LOCK(x'$X61',0)
= 1
b: SELECT IS_USED_LOCK('$Na')
= <a>
b: SELECT IS_USED_LOCK(X'$X61')
= <a>
b: SELECT IS_USED_LOCK(0x$X61)
= <a>
b: SELECT IS_FREE_LOCK(x'$X41')
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK(x'$Xff',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
b: SELECT IS_USED_LOCK(x'$Xff')
[mysql] = ERR 3057/42000
[mariadb] = <a>
a: SELECT RELEASE_LOCK(x'$Xff')
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT IS_FREE_LOCK(x'ff')
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT IS_FREE_LOCK(x'')
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT GET_LOCK(b'0110000101100010',0)
= 1
b: SELECT IS_USED_LOCK('ab')
= <a>
a: SELECT RELEASE_LOCK(0b0110000101100010)
= 1
a: SELECT GET_LOCK(_latin1 x'$Xe9',0)
= 1
b: SELECT IS_FREE_LOCK('$Né')
[mysql] = 0
[mariadb] = 1
b: SELECT IS_FREE_LOCK(_latin1 x'$Xc9')
[mysql] = 0
[mariadb] = 1
b: SELECT IS_FREE_LOCK(_utf8mb4 x'$Xc3a9')
[mysql] = 0
[mariadb] = 1
b: SELECT IS_FREE_LOCK(_utf8mb4 '$NÉ')
[mysql] = 0
[mariadb] = 1
a: SELECT RELEASE_LOCK(_latin1 x'$Xe9')
= 1
a: SELECT GET_LOCK(_latin1'$Nlat',0)
= 1
b: SELECT IS_USED_LOCK('$Nlat')
= <a>
b: SELECT IS_USED_LOCK(_binary'$Nlat')
= <a>
b: SELECT IS_USED_LOCK(_ascii '$Nlat')
= <a>
b: SELECT IS_FREE_LOCK(_binary x'$X6c6174')
= 0
a: SELECT GET_LOCK(N'$Nnat',0)
[mysql] = 1 W1
[mariadb] = 1
a: SHOW WARNINGS
b: SELECT IS_USED_LOCK(n'$Nnat')
b: SELECT IS_USED_LOCK('$Nnat')
= <a>
# ucs2: converted on one flavour, cut at its first NUL byte on the other.
# The empty-key lock.
a: SELECT GET_LOCK(x'00',0)
= 1
b: SELECT IS_USED_LOCK('\0abc')
= <a>
b: SELECT IS_USED_LOCK(0x00)
= <a>
a: SELECT RELEASE_LOCK('\0')
= 1
# Numbers.
a: SELECT GET_LOCK($D,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
b: SELECT IS_FREE_LOCK('$D')
[mysql] = 0
[mariadb] = 1
b: SELECT IS_FREE_LOCK($D)
[mysql] = 0
[mariadb] = ERR 4079/HY000
b: SELECT RELEASE_LOCK($D)
[mysql] = 0
[mariadb] = ERR 4079/HY000
b: SELECT IS_USED_LOCK($D)
[mysql] = <a>
[mariadb] = ERR 4079/HY000
a: DO RELEASE_LOCK($D)
[mysql] = OK
[mariadb] = ERR 4079/HY000
a: SELECT GET_LOCK(0$D,0)
a: SELECT RELEASE_LOCK('$D')
a: SELECT GET_LOCK(-$D,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT RELEASE_LOCK('-$D')
a: SELECT GET_LOCK($D.5,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
b: SELECT IS_FREE_LOCK('$D.5')
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK($De3,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
b: SELECT IS_FREE_LOCK('$D000')
[mysql] = 0
[mariadb] = 1
a: SELECT IS_FREE_LOCK(TRUE)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT IS_FREE_LOCK(1.50)
a: SELECT GET_LOCK($D00000000000000000000,0)
# NULL and empty names.
a: SELECT GET_LOCK(NULL,0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SHOW WARNINGS
a: SELECT GET_LOCK('',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SHOW WARNINGS
a: SELECT GET_LOCK("",0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT GET_LOCK(NULL,NULL)
a: SELECT GET_LOCK(null,-1)
a: SELECT GET_LOCK('',10)
a: SELECT RELEASE_LOCK(NULL)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT RELEASE_LOCK('')
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IS_FREE_LOCK(NULL)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IS_FREE_LOCK('')
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IS_USED_LOCK(NULL)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IS_USED_LOCK('')
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: DO GET_LOCK(NULL,0)
[mysql] = ERR 3057/42000
[mariadb] = OK
a: DO GET_LOCK('',0)
[mysql] = ERR 3057/42000
[mariadb] = OK
a: DO RELEASE_LOCK(NULL)
[mysql] = ERR 3057/42000
[mariadb] = OK
a: DO IS_USED_LOCK('')
[mysql] = ERR 3057/42000
[mariadb] = OK

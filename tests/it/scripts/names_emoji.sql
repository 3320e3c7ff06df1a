# Characters beyond the basic plane: refused on MySQL, plain bytes on MariaDB.
@matrix caps=-DEPRECATE_EOF
a: SELECT GET_LOCK('$N😀',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SHOW WARNINGS
b: SELECT GET_LOCK('$N😀',0)
[mysql] = ERR 3057/42000
[mariadb] = 0
b: SELECT GET_LOCK('$N😁',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT IS_USED_LOCK('$N😀')
[mysql] = ERR 3057/42000
[mariadb] = <a>
a: SELECT IS_FREE_LOCK('😀')
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT RELEASE_LOCK('$N😀')
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(😀,46)',0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(😀,47)',0)
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$REP(😀,49)',0)
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$Nk',0) AS '😀'
a: SELECT GET_LOCK('$Nk',0) AS `é漢`
= 1
a: SELECT GET_LOCK('$Nk',/* 😀 */0)
a: SELECT GET_LOCK('$Nk',/* é */0)
= 1
a: SELECT GET_LOCK('$Nk',/* \xff */0)
a: SELECT GET_LOCK('$N\xc3\x28',0)
a: SELECT GET_LOCK('$N\xff',0)
a: SELECT GET_LOCK('$N\xe9',0)
a: SELECT GET_LOCK('$N\xf0\x9f\x98',0)
a: SELECT GET_LOCK('$N\xc0\x80',0)
a: SELECT RELEASE_ALL_LOCKS()

# Length limits: 64 characters on MySQL, 192 bytes on MariaDB. The prefix takes eight of each.
@matrix caps=-DEPRECATE_EOF
@matrix charset=utf8mb3
a: SELECT GET_LOCK('$N$REP(a,56)',0)
= 1
a: SELECT GET_LOCK('$N$REP(a,57)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT RELEASE_LOCK('$N$REP(a,56)')
= 1
a: SELECT RELEASE_LOCK('$N$REP(a,57)')
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT IS_FREE_LOCK('$N$REP(a,57)')
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT IS_USED_LOCK('$N$REP(a,57)')
[mysql] = ERR 4163/42000
[mariadb] = NULL
a: DO GET_LOCK('$N$REP(a,57)',0)
[mysql] = ERR 4163/42000
[mariadb] = OK
a: SELECT GET_LOCK('$N$REP(a,184)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(a,185)',0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a: SHOW WARNINGS
a: DO GET_LOCK('$N$REP(a,185)',0)
[mysql] = ERR 4163/42000
[mariadb] = OK W1
a: SHOW WARNINGS
a: SELECT RELEASE_LOCK('$N$REP(a,185)')
[mariadb] = ERR 1059/42000
a: SELECT IS_FREE_LOCK('$N$REP(a,185)')
[mariadb] = ERR 1059/42000
a: SELECT IS_USED_LOCK('$N$REP(a,185)')
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$N$REP(a,5000)',0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$N$REP(é,56)',0)
= 1
a: SELECT GET_LOCK('$N$REP(é,57)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(é,92)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(é,93)',0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$N$REP(漢,56)',0)
= 1
a: SELECT GET_LOCK('$N$REP(漢,57)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(漢,61)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(漢,62)',0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$N$REP(漢,200)',0)
a: SELECT GET_LOCK('$N漢$REP(a,200)',0)
# Counted before the cut at NUL; spaces count.
a: SELECT GET_LOCK('$N\0$REP(a,55)',0)
= 1
a: SELECT GET_LOCK('$N\0$REP(a,56)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N\0$REP(a,183)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N\0$REP(a,184)',0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a: SELECT GET_LOCK('$N$REP( ,56)',0)
= 1
a: SELECT GET_LOCK('$N$REP( ,57)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
# Folding may shorten: limits hold before it.
a: SELECT GET_LOCK('$N$REP(İ,56)',0)
= 1
a: SELECT GET_LOCK('$N$REP(İ,57)',0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK('$N$REP(\xe2\x84\xaa,56)',0)
= 1
b: SELECT IS_FREE_LOCK('$N$REP(k,56)')
[mysql] = 0
[mariadb] = 1
a: SELECT RELEASE_ALL_LOCKS()

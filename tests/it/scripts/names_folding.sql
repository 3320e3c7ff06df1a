# Which names are one lock: MySQL folds by its old utf8mb3 table, MariaDB compares bytes.
@matrix caps=-DEPRECATE_EOF
[mysql] @matrix charset=utf8mb4_0900
a: SELECT GET_LOCK('$Nabc',0)
= 1
b: SELECT IS_FREE_LOCK('$NABC')
[mysql] = 0
[mariadb] = 1
b: SELECT GET_LOCK('$NABC',0)
[mysql] = 0
[mariadb] = 1
b: SELECT IS_USED_LOCK('$NABC')
[mysql] = <a>
[mariadb] = <b>
a: SELECT GET_LOCK('$N É',0)
= 1
b: SELECT GET_LOCK('$N é',0)
[mysql] = 0
[mariadb] = 1
b: SELECT GET_LOCK('$N e',0)
= 1
# NFC is not NFD.
b: SELECT GET_LOCK('$N e\xcc\x81',0)
= 1
a: SELECT GET_LOCK('$N ß',0)
= 1
b: SELECT GET_LOCK('$N ss',0)
= 1
b: SELECT GET_LOCK('$N ẞ',0)
= 1
a: SELECT GET_LOCK('$N İx',0)
= 1
b: SELECT GET_LOCK('$N ix',0)
[mysql] = 0
[mariadb] = 1
b: SELECT GET_LOCK('$N ıx',0)
= 1
b: SELECT GET_LOCK('$N Ix',0)
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK('$N Σ',0)
= 1
b: SELECT GET_LOCK('$N σ',0)
[mysql] = 0
[mariadb] = 1
b: SELECT GET_LOCK('$N ς',0)
= 1
# Kelvin, ohm and ångström signs fold to shorter letters.
a: SELECT GET_LOCK('$N q\xe2\x84\xaa',0)
= 1
b: SELECT GET_LOCK('$N qk',0)
[mysql] = 0
[mariadb] = 1
b: SELECT GET_LOCK('$N qK',0)
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK('$N \xe2\x84\xa6',0)
= 1
b: SELECT GET_LOCK('$N ω',0)
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK('$N \xe2\x84\xab',0)
= 1
b: SELECT GET_LOCK('$N å',0)
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK('$N Ａ',0)
= 1
b: SELECT GET_LOCK('$N ａ',0)
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK('$N Ⅷ',0)
b: SELECT GET_LOCK('$N ⅷ',0)
[mysql] = 0
[mariadb] = 1
a: SELECT GET_LOCK('$N Ǆ',0)
b: SELECT GET_LOCK('$N ǆ',0)
[mysql] = 0
[mariadb] = 1
b: SELECT GET_LOCK('$N ǅ',0)
[mysql] = 0
[mariadb] = 1
# Letters younger than the table do not fold.
a: SELECT GET_LOCK('$N Ԁ',0)
b: SELECT GET_LOCK('$N ԁ',0)
= 1
a: SELECT GET_LOCK('$N Ⴀ',0)
b: SELECT GET_LOCK('$N ⴀ',0)
= 1
a: SELECT GET_LOCK('$N Ꭰ',0)
b: SELECT GET_LOCK('$N ꭰ',0)
= 1
a: SELECT GET_LOCK('$N Ⱥ',0)
b: SELECT GET_LOCK('$N ⱥ',0)
= 1
a: SELECT GET_LOCK('$N Ж',0)
b: SELECT GET_LOCK('$N ж',0)
[mysql] = 0
[mariadb] = 1
# A collation on the argument changes nothing.
a: SELECT GET_LOCK('$Ncol' COLLATE utf8mb4_bin,0)
= 1
b: SELECT GET_LOCK('$NCOL' COLLATE utf8mb4_bin,0)
[mysql] = 0
[mariadb] = 1
# Spaces count, wherever they are.
a: SELECT GET_LOCK('$Nsp ',0)
= 1
b: SELECT GET_LOCK('$Nsp',0)
= 1
b: SELECT GET_LOCK(' $Nsp',0)
= 1
b: SELECT GET_LOCK('$Nsp  ',0)
= 1
b: SELECT GET_LOCK(' $NSP',0)
= 1
# A NUL byte ends the name.
a: SELECT GET_LOCK('$Na\0b',0)
= 1
b: SELECT GET_LOCK('$Na',0)
= 0
b: SELECT GET_LOCK('$Na\0c',0)
= 0
b: SELECT RELEASE_LOCK('$Na\0\0')
= 0
b: SELECT IS_USED_LOCK('$Na')
= <a>
a: SELECT RELEASE_LOCK('$Na')
= 1
a: SELECT GET_LOCK('$Nraw\x00nul',0)
# All five functions see the same identity.
a: SELECT GET_LOCK('$NTwice',0)
= 1
a: SELECT GET_LOCK('$Ntwice',0)
= 1
a: SELECT RELEASE_LOCK('$NTWICE')
[mysql] = 1
[mariadb] = NULL
a: SELECT RELEASE_LOCK('$NTwice')
= 1
a: SELECT RELEASE_LOCK('$NTwice')
= NULL
a: SELECT RELEASE_LOCK('$Ntwice')
[mysql] = NULL
[mariadb] = 1
a: SELECT RELEASE_ALL_LOCKS()
b: SELECT RELEASE_ALL_LOCKS()

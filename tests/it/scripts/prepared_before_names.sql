# A larger statement is prepared, then the session sets another character set: its columns are described in that one.
@session e caps=-MARIADB_CACHE_METADATA
@session f caps=-MARIADB_CACHE_METADATA,-DEPRECATE_EOF
e: SET NAMES latin1
e prepare n : SELECT USER() AS u, GET_LOCK(?,0), CONCAT('x', RELEASE_LOCK('$Nno'))
e execute n '$Ne'
e: SET NAMES utf8mb4
e execute n '$Ne'
e execute n '$Ne'
f: SET NAMES latin1
f prepare n : SELECT USER() AS u, GET_LOCK(?,0)
f execute n '$Nf'
f: SET NAMES utf8mb4
f execute n '$Nf'
f execute n '$Nf'

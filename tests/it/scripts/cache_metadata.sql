# MariaDB: column definitions that the client has from the PREPARE are left out.
@also over_tls over_zlib
@session c caps=+MARIADB_CACHE_METADATA
@session a caps=+MARIADB_CACHE_METADATA
@session b caps=+MARIADB_CACHE_METADATA,-DEPRECATE_EOF
a prepare o : SELECT ?, n FROM (SELECT 1 AS n) t
a execute o 5
@end shuffled mysql
a execute o 'text'
a prepare g : SELECT GET_LOCK(?,?)
a execute g '$Nk' 0
a execute g '$Nk' 0
b prepare g : SELECT GET_LOCK(?,?)
b execute g '$Nk' 0
a execute g '$Nk' 0 cursor
a fetch g 2
b execute g '$Nk' 0 cursor
b fetch g 2
c prepare u : SELECT IS_USED_LOCK(?) = CONNECTION_ID(), IS_FREE_LOCK(?)
c execute u '$Nk' '$Nk'
b prepare f : SELECT IS_FREE_LOCK(?) AS free
b execute f '$Nk'
a: SELECT GET_LOCK('$Nk',0)
= 1
b: SELECT GET_LOCK('$Nk',0)
= 0
a: SET @x = 1
b!: SELECT GET_LOCK('$Nk',20)
a prepare r : SELECT RELEASE_ALL_LOCKS()
a execute r
b?
= 1
a execute r
b prepare d : DO RELEASE_LOCK(?)
b execute d '$Nk'
b prepare r : SELECT RELEASE_LOCK(?)
b execute r '$Nk'
b execute r null

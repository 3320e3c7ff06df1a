# Prepared statements: metadata, every parameter type, long data, re-execution.
@also over_tls over_zlib
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@matrix caps=+QUERY_ATTRIBUTES,-DEPRECATE_EOF
@matrix caps=-PS_MULTI_RESULTS
a prepare g : SELECT GET_LOCK(?,?)
= prepared
a prepare r : SELECT RELEASE_LOCK(?)
= prepared
a prepare f : SELECT IS_FREE_LOCK(?)
= prepared
a prepare u : SELECT IS_USED_LOCK(?)
= prepared
a prepare all : SELECT RELEASE_ALL_LOCKS()
= prepared
# Nothing is locked by preparing.
b: SELECT IS_FREE_LOCK('$Nk')
= 1
a prepare lit : SELECT GET_LOCK('$Nk',0)
= prepared
b: SELECT IS_FREE_LOCK('$Nk')
= 1
a execute g '$Nk' 0
= 1
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a execute u '$Nk'
= <a>
a execute f '$Nk'
= 0
a execute lit
= 1
a execute r '$Nk'
= 1
a execute r '$Nk'
= 1
a execute r '$Nk'
= NULL
a execute u '$Nk'
= NULL
a execute f '$Nk'
= 1
a execute lit
= 1
a execute lit
= 1
a execute all
= 2
a execute all
= 0
# A name of each string type.
a execute g c:'$Nt1' 0
= 1
a execute g v:'$Nt2' 0
= 1
a execute g b:'$Nt3' 0
= 1
a execute g d:'$D' 0
a execute g b:'$NT4' 0
= 1
b: SELECT IS_FREE_LOCK('$Nt4')
[mysql] = 0
[mariadb] = 1
a execute g b:'$N\xff' 0
[mysql] = ERR 3057/42000
[mariadb] = 1
a execute g '$Né' 0
= 1
a execute r '$NÉ'
[mysql] = 1
[mariadb] = NULL
a execute g '$Na\x00b' 0
= 1
a execute u '$Na'
= <a>
a execute g '$N$REP(a,57)' 0
[mysql] = ERR 4163/42000
[mariadb] = 1
a execute g '$N$REP(a,185)' 0
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a execute g '$Nq'uote' 0
a execute g '$N\' 0
= 1
# Numbers and dates as names.
a execute g $D 0
[mysql] = 1
[mariadb] = ERR 4079/HY000
b: SELECT IS_FREE_LOCK('$D')
[mysql] = 0
[mariadb] = 1
a execute g i:$D 0
[mysql] = 1
[mariadb] = ERR 4079/HY000
a execute g u:$D 0
[mysql] = 1
[mariadb] = ERR 4079/HY000
a execute f t:5
[mysql] = 1
[mariadb] = ERR 4079/HY000
a execute f s:500
a execute f 5.5
[mysql] = 1
[mariadb] = ERR 4079/HY000
a execute f f:1.5
# NULL and empty names.
a execute g null 0
[mysql] = ERR 3057/42000
[mariadb] = NULL
a execute g null:253 0
[mysql] = ERR 3057/42000
[mariadb] = NULL
a execute g '' 0
[mysql] = ERR 3057/42000
[mariadb] = NULL
a execute r null
[mysql] = ERR 3057/42000
[mariadb] = NULL
a execute f null
[mysql] = ERR 3057/42000
[mariadb] = NULL
a execute u ''
[mysql] = ERR 3057/42000
[mariadb] = NULL
a execute all
b: SELECT RELEASE_ALL_LOCKS()
b: SELECT GET_LOCK('$Nk',0)
a~0 execute g '$Nfree1' -1
[mysql] = 1
[mariadb] = NULL W1
a~0 execute g '$Nfree2' null
[mysql] = 1
[mariadb] = NULL W1
a~0 execute g '$Nfree3' s:30
= 1
a~0 execute g '$Nfree4' u:18446744073709551615
= 1
a execute g '$Nfree5' b:'1'
= 1
a execute g '$Nfree6' f:0.5
= 1
a execute all
# A waiter in the binary protocol.
a! execute g '$Nk' 20
b: SELECT RELEASE_LOCK('$Nk')
= 1
a?
= 1
a execute r '$Nk'
= 1
# Types kept from the execution before.
a execute g '$Nx' 0
= 1
a execute g keep '$Ny' 0
= 1
a execute g keep '$Nx' 0
= 1
a execute all
= 3
a resetstmt g
= OK
a execute g '$Nx' 0
= 1
# Long data.
a longdata g 0 $Nlo
a longdata g 0 ng
a execute g long 0
= 1
b: SELECT IS_USED_LOCK('$Nlong')
= <a>
a longdata g 0 $Ntext
a execute g long:253 0
= 1
a longdata g 0 $Ndropped
a resetstmt g
= OK
a execute g '$Nafter' 0
= 1
b: SELECT IS_FREE_LOCK('$Ndropped')
= 1
a longdata r 0 $Nlong
a execute r long
= 1
# Long data for a parameter that does not exist.
a longdata g 7 x
a execute g '$Nz' 0
a resetstmt g
a execute all
# Statements that are closed or were never there.
a closestmt g
a execute g '$Nk' 0
= ERR 1243/HY000
a execute nosuch
= ERR 1243/HY000
a resetstmt nosuch
= ERR 1243/HY000
a closestmt nosuch
a ping
a execute all
= 0

# Timeout parameters of each type, on a lock that another session holds.
a prepare g : SELECT GET_LOCK(?,?)
= prepared
b: SELECT GET_LOCK('$Nk',0)
= 1
a~1000 execute g '$Nk' 1
= 0
a~0 execute g '$Nk' t:0
= 0
a~1000 execute g '$Nk' i:1
= 0
a~1000 execute g '$Nk' '1'
= 0
[mysql] a~0 execute g '$Nk' 0.49
[mariadb] a~490 execute g '$Nk' 0.49
= 0
[mysql] a~1000 execute g '$Nk' 0.6
[mariadb] a~600 execute g '$Nk' 0.6
= 0
[mysql] a~1000 execute g '$Nk' d:'0.5'
[mariadb] a~500 execute g '$Nk' d:'0.5'
= 0
a~0 execute g '$Nk' 'abc'
= 0 W1
a: SHOW WARNINGS
a~0 execute g '$Nk' null
[mysql] = 0
[mariadb] = NULL W1
a: SHOW WARNINGS

# Deadlocks between lock names: not covered by the proxy yet.
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SELECT GET_LOCK('$Nk',20)
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
a: SHOW WARNINGS
a: SELECT RELEASE_LOCK('$Nl')
h?
= 1

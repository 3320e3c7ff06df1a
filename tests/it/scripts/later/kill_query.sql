# KILL QUERY and time limits on a waiter, and deadlocks: not covered by the proxy yet.
h: SELECT GET_LOCK('$Nk',0)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = NULL
a: SHOW WARNINGS
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = OK
a prepare g : SELECT GET_LOCK(?,?)
a! execute g '$Nk' 20
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = NULL
[mysql] a: SET SESSION max_execution_time = 400
[mysql] a~400: SELECT GET_LOCK('$Nk',20)
[mysql] = ERR 3024/HY000
[mysql] a: SET SESSION max_execution_time = 0
[mysql] a~400: SELECT /*+ MAX_EXECUTION_TIME(400) */ GET_LOCK('$Nk',20)
[mysql] = ERR 3024/HY000
[mariadb] a: SET SESSION max_statement_time = 0.4
[mariadb] a~400: SELECT GET_LOCK('$Nk',20)
[mariadb] = NULL
[mariadb] a: SET SESSION max_statement_time = 0
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SELECT GET_LOCK('$Nk',20)
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
a: SHOW WARNINGS
a: SELECT RELEASE_LOCK('$Nl')
h?
= 1

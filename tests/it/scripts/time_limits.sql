# The server's time limits end a wait, with its own error.
@also over_tls shuffled
@matrix caps=-DEPRECATE_EOF
h: SELECT GET_LOCK('$Nk',0)
[mysql] a: SET SESSION max_execution_time = 400
[mysql] a~400: SELECT GET_LOCK('$Nk',20)
[mysql] = ERR 3024/HY000
[mysql] a: SHOW WARNINGS
[mysql] a prepare g : SELECT GET_LOCK(?,?)
[mysql] a~400 execute g '$Nk' 20
[mysql] = ERR 3024/HY000
# It is for SELECT only.
[mysql] a~1000: DO GET_LOCK('$Nk',1)
[mysql] = OK
[mysql] a: SET SESSION max_execution_time = 0
[mysql] a~400: SELECT /*+ MAX_EXECUTION_TIME(400) */ GET_LOCK('$Nk',20)
[mysql] = ERR 3024/HY000
[mysql] a~1000: SELECT /*+ MAX_EXECUTION_TIME(4000) */ GET_LOCK('$Nk',1)
[mysql] = 0
[mysql] a: SHOW WARNINGS
[mariadb] a: SET SESSION max_statement_time = 0.4
[mariadb] a~400: SELECT GET_LOCK('$Nk',20)
[mariadb] = NULL
[mariadb] a: SHOW WARNINGS
[mariadb] a~400: DO GET_LOCK('$Nk',20)
[mariadb] = OK
[mariadb] a prepare g : SELECT GET_LOCK(?,?)
[mariadb] a~400 execute g '$Nk' 20
[mariadb] = NULL
[mariadb] a: SET SESSION max_statement_time = 0
# These do not concern user locks.
a: SET SESSION lock_wait_timeout=1, innodb_lock_wait_timeout=1, wait_timeout=1
a~2000: SELECT GET_LOCK('$Nk',2)
= 0

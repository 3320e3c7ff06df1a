# The timeout argument, on a lock that another session holds. 0 is tried once, so the reply is at
# once; a statement waits if the server rounds its argument up.
h: SELECT GET_LOCK('$Nk',0)
= 1
a~0: SELECT GET_LOCK('$Nk',0)
= 0
a~1000: SELECT GET_LOCK('$Nk',1)
= 0
[mysql] a~0: SELECT GET_LOCK('$Nk',0.1)
[mariadb] a: SELECT GET_LOCK('$Nk',0.1)
= 0
[mysql] a~0: SELECT GET_LOCK('$Nk',0.49)
[mariadb] a~490: SELECT GET_LOCK('$Nk',0.49)
= 0
[mysql] a~1000: SELECT GET_LOCK('$Nk',0.5)
[mariadb] a~500: SELECT GET_LOCK('$Nk',0.5)
= 0
[mysql] a~1000: SELECT GET_LOCK('$Nk',.6)
[mariadb] a~600: SELECT GET_LOCK('$Nk',.6)
= 0
[mysql] a~1000: SELECT GET_LOCK('$Nk',1.4)
[mariadb] a~1400: SELECT GET_LOCK('$Nk',1.4)
= 0
[mysql] a~2000: SELECT GET_LOCK('$Nk',1.5)
[mariadb] a~1500: SELECT GET_LOCK('$Nk',1.5)
= 0
[mysql] a~0: SELECT GET_LOCK('$Nk',0.5e0)
[mariadb] a~500: SELECT GET_LOCK('$Nk',0.5e0)
= 0
[mysql] a~2000: SELECT GET_LOCK('$Nk',1.5e0)
[mariadb] a~1500: SELECT GET_LOCK('$Nk',1.5e0)
= 0
[mysql] a~1000: SELECT GET_LOCK('$Nk',6E-1)
[mariadb] a~600: SELECT GET_LOCK('$Nk',6E-1)
= 0

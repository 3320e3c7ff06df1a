# Timeouts given as strings and in other ways, on a lock that another session holds.
h: SELECT GET_LOCK('$Nk',0)
= 1
a~1000: SELECT GET_LOCK('$Nk','1')
= 0
[mysql] a~0: SELECT GET_LOCK('$Nk','0.6')
[mysql] = 0 W1
[mariadb] a~600: SELECT GET_LOCK('$Nk','0.6')
[mariadb] = 0
a: SHOW WARNINGS
[mysql] a~0: SELECT GET_LOCK('$Nk','0.5')
[mysql] = 0 W1
[mariadb] a~500: SELECT GET_LOCK('$Nk','0.5')
[mariadb] = 0
a~0: SELECT GET_LOCK('$Nk','abc')
= 0 W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nk','')
= 0 W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nk','0x1')
= 0 W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nk',' ')
a: SHOW WARNINGS
a~1000: SELECT GET_LOCK('$Nk','1abc')
= 0 W1
a: SHOW WARNINGS
a~1000: SELECT GET_LOCK('$Nk','1e0')
[mysql] = 0 W1
[mariadb] = 0
a: SHOW WARNINGS
a~1000: SELECT GET_LOCK('$Nk','1 ')
[mysql] = 0
[mariadb] = 0 W1
a: SHOW WARNINGS
a~1000: SELECT GET_LOCK('$Nk',TRUE)
= 0
a~0: SELECT GET_LOCK('$Nk',FALSE)
= 0
[mysql] a~1000: SELECT GET_LOCK('$Nk',x'01')
[mysql] = 0
[mariadb] a~1000: SELECT GET_LOCK('$Nk',x'31')
[mariadb] = 0
a~1000: SELECT GET_LOCK('$Nk',1.0)
= 0
a~1000: SELECT GET_LOCK('$Nk',+1)
= 0
a~1000: SELECT GET_LOCK('$Nk',001)
= 0
a~0: SELECT GET_LOCK('$Nk',-0)
= 0
a~0: SELECT GET_LOCK('$Nk',-0.4)
= 0
a~0: SELECT GET_LOCK('$Nk',0.0)
= 0
a~0: SELECT GET_LOCK('$Nk',.0)
a~0: SELECT GET_LOCK('$Nk',0.)

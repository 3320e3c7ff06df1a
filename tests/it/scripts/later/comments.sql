@also observed
a: SELECT 1 /*M! , GET_LOCK('$Nk',0) */
[mysql] = 1
[mariadb] = 1 | 1
a: SELECT 1--GET_LOCK('$Nk',0)
= 2
a: SELECT 1 /*M!100000 , GET_LOCK('$Nk',0) */
[mysql] = 1
[mariadb] = 1 | 1
a: SELECT 1 /* /* */ , GET_LOCK('$Nk',0)
= 1 | 1
a: SELECT /*+ nonsense */ GET_LOCK('$Nk',0)
[mariadb] = 1
a: SHOW WARNINGS

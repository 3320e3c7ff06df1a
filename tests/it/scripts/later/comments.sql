a: SELECT /*!50000 GET_LOCK('$Nk',0) */
= 1
a: SELECT /*!GET_LOCK('$Nk',0)*/
= 1
a: SELECT /*!50000GET_LOCK*/('$Nk',0)
a: /*!50000 SELECT */ GET_LOCK('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk',0) /*!50000 AS x */
= 1
a: SELECT GET_LOCK('$Nk',0 /*!99999 ,'too','many' */)
= 1
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

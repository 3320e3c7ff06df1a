a: SELECT /*!50000 GET_LOCK('$Nk',0) */
= 1
a: SELECT /*!GET_LOCK('$Nk',0)*/
= 1
a: SELECT /*!50000GET_LOCK*/('$Nk',0)
a: /*!50000 SELECT */ GET_LOCK('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk',0) /*!50000 AS x */
= 1

# Versioned comments in and around a call, and the escape of ODBC.
@also over_tls
@matrix caps=-DEPRECATE_EOF
a prepare v1 : SELECT /*!50000 GET_LOCK(?,0) */
a prepare v2 : SELECT /*!50000 GET_LOCK */(?,0)
a: SELECT /*!50000 GET_LOCK('$Nk',0) */
= 1
a: SELECT /*!GET_LOCK('$Nk',0)*/
= 1
a: SELECT /*!50000GET_LOCK*/('$Nk',0)
a: SHOW WARNINGS
a: /*!50000 SELECT */ GET_LOCK('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk',0) /*!50000 AS x */
= 1
a: SELECT GET_LOCK('$Nk',0 /*!99999 ,'too','many' */)
= 1
a: SELECT GET_LOCK/*!50000 ('$Nk',0) AS y*/
= 1
a: SELECT /*!50000 GET_LOCK('$Nk', */ 0)
= 1
a: SELECT GET_LOCK('$Nk' /*! , */ 0)
= 1
a: SELECT GET_LOCK('$Nk', 0) /*M! AS m */
a: SELECT /*M!100000 GET_LOCK('$Nk', 0) -- */ 0
a: SELECT GET_LOCK('$Nk', 0) /*!50000 AS select */
[mysql] a: SELECT GET_LOCK('$Nk', 0) /*!80000 LIMIT 1 */
a: SELECT /*!99999 GET_LOCK('$Nk',0) */ 7
a: DO /*! GET_LOCK('$Nk',0) */
a: DO /*!GET_LOCK*/('$Nk','abc')
a: SHOW WARNINGS
b: SELECT /*! IS_USED_LOCK('$Nk') */
b: SELECT /*!50000 IS_USED_LOCK*/('$Nk') /*! LIMIT 1 */
a execute v1 '$Nk'
a execute v2 '$Nk'
a: SELECT {fn GET_LOCK('$Nk',0)}
= 1
a: SELECT {fn GET_LOCK('$Né',0)} AS z
= 1
a: SELECT { fn GET_LOCK('$Nk','abc') } LIMIT 1
a: DO {fn GET_LOCK('$Nk',0)}
a: SELECT RELEASE_ALL_LOCKS()

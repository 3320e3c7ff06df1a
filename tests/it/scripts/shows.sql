# Lock calls in SHOW and HANDLER, and in statements with versioned comments.
@session a
@session b
@session o caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY, name VARCHAR(20))
@setup INSERT INTO $DB.jobs VALUES (1,'$Nk'),(2,'$Nl')
a: DO GET_LOCK('$Nk',0)
b: SELECT IS_USED_LOCK('$Nk')
= <a>
b: SHOW TABLES WHERE IS_USED_LOCK('$Nk') = CONNECTION_ID()
a: SHOW TABLES WHERE IS_USED_LOCK('$Nk') = CONNECTION_ID()
= jobs
o: SHOW VARIABLES WHERE Variable_name = 'autocommit' AND IS_FREE_LOCK('$Nk')
o: SHOW VARIABLES WHERE Variable_name = 'autocommit' AND NOT IS_FREE_LOCK('$Nk')
= autocommit | ON
o: SHOW COLUMNS FROM jobs WHERE IS_FREE_LOCK(Field)
o: SHOW TABLES FROM nosuch WHERE GET_LOCK('$Nl',0)=1
[mysql] = ERR 1049/42000
[mariadb] = ERR 1044/42000
o: SHOW TABLES WHERE GET_LOCK('$Nl',0,1)
= ERR 1582/42000
b: SELECT IS_FREE_LOCK('$Nl')
= 1
a: DO RELEASE_ALL_LOCKS()
a: HANDLER jobs OPEN
= OK
a: DO GET_LOCK('$Nk',0)
a: HANDLER jobs READ FIRST WHERE IS_USED_LOCK('$Nk') = CONNECTION_ID()
= 1 | $Nk
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: HANDLER jobs READ NEXT WHERE IS_USED_LOCK('$Nk') = CONNECTION_ID() LIMIT 3
= 2 | $Nl
a: HANDLER jobs READ FIRST WHERE IS_FREE_LOCK(name) LIMIT 3
= 2 | $Nl
a: HANDLER jobs READ `PRIMARY` = (1) WHERE IS_FREE_LOCK('$Nl') = 5
a: SELECT RELEASE_ALL_LOCKS()
a: HANDLER jobs CLOSE
= OK
# Versioned comments.
a: SELECT /*!50000 DISTINCT */ 1 + GET_LOCK('$Nk',0)
= 2
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: SELECT /*!50000 RELEASE_LOCK('$Nk') */, 5
= 1 | 5
a: SELECT /*!50000 GET_LOCK('$Nk',0) + */ 7
= 8
a: SELECT 2 /*!50000 + IS_USED_LOCK('$Nk') - CONNECTION_ID() */
= 2
a: SELECT 3 /*!99999 + GET_LOCK('$Nl',0) */
= 3
a: /*!50000 SET @x = RELEASE_LOCK('$Nk'), @y = 4 */
= OK
a: SELECT @x, @y
= 1 | 4
a: SELECT GET_LOCK('$Nk',0) /*!50000 AS got, 6 AS more */
= 1 | 6
a: UPDATE /*!50000 IGNORE */ jobs SET id=id WHERE IS_USED_LOCK('$Nk') = CONNECTION_ID()
= OK
a: SELECT RELEASE_ALL_LOCKS()
= 1
[mariadb] a: SELECT /*M!100000 GET_LOCK('$Nk',0) + */ 7
[mariadb] = 8
[mysql] a: SELECT /*M!100000 GET_LOCK('$Nk',0) + */ 7
[mysql] = 7
a: SELECT IFNULL(RELEASE_LOCK('$Nk'), 0) /*! + 1 */

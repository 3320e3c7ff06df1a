# Calls that are not evaluated in the order of the text: clauses, subqueries, and constants that a
# planner looks at first. After each, whether the lock is held, and how often.
@setup CREATE TABLE $DB.one (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.one VALUES (1,10)
a: SELECT GET_LOCK('$Na',0) WHERE RELEASE_LOCK('$Na') IS NULL
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Na',0) AS x HAVING RELEASE_LOCK('$Na')=1
= empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT RELEASE_LOCK('$Na') AS x HAVING GET_LOCK('$Na',0)=1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT RELEASE_LOCK('$Na'), x FROM (SELECT GET_LOCK('$Na',0) AS x) d
= 1 | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT RELEASE_LOCK('$Na') FROM (SELECT 1 AS x WHERE GET_LOCK('$Na',0)) d
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: WITH c AS (SELECT GET_LOCK('$Na',0) AS x), d AS (SELECT RELEASE_LOCK('$Na') AS y) SELECT y, x FROM d, c
= NULL | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Na',0) ORDER BY RELEASE_LOCK('$Na')
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Na',0), EXISTS(SELECT 1 WHERE RELEASE_LOCK('$Na'))
[mysql] = 1 | 0
[mariadb] = 1 | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT IS_USED_LOCK('$Na') FROM DUAL WHERE GET_LOCK('$Na',0)=1
= <a>
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
# MariaDB takes IS_USED_LOCK and IS_FREE_LOCK in a condition for constants, and looks at them first.
a: SELECT 1 FROM DUAL WHERE GET_LOCK('$Na',0)=1 AND IS_USED_LOCK('$Na')=CONNECTION_ID()
[mysql] = 1
[mariadb] = empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT 1 WHERE GET_LOCK('$Na',0) AND NOT IS_FREE_LOCK('$Na')
[mysql] = 1
[mariadb] = empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT 1 FROM DUAL WHERE IS_USED_LOCK('$Na')=CONNECTION_ID() AND GET_LOCK('$Na',0)=1
= empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT 1 FROM DUAL WHERE IF(GET_LOCK('$Na',0)=1,IS_USED_LOCK('$Na')=CONNECTION_ID(),0)
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 1 HAVING GET_LOCK('$Na',0)=1 AND IS_USED_LOCK('$Na')=CONNECTION_ID()
[mysql] = 1
[mariadb] = empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0

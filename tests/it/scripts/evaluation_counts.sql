# How often one call in a text is evaluated where that is not once: derived tables that are merged,
# common table expressions, unions with a limit, sorting and grouping.
a: SELECT x FROM (SELECT GET_LOCK('$Na',0) AS x) d
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT x FROM (SELECT GET_LOCK('$Na',0) AS x) d WHERE x=1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 2
a: SELECT x FROM (SELECT GET_LOCK('$Na',0) AS x LIMIT 1) d WHERE x=1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 1 FROM (SELECT GET_LOCK('$Na',0) AS x) d WHERE 1=0
= empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 1 FROM (SELECT GET_LOCK('$Na',0) AS x) d LIMIT 0
= empty
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT * FROM (SELECT 1 AS x UNION ALL SELECT GET_LOCK('$Na',0)) d LIMIT 1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: WITH c AS (SELECT GET_LOCK('$Na',0) AS x) SELECT a.x, b.x FROM c a, c b
= 1 | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = held | 2
a: WITH c AS (SELECT GET_LOCK('$Na',0) AS x) SELECT (SELECT x FROM c)
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Na',0) AS x, (SELECT x)+(SELECT x)
= 1 | 2
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 3
a: SELECT (SELECT GET_LOCK('$Na',0) LIMIT 0)
[mysql] = NULL
[mariadb] = 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT 1 WHERE EXISTS(SELECT GET_LOCK('$Na',0))
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT 1 WHERE EXISTS(SELECT GET_LOCK('$Na',0) UNION SELECT 2)
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 1 UNION SELECT GET_LOCK('$Na',0) LIMIT 1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT 1 UNION ALL SELECT GET_LOCK('$Na',0) LIMIT 1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT 1 UNION ALL SELECT GET_LOCK('$Na',0) LIMIT 1 OFFSET 1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 1 UNION ALL SELECT GET_LOCK('$Na',0) ORDER BY 1 LIMIT 1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Na',0) AS x, 5 GROUP BY x HAVING x=1
= 1 | 5
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 3
[mariadb] = held | 2
a: SELECT GET_LOCK('$Na',0) AS x ORDER BY x LIMIT 1
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GROUP_CONCAT(GET_LOCK('$Na',0))
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 2
[mariadb] = held | 1
a: SELECT SUM(GET_LOCK('$Na',0)), MIN(GET_LOCK('$Na',0))
= 1 | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 2
a: SELECT NULLIF(GET_LOCK('$Na',0),0)
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 2
a: SELECT CONCAT(NULLIF(GET_LOCK('$Na',0),0),'y')
= 1y
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 2
a: SELECT GREATEST(GET_LOCK('$Na',0),0.5)
= 1.0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 2
[mariadb] = held | 1

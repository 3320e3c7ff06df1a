# Calls in unions, subqueries, derived tables and common table expressions.
# Unions.
a: SELECT GET_LOCK('$Na',0) UNION ALL SELECT GET_LOCK('$Nb',0)
= 1; 1
a: SELECT GET_LOCK('$Na',0) UNION SELECT GET_LOCK('$Nb',0)
= 1
a: SELECT GET_LOCK('$Na',0) UNION SELECT 7 UNION ALL SELECT RELEASE_LOCK('$Nnone')
= 1; 7; NULL
a: SELECT RELEASE_ALL_LOCKS()
= 5
a: SELECT GET_LOCK('$Na',0) UNION ALL SELECT GET_LOCK('$Nb',0) LIMIT 1
= 1
a: (SELECT GET_LOCK('$Nc',0)) UNION ALL (SELECT GET_LOCK('$Nd',0) LIMIT 0)
= 1
a: SELECT GET_LOCK('$Ne',0) UNION SELECT GET_LOCK('$Nf',0) LIMIT 1
= 1
a: SELECT 1 WHERE GET_LOCK('$Ng',0)=0 UNION ALL SELECT 2 WHERE GET_LOCK('$Nh',0)=1
= 2
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng'), IS_FREE_LOCK('$Nh')
[mysql] = 0 | 1 | 0 | 1 | 0 | 1 | 0 | 0
[mariadb] = 0 | 1 | 0 | 1 | 0 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 5
[mariadb] = 6
# Subqueries.
a: SELECT (SELECT GET_LOCK('$Na',0)), (SELECT IS_FREE_LOCK('$Na'))
= 1 | 0
a: SELECT GET_LOCK('$Nb',(SELECT GET_LOCK('$Nc',0))), IF(0,(SELECT GET_LOCK('$Nd',0)),2)
= 1 | 2
a: SELECT EXISTS(SELECT GET_LOCK('$Ne',0)), NOT EXISTS(SELECT GET_LOCK('$Ne',0) WHERE 1=0)
= 1 | 1
a: SELECT 1 IN (SELECT GET_LOCK('$Nf',0)), 1 = ANY (SELECT GET_LOCK('$Ng',0)), (SELECT 1 WHERE GET_LOCK('$Nh',0)=0)
= 1 | 1 | NULL
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng'), IS_FREE_LOCK('$Nh')
= 0 | 0 | 0 | 1 | 1 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 6
a: SELECT EXISTS(SELECT 1 WHERE GET_LOCK('$Na',0)), EXISTS(SELECT 1 FROM DUAL WHERE GET_LOCK('$Nb',0)=0)
= 1 | 0
a: SELECT * FROM (SELECT GET_LOCK('$Nc',0) AS x) d
= 1
a: SELECT 1 FROM (SELECT GET_LOCK('$Nd',0) AS x) d
= 1
a: SELECT x+1, x FROM (SELECT GET_LOCK('$Ne',0) AS x, 5 AS y) d WHERE y=5
= 2 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 0 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 5
a: WITH c AS (SELECT GET_LOCK('$Na',0) AS x) SELECT 1
= 1
a: WITH c AS (SELECT GET_LOCK('$Nb',0) AS x) SELECT x FROM c
= 1
a: WITH c AS (SELECT 1 AS x) SELECT GET_LOCK('$Nc',0), x FROM c
= 1 | 1
a: WITH c AS (SELECT GET_LOCK('$Nd',0) AS x) SELECT one.x, two.x FROM c one, c two
= 1 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd')
= 1 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 3
[mariadb] = 4
[mysql] a: VALUES ROW(GET_LOCK('$Na',0),2)
[mysql] = 1 | 2
[mysql] a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 1
[mariadb] a: VALUES (GET_LOCK('$Na',0),2)
[mariadb] = 1 | 2
[mariadb] a: SELECT RELEASE_ALL_LOCKS()
[mariadb] = 1

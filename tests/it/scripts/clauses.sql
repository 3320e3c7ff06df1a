# Calls in the clauses of statements without tables, in unions and in subqueries.
a: SELECT GET_LOCK('$Na',0) WHERE 1=0
= empty
a: SELECT GET_LOCK('$Nb',0) WHERE 1
= 1
a: SELECT GET_LOCK('$Nc',0) FROM DUAL WHERE 1=0
= empty
a: SELECT GET_LOCK('$Nd',0) FROM DUAL WHERE 1=1
= 1
a: SELECT GET_LOCK('$Ne',0) LIMIT 0
= empty
a: SELECT GET_LOCK('$Nf',0) LIMIT 1 OFFSET 1
= empty
a: SELECT GET_LOCK('$Ng',0) LIMIT 5
= 1
a: SELECT FOUND_ROWS()
[mysql] = 1 W1
[mariadb] = 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng')
= 1 | 0 | 1 | 0 | 1 | 1 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 3
a: SELECT 1 WHERE GET_LOCK('$Na',0) AND GET_LOCK('$Nb',0)
= 1
a: SELECT 1 FROM DUAL WHERE GET_LOCK('$Nc',0)=1 AND IS_USED_LOCK('$Nc')=CONNECTION_ID()
[mysql] = 1
[mariadb] = empty
a: SELECT GET_LOCK('$Nd',0) FROM DUAL WHERE GET_LOCK('$Ne',0)=0
= empty
a: SELECT GET_LOCK('$Nf',0) AS f HAVING f=1
= 1
a: SELECT GET_LOCK('$Ng',0) AS g HAVING g=0
= empty
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng')
[mysql] = 0 | 0 | 0 | 1 | 0 | 0 | 0
[mariadb] = 0 | 0 | 1 | 1 | 0 | 0 | 0
b: SELECT 'in' FROM DUAL WHERE GET_LOCK('$Na',0)
= empty
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 7
[mariadb] = 6
a: SELECT 1 HAVING GET_LOCK('$Na',0)=1
= 1
a: SELECT 1 HAVING GET_LOCK('$Nb',0)=0
= empty
a: SELECT RELEASE_ALL_LOCKS()
= 2
a: SELECT GET_LOCK('$Na',0) WHERE GET_LOCK('$Nb',0) AND 1=0
= empty
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb')
= 1 | 1
# How often a call is evaluated there.
a: SELECT GET_LOCK('$Na',0) ORDER BY 1
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT GET_LOCK('$Na',0) AS x ORDER BY x DESC
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT 1 ORDER BY GET_LOCK('$Nb',0)
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 0
a: SELECT DISTINCT GET_LOCK('$Na',0)
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT GET_LOCK('$Na',0) AS x GROUP BY x
= 1
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 2
[mariadb] = 1
a: SELECT MAX(GET_LOCK('$Na',0)), COUNT(*)
= 1 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT GET_LOCK('$Na',0) AS f HAVING f=1
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 2

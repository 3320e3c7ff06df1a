# Calls inside expressions: the branch that is not taken takes no lock. Session b looks.
@also observed
a: SELECT GET_LOCK('$Nk',0) FOR UPDATE
= 1
a: SELECT GET_LOCK('$Nk',0) + 0
= 1
a: SELECT GET_LOCK('$Nk',0) = 1
= 1
a: SELECT GET_LOCK('$Nk',0) IS TRUE
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 4
a: SELECT IF(GET_LOCK('$Nk',0),'yes','no'), IF(1,GET_LOCK('$Na',0),GET_LOCK('$Nb',0)), IF(0,GET_LOCK('$Nc',0),GET_LOCK('$Nd',0))
= yes | 1 | 1
b: SELECT IS_FREE_LOCK('$Nk'), IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd')
= 0 | 0 | 1 | 1 | 0
b: SELECT IF(GET_LOCK('$Nk',0),'yes','no'), IF(GET_LOCK('$Na',0)=1,GET_LOCK('$Nb',0),GET_LOCK('$Nc',0)), RELEASE_ALL_LOCKS()
= no | 1 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
# CASE, both kinds.
a: SELECT CASE WHEN GET_LOCK('$Na',0) THEN 'a' WHEN GET_LOCK('$Nb',0) THEN 'b' ELSE 'c' END
= a
a: SELECT CASE GET_LOCK('$Nc',0) WHEN 0 THEN GET_LOCK('$Nd',0) WHEN 1 THEN GET_LOCK('$Ne',0) END
= 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 1 | 0 | 1 | 0
b: SELECT CASE WHEN GET_LOCK('$Na',0) THEN 'a' WHEN GET_LOCK('$Nb',0) THEN 'b' ELSE 'c' END, CASE 2 WHEN RELEASE_LOCK('$Nb')+1 THEN 'released' ELSE 'not' END
= b | released
b: SELECT CASE WHEN 0 THEN GET_LOCK('$Nz',0) END, CASE 5 WHEN GET_LOCK('$Na',0) THEN 1 WHEN GET_LOCK('$Nb',0) THEN 2 ELSE RELEASE_LOCK('$Nb') END, IS_FREE_LOCK('$Nb')
= NULL | 1 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
# The first that is not NULL.
a: SELECT COALESCE(NULL,GET_LOCK('$Na',0),GET_LOCK('$Nb',0)), COALESCE(RELEASE_LOCK('$Nnone'),RELEASE_LOCK('$Na'),RELEASE_LOCK('$Na'))
= 1 | 1
a: SELECT IFNULL(GET_LOCK('$Na',0),GET_LOCK('$Nb',0)), IFNULL(RELEASE_LOCK('$Nnone'),GET_LOCK('$Nc',0)), IFNULL(IS_USED_LOCK('$Nnone'),'free')
= 1 | 1 | free
a: SELECT NULLIF(GET_LOCK('$Nd',0),1), NULLIF(GET_LOCK('$Ne',0),0), NULLIF(0,GET_LOCK('$Nf',0))
= NULL | 1 | 0
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf')
= 0 | 1 | 0 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 6
# AND, OR, NOT, XOR.
a: SELECT GET_LOCK('$Na',0) AND GET_LOCK('$Nb',0), 0 AND GET_LOCK('$Nc',0), GET_LOCK('$Nd',0) AND 0, NULL AND GET_LOCK('$Ne',0)
= 1 | 0 | 0 | NULL
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 0 | 1 | 0 | 0
b: SELECT GET_LOCK('$Na',0) AND GET_LOCK('$Nf',0), GET_LOCK('$Na',0) OR GET_LOCK('$Ng',0), RELEASE_LOCK('$Nf'), RELEASE_LOCK('$Ng')
= 0 | 1 | NULL | 1
a: SELECT RELEASE_ALL_LOCKS()
= 4
a: SELECT GET_LOCK('$Na',0) OR GET_LOCK('$Nb',0), 1 OR GET_LOCK('$Nc',0), GET_LOCK('$Nd',0) OR 1, NULL OR GET_LOCK('$Ne',0)
= 1 | 1 | 1 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 1 | 1 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 3
a: SELECT NOT GET_LOCK('$Na',0), ! GET_LOCK('$Nb',0), GET_LOCK('$Nc',0) XOR 1, 0 XOR GET_LOCK('$Nd',0), NULL XOR GET_LOCK('$Ne',0), NOT(GET_LOCK('$Nf',0) OR GET_LOCK('$Ng',0))
[mysql] = 0 | 0 | 0 | 1 | NULL | 0 W1
[mariadb] = 0 | 0 | 0 | 1 | NULL | 0
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng')
= 0 | 0 | 0 | 0 | 1 | 0 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 5
a: SELECT GET_LOCK('$Na',0) && GET_LOCK('$Nb',0), GET_LOCK('$Nc',0) || GET_LOCK('$Nd',0)
[mysql] = 1 | 1 W2
[mariadb] = 1 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd')
= 0 | 0 | 0 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
# A long answer.
a: SELECT IF(1,GET_LOCK('$Nlong',0),0) AS x, LENGTH(REPEAT('x',2000000)) AS l
= 1 | 2000000
a: SELECT IF(1,GET_LOCK('$Nlong',0),0) AS x, LEFT(REPEAT('x',3000000),1100000) AS l
a: SELECT RELEASE_ALL_LOCKS()
= 2

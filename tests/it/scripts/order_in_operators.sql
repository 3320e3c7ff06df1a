# Operators that do not evaluate their operands from left to right, or not all of them: after each,
# whether the lock is held tells which call came first, and the count how often.
a: SELECT GET_LOCK('$Na',0)^RELEASE_LOCK('$Na') AS x
[mysql] = 0
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT GET_LOCK('$Na',0) OR IFNULL(RELEASE_LOCK('$Na'),0) AS x
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT LPAD(GET_LOCK('$Na',0),RELEASE_LOCK('$Na'),'x') AS x
[mysql] = 1
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT REPEAT(GET_LOCK('$Na',0),RELEASE_LOCK('$Na')) AS x
[mysql] = 1
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT LOCATE(GET_LOCK('$Na',0),RELEASE_LOCK('$Na')) AS x
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT 1 IN (GET_LOCK('$Na',0),RELEASE_LOCK('$Na')) AS x
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT GET_LOCK('$Na',0) IN (RELEASE_LOCK('$Na'),7) AS x
[mysql] = NULL
[mariadb] = 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT GET_LOCK('$Na',0) IN (7,RELEASE_LOCK('$Na')) AS x
[mysql] = NULL
[mariadb] = 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT ELT(1,GET_LOCK('$Na',0),RELEASE_LOCK('$Na')) AS x
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Na',0) NOT IN (RELEASE_LOCK('$Na'),3) AS x
[mysql] = NULL
[mariadb] = 0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT GET_LOCK('$Na',0)||RELEASE_LOCK('$Na') AS x
[mysql] = 1 W1
[mariadb] = 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK(GET_LOCK('$Na',0),RELEASE_LOCK('$Na')) AS x
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 1
[mariadb] = free | 0
a: SELECT NULLIF(GET_LOCK('$Na',0),0)
= 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 2
a: SELECT GREATEST(GET_LOCK('$Na',0),0.5)
= 1.0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 2
[mariadb] = held | 1
a: SELECT CONCAT(NULL,GET_LOCK('$Na',0))
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT NULL+GET_LOCK('$Na',0)
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 1/0+GET_LOCK('$Na',0)
= NULL W1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT NULL=GET_LOCK('$Na',0)
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT NULL IN (GET_LOCK('$Na',0),1)
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT NULL BETWEEN GET_LOCK('$Na',0) AND 1
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT 1 BETWEEN NULL AND GET_LOCK('$Na',0)
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT NULL XOR GET_LOCK('$Na',0)
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT REPEAT(NULL,GET_LOCK('$Na',0))
= NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT (2,1)=(1,GET_LOCK('$Na',0))
= 0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT (GET_LOCK('$Na',0)+NULL) <=> 1
= 0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 2
[mariadb] = held | 1
a: SELECT 1 <=> (GET_LOCK('$Na',0)+NULL)
= 0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 2
[mariadb] = held | 1
a: SELECT CASE GET_LOCK('$Na',0) WHEN 0 THEN 1 WHEN 'x' THEN 2 END
= NULL W1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 2
a: SELECT RELEASE_ALL_LOCKS() IS NULL, GET_LOCK('$Na',0), RELEASE_ALL_LOCKS() IS NULL
= 0 | 1 | 0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1

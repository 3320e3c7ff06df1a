# Evaluation after a call that fails on MySQL, and gives NULL on MariaDB: MySQL stops, but
# not everywhere. After each, whether the lock is held, and the count.
@also observed
a: SELECT RELEASE_LOCK('') AND GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT RELEASE_LOCK('')+GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT RELEASE_LOCK('')=GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT COALESCE(RELEASE_LOCK(''),GET_LOCK('$Na',0))
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT CONCAT(RELEASE_LOCK(''),GET_LOCK('$Na',0))
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT RELEASE_LOCK(''), GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT (SELECT RELEASE_LOCK('')), GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL | 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT RELEASE_LOCK('') DIV GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT 5 BETWEEN RELEASE_LOCK('') AND GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = 0
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT RELEASE_LOCK('') BETWEEN 0 AND GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT RELEASE_LOCK('') IN (GET_LOCK('$Na',0),7)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = held | 1
[mariadb] = free | 0
a: SELECT 1 IN (RELEASE_LOCK(''),GET_LOCK('$Na',0))
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT FIELD(1,RELEASE_LOCK(''),GET_LOCK('$Na',0))
[mysql] = ERR 3057/42000
[mariadb] = 2
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= held | 1
a: SELECT GET_LOCK('$Nb',0*RELEASE_LOCK('')), GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL | 1 W1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 1
[mariadb] = held | 1
a: SELECT GET_LOCK(CONCAT('$Nb',RELEASE_LOCK('')),0*GET_LOCK('$Na',0))
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1
a: SELECT GET_LOCK(RELEASE_LOCK(''),0*GET_LOCK('$Na',0))
[mysql] = ERR 3057/42000
[mariadb] = ERR 4079/HY000
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
= free | 0
a: SELECT RELEASE_LOCK('') UNION ALL SELECT GET_LOCK('$Na',0)
[mysql] = ERR 3057/42000
[mariadb] = NULL; 1
a: SELECT IF(IS_USED_LOCK('$Na') IS NULL,'free','held'), RELEASE_ALL_LOCKS()
[mysql] = free | 0
[mariadb] = held | 1

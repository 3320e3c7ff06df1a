# Names and timeouts that the server has to work out.
a: SELECT GET_LOCK(CONCAT('$N','a'),0), IS_USED_LOCK('$Na')
= 1 | <a>
b: SELECT IS_USED_LOCK(CONCAT('$N','a')), GET_LOCK(CONCAT_WS('','$N','a'),0)
= <a> | 0
a: SELECT GET_LOCK(CONCAT(DATABASE(),'.x'),0)
= 1
b: SELECT IS_USED_LOCK(CONCAT(DATABASE(),'.x')), IS_USED_LOCK('d_$N.x'), IS_FREE_LOCK(CONCAT(SCHEMA(),'.y'))
= <a> | <a> | 1
a: SELECT RELEASE_LOCK(CONCAT(DATABASE(),'.x')), RELEASE_LOCK(CONCAT('d_','$N','.x'))
= 1 | NULL
a: SELECT GET_LOCK(SUBSTRING('xx$Nsub',3),0), GET_LOCK(LEFT('$Nleft',9),0), GET_LOCK(TRIM('  $Ntrim '),0), GET_LOCK(REVERSE('x'),0)
= 1 | 1 | 1 | 1
b: SELECT IS_USED_LOCK('$Nsub'), IS_USED_LOCK('$Nl'), IS_USED_LOCK('$Ntrim')
= <a> | <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 5
a: SELECT GET_LOCK(CONCAT('$N',IF(1,'yes','no')),0), GET_LOCK(CONCAT('$N',CASE WHEN 0 THEN 'c1' ELSE 'c2' END),0), GET_LOCK(COALESCE(NULL,'$Nco'),0), GET_LOCK(IFNULL(NULL,'$Nif'),0), GET_LOCK(NULLIF('$Nni','x'),0)
= 1 | 1 | 1 | 1 | 1
b: SELECT IS_USED_LOCK('$Nyes'), IS_USED_LOCK('$Nc2'), IS_USED_LOCK('$Nco'), IS_USED_LOCK('$Nif'), IS_USED_LOCK('$Nni')
= <a> | <a> | <a> | <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 5
# NULL, empty and long ones, computed.
a: SELECT GET_LOCK(CONCAT('$N',NULL),0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT GET_LOCK(NULLIF('x','x'),0), 1
[mysql] = ERR 3057/42000
[mariadb] = NULL | 1
a: SELECT GET_LOCK(CONCAT(''),0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT GET_LOCK(SUBSTRING('$N',100),0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT GET_LOCK(REPEAT('x',65),0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK(REPEAT('x',193),0)
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
a: DO GET_LOCK(REPEAT('x',193),0)
[mysql] = ERR 4163/42000
[mariadb] = OK W1
a: SELECT GET_LOCK(CONCAT('$N',REPEAT('y',56)),0)
= 1
a: SELECT GET_LOCK(CONCAT('$N\0','cut'),0), IS_USED_LOCK('$N')
= 1 | <a>
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 2
[mariadb] = 3
# User variables.
a: SET @n = '$Nvar', @t = 0, @none = NULL
= OK
a: SELECT GET_LOCK(@n,@t), IS_USED_LOCK(@n)
= 1 | <a>
b: SELECT IS_USED_LOCK('$Nvar')
= <a>
a: SELECT GET_LOCK(@n,0), RELEASE_LOCK(@n), RELEASE_LOCK(@n), RELEASE_LOCK(@n)
= 1 | 1 | 1 | NULL
a: SELECT GET_LOCK(@none,0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT GET_LOCK(@never_set,0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT IS_FREE_LOCK(@never_set), RELEASE_LOCK(@none)
[mysql] = ERR 3057/42000
[mariadb] = NULL | NULL
a: SELECT GET_LOCK(@n,@never_set)
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1411 | Incorrect timeout value: 'NULL' for function get_lock
a: SET @i = 5, @d = 1.5, @f = 1e0, @b = x'ff00', @e = ''
= OK
a: SELECT GET_LOCK(@i,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT GET_LOCK(@d,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT GET_LOCK(@f,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT GET_LOCK(@b,0)
[mysql] = ERR 3057/42000
[mariadb] = 1
a: SELECT GET_LOCK(@e,0)
[mysql] = ERR 3057/42000
[mariadb] = NULL
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 4
[mariadb] = 1
[mysql] a: SET @n='two'
[mysql] a: SELECT GET_LOCK(CONCAT('$N',@i),0), GET_LOCK(CONCAT('$N','two'),0), GET_LOCK(CONCAT('$N',@n),0)
[mysql] = 1 | 1 | 1
[mariadb] a: SELECT GET_LOCK(CONCAT('$N',@i),0), GET_LOCK(CONCAT('$N',@n:='two'),0), GET_LOCK(CONCAT('$N',@n),0)
[mariadb] = 1 | 1 | 1
b: SELECT IS_USED_LOCK('$N5'), IS_USED_LOCK('$Ntwo')
= <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 3
# Computed timeouts.
a: SELECT GET_LOCK('$Na',0.25*2), GET_LOCK('$Nb',(SELECT 0)), GET_LOCK('$Nc',1-1), GET_LOCK('$Nd',IF(1,0,9)), GET_LOCK('$Ne',CAST('0' AS SIGNED)), GET_LOCK('$Nf',CONCAT('0','')), GET_LOCK('$Ng',-@t)
= 1 | 1 | 1 | 1 | 1 | 1 | 1
[mariadb] b: SELECT GET_LOCK('$Na',@t:=0), GET_LOCK('$Nb',(SELECT 0)), GET_LOCK('$Nc',0*5), GET_LOCK('$Nd',@t)
[mariadb] = 0 | 0 | 0 | 0
b: SELECT GET_LOCK('$Na',NULL+1)
[mysql] = 0
[mariadb] = NULL W1
b: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1411 | Incorrect timeout value: 'NULL' for function get_lock
b: SELECT GET_LOCK('$Nx',1+NULL)
[mysql] = 1
[mariadb] = NULL W1
b: SELECT GET_LOCK('$Na','0'+'x')
= 0 W1
b: SHOW WARNINGS
= Warning | 1292 | Truncated incorrect DOUBLE value: 'x'
b: SELECT RELEASE_ALL_LOCKS()
[mysql] = 1
[mariadb] = 0
a: SELECT RELEASE_ALL_LOCKS()
= 7

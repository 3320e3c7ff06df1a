# Calls in larger statements that wait: how the wait may end.
@also over_tls over_zlib over_both observed
@session a
@session b
@session k
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
a: SELECT GET_LOCK('$Nk',0)
= 1
# In time.
b!: SELECT GET_LOCK('$Nx',0), IF(1,GET_LOCK('$Nk',20),-1), GET_LOCK('$Ny',0)
a: SELECT RELEASE_LOCK('$Nk')
= 1
b?
= 1 | 1 | 1
a!: INSERT INTO t VALUES (1, GET_LOCK('$Nk',20))
b: SELECT RELEASE_LOCK('$Nk')
= 1
a?
= OK
a: SELECT * FROM t
= 1 | 1
# Not in time.
b: SELECT COALESCE(GET_LOCK('$Nk',1),7), IS_USED_LOCK('$Nk')
= 0 | <a>
b: SET @v = GET_LOCK('$Nk',1)
= OK
b: SELECT @v
= 0
# Ended by KILL QUERY.
b!: SELECT GET_LOCK('$Nz',0), IFNULL(GET_LOCK('$Nk',20),5)
k: KILL QUERY $ID(b)
= OK
b?
[mysql] = ERR 1317/70100
[mariadb] = 1 | 5
b!: SET @v = GET_LOCK('$Nk',20)
k: KILL QUERY $ID(b)
b?
[mysql] = ERR 1317/70100
[mariadb] = OK
b!: INSERT INTO t VALUES (7, IFNULL(GET_LOCK('$Nk',20),5))
k: KILL QUERY $ID(b)
b?
# By a time limit.
[mysql] b: SET max_execution_time=300
[mysql] b: SELECT IFNULL(GET_LOCK('$Nk',20),5)
[mysql] = ERR 3024/HY000
[mysql] b: SET max_execution_time=0
# By a deadlock.
a!: SELECT COALESCE(GET_LOCK('$Nx',20),3) AS x
b: SELECT GET_LOCK('$Nw',0), GET_LOCK('$Nk',20), GET_LOCK('$Nv',0)
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
b: SHOW WARNINGS
k: SELECT IS_USED_LOCK('$Nw'), IS_USED_LOCK('$Nv')
= <b> | NULL
b: SELECT RELEASE_LOCK('$Nx')
= 1
a?
= 1
a: SELECT RELEASE_ALL_LOCKS()
b: SELECT RELEASE_ALL_LOCKS()

# A wait that closes a circle ends at once, in the server's own words.
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SELECT GET_LOCK('$Nk',20)
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
a: SHOW WARNINGS
a: SELECT RELEASE_LOCK('$Nl')
h?
= 1
h: SELECT RELEASE_ALL_LOCKS()
a reset
# A name of the column's own, texts around the call; locks and transaction of the victim stay.
a: BEGIN
a: SELECT GET_LOCK('$Nl',0)
h: SELECT GET_LOCK('$Nk',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SELECT /* c */ Get_Lock ( '$Nk' , 20 ) AS `x y` FROM DUAL LIMIT 1 ;
a: SELECT ROW_COUNT()
a: SELECT 1
a: COMMIT
a: SELECT IS_USED_LOCK('$Nl')
= <a>
a reset
h?
= 1
h: SELECT RELEASE_ALL_LOCKS()
# DO, which on MariaDB lets errors pass.
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: DO GET_LOCK('$Nk',20)
[mysql] = ERR 3058/HY000
[mariadb] = OK W1
[mysql] a: SHOW WARNINGS
a reset
h?
h: SELECT RELEASE_ALL_LOCKS()
# Prepared.
a prepare g : SELECT GET_LOCK(?,?)
a prepare d : DO GET_LOCK(?,20)
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0 execute g '$Nk' 20
a: SHOW WARNINGS
[mysql] a~0 execute d '$Nk'
[mysql] a: SHOW WARNINGS
[mysql] a~0 execute g '$Nk' 20 cursor
[mysql] a: SHOW WARNINGS
a: SELECT RELEASE_ALL_LOCKS()
= 1
h?
h: SELECT RELEASE_ALL_LOCKS()
# A circle of three, and waits after it.
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
b: SELECT GET_LOCK('$Nm',0)
h!: SELECT GET_LOCK('$Nl',20)
a!: SELECT GET_LOCK('$Nm',20)
b~0: SELECT GET_LOCK('$Nk',20)
b: SELECT RELEASE_LOCK('$Nm')
a?
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 2
h?
= 1
h: SELECT RELEASE_ALL_LOCKS()
= 2
# The session that has got the error more often goes on: MariaDB counts, MySQL does not.
c connect
d connect
c: SELECT GET_LOCK('$Nc',0)
d: SELECT GET_LOCK('$Nd',0)
c!: SELECT GET_LOCK('$Nd',20)
d~0: SELECT GET_LOCK('$Nc',20)
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
[mysql] d~0: SELECT GET_LOCK('$Nc',20)
[mysql] = ERR 3058/HY000
[mariadb] d!: SELECT GET_LOCK('$Nc',20)
[mariadb] c?
[mariadb] = ERR 1213/40001
[mariadb] c: SELECT RELEASE_LOCK('$Nc')
[mariadb] d?
[mariadb] = 1
a reset
h reset
# Where a DO lets it pass, other statements do not.
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SET @r=GET_LOCK('$Nk',20)
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
a: SHOW WARNINGS
a: SELECT RELEASE_ALL_LOCKS()
h?
h: SELECT RELEASE_ALL_LOCKS()
a reset
h reset
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SELECT GET_LOCK('$Nk',20)+1 INTO @r
[mysql] = ERR 3058/HY000
[mariadb] = ERR 1213/40001
a: SHOW WARNINGS
a: SELECT RELEASE_ALL_LOCKS()
h?
h: SELECT RELEASE_ALL_LOCKS()
a reset
h reset
h: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
h!: SELECT GET_LOCK('$Nl',20)
a~0: SELECT * FROM (SELECT GET_LOCK('$Nk',20)) d
a: SELECT RELEASE_ALL_LOCKS()
h?
h: SELECT RELEASE_ALL_LOCKS()
a reset
h reset

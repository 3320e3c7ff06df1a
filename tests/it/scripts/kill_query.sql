# KILL QUERY and time limits end a wait, in the server's own words.
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
h: SELECT GET_LOCK('$Nk',0)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = NULL
a: SHOW WARNINGS
a: SELECT ROW_COUNT()
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: SELECT ROW_COUNT(), FOUND_ROWS()
# A name of the column's own, and texts around the call.
a!: SELECT /* c */ Get_Lock ( '$Nk' , 20 ) AS `x y` FROM DUAL LIMIT 1 ;
h: KILL QUERY $ID(a)
a~0?
a!: SELECT /*!50000 GET_LOCK('$Nk',20) */
h: KILL QUERY $ID(a)
a~0?
a!: SELECT GET_LOCK('$Nk',20 /* 漢 */)
h: KILL QUERY $ID(a)
a~0?
a!: SELECT GET_LOCK('$Nk',20) AS '漢'
h: KILL QUERY $ID(a)
a~0?
# DO.
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = OK
a: SHOW WARNINGS
a: SELECT 1 UNION SELECT 2
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: SELECT ROW_COUNT(), FOUND_ROWS()
# Warnings of an argument.
a!: SELECT GET_LOCK('$Nk','20abc')
h: KILL QUERY $ID(a)
a~0?
@end shuffled mysql
a: SHOW WARNINGS
a: SELECT 1/0
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
@end shuffled mariadb
a: SHOW WARNINGS
a: SELECT 1/0
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
a: SHOW COUNT(*) WARNINGS
# Prepared.
a prepare g : SELECT GET_LOCK(?,?)
a! execute g '$Nk' 20
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = NULL
a: SHOW WARNINGS
a! execute g '$Nk' 20
h: KILL QUERY $ID(a)
a~0?
a prepare d : DO GET_LOCK(?,20)
a! execute d '$Nk'
h: KILL QUERY $ID(a)
a~0?
[mysql] = ERR 1317/70100
[mariadb] = OK
a: SHOW WARNINGS
a prepare n : SELECT GET_LOCK(?,20) AS `name`
a longdata n 0 $Nk
a! execute n long
h: KILL QUERY $ID(a)
a~0?
a: SHOW WARNINGS
a! execute n '$Nk'
h: KILL QUERY $ID(a)
a~0?
# With a cursor.
a! execute g '$Nk' 20 cursor
h: KILL QUERY $ID(a)
a~0?
a: SHOW WARNINGS
[mysql] a! execute d '$Nk' cursor
[mysql] h: KILL QUERY $ID(a)
[mysql] a~0?
[mysql] a: SHOW WARNINGS
a execute g '$Nfree' 20 cursor
a fetch g 5
a: SELECT RELEASE_LOCK('$Nfree')
# The session, its transaction and its other locks are as before.
a: BEGIN
a: SELECT GET_LOCK('$Nmine',0)
= 1
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a~0?
a: SELECT 1
a: COMMIT
h: SELECT IS_USED_LOCK('$Nmine')
= <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1
# A waiter that was killed leaves the queue, the rest keep their places.
b!: SELECT GET_LOCK('$Nk',20)
c!: SELECT GET_LOCK('$Nk',20)
d!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(b)
b?
h: SELECT RELEASE_LOCK('$Nk')
c?
= 1
c: SELECT RELEASE_LOCK('$Nk')
d?
= 1
# A KILL QUERY between two statements is not remembered: holder and former waiter.
h: KILL QUERY $ID(d)
h: KILL QUERY $ID(b)
d: SELECT IS_USED_LOCK('$Nk')
= <d>
b: SELECT IS_FREE_LOCK('$Nk')
= 0
b!: SELECT GET_LOCK('$Nk',20)
d: SELECT RELEASE_LOCK('$Nk')
= 1
b~0?
= 1
b: SELECT ROW_COUNT(), FOUND_ROWS()
# The process list shows the wait.
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT COMMAND, STATE FROM information_schema.PROCESSLIST WHERE ID=$ID(a)
# The connection killed: closed without a word, and its locks are free.
h: KILL $ID(a)
a gone
= empty; closed
a close
a connect
a: SELECT GET_LOCK('$Nown',0)
a!: DO GET_LOCK('$Nk',20)
h: KILL CONNECTION $ID(a)
a gone
= empty; closed
h: SELECT GET_LOCK('$Nown',5)
= 1
a close

# Lock calls executed with a cursor: the call is at the execution, the row at the fetch.
@client own mysqlnd pdo pymysql connector-python mysql2 mariadb-java connector-j libmysqlclient
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a prepare g : SELECT GET_LOCK(?,?)
a execute g cursor '$Nk' 0
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: SELECT FOUND_ROWS(), ROW_COUNT()
a fetch g 1
a: SELECT 1 UNION SELECT 2
a fetch g 0
a: SELECT FOUND_ROWS(), ROW_COUNT()
a fetch g 1
a fetch g 1
= ERR 1421/HY000
a execute g cursor '$Nk' 0
a: SELECT 1 UNION SELECT 2
a: SELECT 1/0
a fetch g 5
@end shuffled mysql
a: SHOW WARNINGS
a fetch g 1
= ERR 1421/HY000
b prepare g : SELECT GET_LOCK(?,0)
b execute g cursor '$Nk'
b fetch g 1
b fetch g 1
# Another execution, a reset and a close end a cursor.
a execute g cursor '$Nl' 0
a execute g cursor '$Nl' 0
a fetch g 1
a resetstmt g
a fetch g 1
a execute g cursor '$Nl' 0
a closestmt g
a prepare g : SELECT GET_LOCK(?,?)
a fetch g 1
# The server's own cursor and the proxy's after each other.
a execute g cursor null 0
a execute g cursor '$Nm' 0
a fetch g 1
a fetch g 1
a fetch g 1
[mariadb] a execute g cursor null 0
[mariadb] a fetch g 2
a execute g cursor '$Nm' 0
a execute g cursor null 0
a fetch g 2
a: SELECT 1/0
a execute g cursor '$Nm' 'abc'
a: SHOW WARNINGS
a execute g cursor '$Nm' 'abc'
a fetch g 1
a: SHOW WARNINGS
a execute g cursor '$Né' 0
a fetch g 1
a fetch g 1
a prepare u : SELECT IS_USED_LOCK(?) AS used
a execute u cursor '$Nnone'
a fetch u 2
a prepare f : SELECT IS_FREE_LOCK(?) AS `a very long alias, of more than sixty-four characters, but not xx`
a execute f cursor '$Nk'
a fetch f 2
a prepare f : SELECT IS_FREE_LOCK( /* $REP(x,200) */ ?)
a execute f cursor '$Nk'
a fetch f 2
a prepare r : SELECT RELEASE_LOCK(?) LIMIT 1
a execute r cursor '$Nl'
a fetch r 2
a execute r cursor '$Nnone'
a fetch r 2
a prepare all : SELECT RELEASE_ALL_LOCKS()
a: BEGIN
a execute all cursor
a fetch all 1
a: DO 1
a fetch all 1
a: COMMIT
# MySQL runs DO as a SELECT.
a prepare d : DO GET_LOCK(?,?)
a execute d cursor '$Nk' 0
a fetch d 1
a fetch d 1
a prepare d : DO  RELEASE_LOCK( /* c */ ? )
a execute d cursor '$Nk'
a: SELECT FOUND_ROWS(), ROW_COUNT()
a fetch d 1
a fetch d 1
# Another statement's cursor is open meanwhile, two of the proxy's are.
a prepare o : SELECT 1 UNION SELECT 2
a execute o cursor
a prepare g2 : SELECT GET_LOCK(?,?)
a execute g cursor '$Nk' 0
a execute g2 cursor '$Nk' 0
a fetch o 1
a fetch g2 1
a fetch g 1
a fetch o 5
a fetch g 1
a fetch g2 1
a execute g cursor '$Nk' 0
a reset
a fetch g 1
# Commands one after the other: the response to an execution with a cursor ends before the fetch.
b prepare o : SELECT 1 UNION SELECT 2
b execute o cursor
b: SELECT GET_LOCK('$Nb',0)
= 1
b fetch o 1
b: SELECT RELEASE_LOCK('$Nb')
= 1

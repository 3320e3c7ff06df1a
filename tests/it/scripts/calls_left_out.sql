# Calls that look as if they were evaluated, and the other way round.
@client own connector-j libmysqlclient go
@setup CREATE TABLE $DB.one (n INT)
@setup INSERT INTO $DB.one VALUES (1)
a: SET sql_select_limit=0
a: SET @x = IF(1,GET_LOCK('$Na',0),0)
a: SET @y = 1 + GET_LOCK('$Nb',0)
a: SET sql_select_limit=DEFAULT
a: SELECT @x, @y
= 1 | 2
a: SELECT RELEASE_ALL_LOCKS()
= 2
a: SET @x = 0 AND 1 = GET_LOCK('$Na',0)
a: SELECT @x, RELEASE_ALL_LOCKS()
= 0 | 0
a: SELECT {fn GET_LOCK('$Na',0)+1}, 2
= 2 | 2
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT 9223372036854775807+1, GET_LOCK('$Na',0)
a: SELECT RELEASE_ALL_LOCKS()
= 0
# A name that is another when it is evaluated again.
a: SELECT GET_LOCK(IF((@i:=IFNULL(@i,0)+1)<3,NULL,'$Na'),0)
b: SELECT IS_FREE_LOCK('$Na')
= 1
a: SELECT /*+ SET_VAR(sql_select_limit=0) */ GET_LOCK('$Na',0), 1
a: SELECT RELEASE_ALL_LOCKS()
a: SELECT GET_LOCK('$Na',0), 1 FETCH FIRST 0 ROWS ONLY
a: SELECT RELEASE_ALL_LOCKS()
a: SELECT GET_LOCK('$Na',0), 1 OFFSET 1 ROWS
a: SELECT RELEASE_ALL_LOCKS()
# Changed once.
a: WITH c AS (SELECT IS_FREE_LOCK('$Na') g) UPDATE one JOIN c SET one.n = one.n + 1
a: SELECT n FROM one
a: SELECT RELEASE_ALL_LOCKS()

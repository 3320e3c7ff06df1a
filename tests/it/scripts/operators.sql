# Calls as operands: comparisons, ranges, casts, arithmetic. All operands are evaluated, in order.
a: SELECT GET_LOCK('$Na',0)=1, 1=GET_LOCK('$Na',0), GET_LOCK('$Nb',0)<>GET_LOCK('$Nc',0), GET_LOCK('$Na',0)>0, 0>=GET_LOCK('$Na',0)
= 1 | 1 | 0 | 1 | 0
a: SELECT GET_LOCK('$Na',0)<=>1, RELEASE_LOCK('$Nnone')<=>NULL, NULL<=>GET_LOCK('$Nd',0), IS_USED_LOCK('$Nnone')<=>IS_USED_LOCK('$Nnone')
= 1 | 1 | 0 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd')
= 0 | 0 | 0 | 0
a: SELECT NULL=GET_LOCK('$Ne',0), GET_LOCK('$Nf',0)=NULL, NULL+GET_LOCK('$Ng',0)
= NULL | NULL | NULL
b: SELECT IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng')
= 1 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 10
a: SELECT IS_USED_LOCK('$Na')=CONNECTION_ID(), GET_LOCK('$Na',0), IS_USED_LOCK('$Na')=CONNECTION_ID(), CONNECTION_ID()=IS_USED_LOCK('$Na')
= NULL | 1 | 1 | 1
b: SELECT IS_USED_LOCK('$Na')=CONNECTION_ID(), IS_USED_LOCK('$Na')=$ID(a), IS_USED_LOCK('$Na')<>CONNECTION_ID(), IF(IS_USED_LOCK('$Na')=CONNECTION_ID(),'mine','not mine')
= 0 | 1 | 1 | not mine
a: SELECT IFNULL(IS_USED_LOCK('$Na')=CONNECTION_ID(),0), IFNULL(IS_USED_LOCK('$Nnone')=CONNECTION_ID(),0)
= 1 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 1
# Ranges and lists.
a: SELECT GET_LOCK('$Na',0) IN (0,1), GET_LOCK('$Nb',0) NOT IN (5,6), 1 IN (1,GET_LOCK('$Nc',0)), 1 IN (GET_LOCK('$Nd',0),GET_LOCK('$Ne',0)), 7 IN (GET_LOCK('$Nf',0),GET_LOCK('$Ng',0))
= 1 | 1 | 1 | 1 | 0
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng')
[mysql] = 0 | 0 | 0 | 0 | 0 | 0 | 0
[mariadb] = 0 | 0 | 1 | 0 | 1 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 7
[mariadb] = 5
a: SELECT GET_LOCK('$Na',0) BETWEEN 0 AND 1, 5 BETWEEN GET_LOCK('$Nb',0) AND GET_LOCK('$Nc',0), 0 BETWEEN GET_LOCK('$Nd',0) AND GET_LOCK('$Ne',0), GET_LOCK('$Nf',0) NOT BETWEEN 2 AND 3
= 1 | 0 | 0 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf')
= 0 | 0 | 0 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 6
a: SELECT INTERVAL(GET_LOCK('$Na',0),0,1,2), ELT(GET_LOCK('$Nb',0),'one','two'), FIELD(1,GET_LOCK('$Nc',0),GET_LOCK('$Nd',0)), ELT(2,GET_LOCK('$Ne',0),GET_LOCK('$Nf',0)), (GET_LOCK('$Ng',0),2)=(1,2)
= 2 | one | 1 | 1 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf'), IS_FREE_LOCK('$Ng')
= 0 | 0 | 0 | 1 | 1 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 5
a: SELECT (GET_LOCK('$Na',0),GET_LOCK('$Nb',0))=(1,1), (0,GET_LOCK('$Nc',0))=(1,1), (GET_LOCK('$Nd',0),1) IN ((1,1),(GET_LOCK('$Ne',0),2))
= 1 | 0 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 0 | 1 | 0 | 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
# Tests for NULL and truth.
a: SELECT GET_LOCK('$Na',0) IS NULL, GET_LOCK('$Nb',0) IS NOT NULL, GET_LOCK('$Nc',0) IS TRUE, GET_LOCK('$Nd',0) IS NOT FALSE, GET_LOCK('$Ne',0) IS UNKNOWN, ISNULL(GET_LOCK('$Nf',0)), RELEASE_LOCK('$Nnone') IS NULL, RELEASE_ALL_LOCKS() IS NULL
= 0 | 1 | 1 | 1 | 0 | 0 | 1 | 0
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne'), IS_FREE_LOCK('$Nf')
= 0 | 0 | 0 | 0 | 0 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 6
# Other types.
a: SELECT CAST(GET_LOCK('$Na',0) AS CHAR), CAST(GET_LOCK('$Na',0) AS UNSIGNED), CAST(GET_LOCK('$Na',0) AS DECIMAL(5,2)), CONVERT(GET_LOCK('$Na',0),CHAR), CONCAT('got ',GET_LOCK('$Na',0)), CONCAT(GET_LOCK('$Nb',0),GET_LOCK('$Nc',0),IS_FREE_LOCK('$Nd'))
= 1 | 1 | 1.00 | 1 | got 1 | 111
a: SELECT RELEASE_ALL_LOCKS()
= 7
a: SELECT GET_LOCK('$Na',0)+GET_LOCK('$Nb',0), GET_LOCK('$Na',0)*10-1, -GET_LOCK('$Na',0), GET_LOCK('$Na',0)/2, GET_LOCK('$Na',0) DIV 1, GET_LOCK('$Na',0)%2, GET_LOCK('$Na',0)|2, ~GET_LOCK('$Na',0), GET_LOCK('$Na',0)<<3
= 2 | 9 | -1 | 0.5000 | 1 | 1 | 3 | 18446744073709551614 | 8
a: SELECT RELEASE_ALL_LOCKS()+1, RELEASE_ALL_LOCKS()*1.0, GREATEST(GET_LOCK('$Na',0),GET_LOCK('$Nb',0),5), LEAST(0,GET_LOCK('$Nc',0)), GREATEST(NULL,GET_LOCK('$Nd',0)), MOD(GET_LOCK('$Ne',0),2), ABS(RELEASE_LOCK('$Ne'))
= 11 | 0.0 | 5 | 0 | NULL | 1 | 1
b: SELECT IS_FREE_LOCK('$Na'), IS_FREE_LOCK('$Nb'), IS_FREE_LOCK('$Nc'), IS_FREE_LOCK('$Nd'), IS_FREE_LOCK('$Ne')
= 0 | 0 | 0 | 1 | 1
b: SELECT GET_LOCK('$Na',0)+GET_LOCK('$Ne',0), CONCAT('b ',GET_LOCK('$Nb',0)), GREATEST(RELEASE_LOCK('$Na'),RELEASE_LOCK('$Ne'))
= 1 | b 0 | 1
a: SELECT LPAD(GET_LOCK('$Na',0),3,'0'), HEX(GET_LOCK('$Na',0)), REPEAT('x',GET_LOCK('$Na',0)), LENGTH(IS_FREE_LOCK('$Na')), CHAR(64+GET_LOCK('$Na',0) USING utf8mb4), ROUND(GET_LOCK('$Na',0),1)
= 001 | 1 | x | 1 | A | 1
a: SELECT 1/0, GET_LOCK('$Na',0), GET_LOCK('$Na',0)/0
= NULL | 1 | NULL W2
a: SHOW WARNINGS
= Warning | 1365 | Division by 0; Warning | 1365 | Division by 0
a: SELECT 'x'+GET_LOCK('$Na',0), GET_LOCK('$Na',0)='one'
= 1 | 0 W2
a: SHOW WARNINGS
[mysql] = Warning | 1292 | Truncated incorrect DOUBLE value: 'x'; Warning | 1292 | Truncated incorrect DOUBLE value: 'one'
[mariadb] = Warning | 1292 | Truncated incorrect DOUBLE value: 'x'; Warning | 1292 | Truncated incorrect DECIMAL value: 'one'
a: SELECT RELEASE_ALL_LOCKS()
= 12

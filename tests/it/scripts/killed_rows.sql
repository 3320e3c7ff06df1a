# A KILL QUERY that ends a wait in MariaDB ends the statement too, if the statement reaches another row.
@only mariadb
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.t VALUES (1,1),(2,2)
h: SELECT GET_LOCK('$Nk',0)
a!: SELECT * FROM (SELECT GET_LOCK('$Nk',20)) d
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a!: WITH c AS (SELECT GET_LOCK('$Nk',20) g) SELECT * FROM c
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a!: SELECT GET_LOCK('$Nk',20) UNION SELECT 5
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a!: SELECT 5 UNION SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
# Elsewhere it goes on with NULL.
a!: SELECT (SELECT GET_LOCK('$Nk',20))
h: KILL QUERY $ID(a)
a?
@end shuffled mariadb
a: SHOW WARNINGS
a!: SELECT IFNULL((SELECT GET_LOCK('$Nk',20)),8)
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a!: INSERT INTO t VALUES (9,GET_LOCK('$Nk',20)),(10,1)
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a!: SET @r=GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a!: SELECT GET_LOCK('$Nk',20), 2
h: KILL QUERY $ID(a)
a?
a: SHOW WARNINGS
a: SELECT * FROM t

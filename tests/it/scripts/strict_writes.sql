# Warnings of a timeout are errors where rows are written in a strict mode; the lock stays.
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.t VALUES (1,1)
a: INSERT INTO t VALUES (5,GET_LOCK('$Nk','abc'))
= ERR 1292/22007
a: SHOW WARNINGS
b: SELECT IS_USED_LOCK('$Nk'), COUNT(*) FROM t
= <a> | 1
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: INSERT INTO t VALUES (5,GET_LOCK('$Nk','0.5'))
[mysql] = ERR 1292/22007
a: REPLACE INTO t VALUES (1,GET_LOCK('$Nk',''))
= ERR 1292/22007
a: INSERT INTO t SELECT 6,GET_LOCK('$Nk','abc')
= ERR 1292/22007
a: SELECT RELEASE_ALL_LOCKS()
= 3
b: SELECT GET_LOCK('$Nheld',0)
a: INSERT INTO t VALUES (7,GET_LOCK('$Nheld','abc'))
= ERR 1292/22007
a: INSERT IGNORE INTO t VALUES (5,GET_LOCK('$Nk','abc'))
a: SHOW WARNINGS
a: SET sql_mode=''
a: INSERT INTO t VALUES (8,GET_LOCK('$Nk','abc'))
= OK W1
a: SHOW WARNINGS
a: INSERT INTO t VALUES (9,GET_LOCK('$Nheld','abc'))
= OK W1
a: SELECT * FROM t ORDER BY id
a: SET @a=GET_LOCK('$Nk','abc')
a: SHOW WARNINGS

# Calls that take locks inside INSERT, UPDATE, DELETE and REPLACE, and EXPLAIN, which does not.
@setup CREATE TABLE $DB.one (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.one VALUES (1,10)
@setup CREATE TABLE $DB.log (id INT PRIMARY KEY AUTO_INCREMENT, v INT, t VARCHAR(20))
a: INSERT INTO log (v) VALUES (GET_LOCK('$Na',0))
= OK
a: SELECT LAST_INSERT_ID(), ROW_COUNT()
= 1 | 1
a: INSERT INTO log (v,t) VALUES (GET_LOCK('$Nb',0),'one'), (IS_FREE_LOCK('$Nb'),'two')
= OK
a: INSERT INTO log (v,t) VALUES (RELEASE_LOCK('$Nb'),IFNULL(RELEASE_LOCK('$Nb'),'three'))
= OK
a: INSERT INTO log (v,t) VALUES (0 AND GET_LOCK('$Nb',0),'none')
= OK
b: INSERT INTO log (v,t) VALUES (GET_LOCK('$Na',0), IF(GET_LOCK('$Nb',0),'got','busy'))
= OK
a: INSERT INTO log SET v=IS_USED_LOCK('$Na')=CONNECTION_ID(), t='set'
= OK
a: INSERT INTO log (v) SELECT GET_LOCK('$Nc',0)
= OK
a: INSERT INTO log SET t='taken', v=GET_LOCK('$Nd',0)
= OK
a: REPLACE INTO log (v, t) SELECT 10, IF(GET_LOCK('$Ne',0), 'taken', 'busy') FROM DUAL
= OK
a: SELECT v, t FROM log ORDER BY id
= 1 | NULL; 1 | one; 0 | two; 1 | three; 0 | none; 0 | got; 1 | set; 1 | NULL; 1 | taken; 10 | taken
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc'), IS_USED_LOCK('$Nd'), IS_USED_LOCK('$Ne')
= <a> | <b> | <a> | <a> | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 4
b: SELECT RELEASE_ALL_LOCKS()
= 1
# The statement fails, the lock stays.
a: INSERT INTO one VALUES (1,GET_LOCK('$Na',0))
= ERR 1062/23000
a: INSERT INTO one (id) VALUES (GET_LOCK('$Nb',0))
= ERR 1062/23000
a: INSERT INTO one VALUES (5,GET_LOCK('$Nc',0)),(1,IS_FREE_LOCK('$Nc'))
= ERR 1062/23000
a: INSERT INTO one VALUES (7,GET_LOCK(NULL,GET_LOCK('$Nf',0)))
[mysql] = ERR 3057/42000
[mariadb] = OK
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc'), IS_USED_LOCK('$Nd'), IS_USED_LOCK('$Ne'), IS_USED_LOCK('$Nf')
= <a> | <a> | <a> | NULL | NULL | <a>
a: SELECT * FROM one ORDER BY id
[mysql] = 1 | 10
[mariadb] = 1 | 10; 7 | NULL
a: DELETE FROM one WHERE id>1
= OK
a: SELECT RELEASE_ALL_LOCKS()
= 4
a: INSERT IGNORE INTO one VALUES (1,GET_LOCK('$Na',0))
= OK W1
a: SHOW WARNINGS
[mysql] = Warning | 1062 | Duplicate entry '1' for key 'one.PRIMARY'
[mariadb] = Warning | 1062 | Duplicate entry '1' for key 'PRIMARY'
a: REPLACE INTO one VALUES (1,GET_LOCK('$Nb',0))
= OK
a: INSERT INTO one VALUES (1,5) ON DUPLICATE KEY UPDATE v=v+IS_FREE_LOCK('$Nc')
= OK
a: INSERT INTO one VALUES (2,5) ON DUPLICATE KEY UPDATE v=v+IS_FREE_LOCK('$Nd')
= OK
a: SELECT * FROM one ORDER BY id
= 1 | 2; 2 | 5
a: DELETE FROM one WHERE id=2
= OK
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc'), IS_USED_LOCK('$Nd')
= <a> | <a> | NULL | NULL
a: SELECT RELEASE_ALL_LOCKS()
= 2
a: INSERT INTO one VALUES (1,GET_LOCK('$Na',0)) ON DUPLICATE KEY UPDATE v=50+IS_FREE_LOCK('$Nb')
= OK
b: INSERT INTO one VALUES (1,GET_LOCK('$Na',0)) ON DUPLICATE KEY UPDATE v=v+IS_FREE_LOCK('$Na')
= OK
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb')
= <a> | NULL
a: SELECT * FROM one
= 1 | 51
a: SELECT RELEASE_ALL_LOCKS()
= 1
# In a transaction: a rollback undoes the row and not the lock.
a: BEGIN
= OK
a: INSERT INTO one VALUES (8,GET_LOCK('$Na',0))
= OK
a: ROLLBACK
= OK
a: SELECT COUNT(*), IS_USED_LOCK('$Na') FROM one
= 1 | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1
# EXPLAIN.
a: EXPLAIN SELECT GET_LOCK('$Na',0)
[mysql] = -> Rows fetched before execution  (cost=0..0 rows=1)\x0a
[mariadb] = 1 | SIMPLE | NULL | NULL | NULL | NULL | NULL | NULL | NULL | No tables used
a: DESCRIBE SELECT 1, GET_LOCK('$Na',0)
[mysql] = -> Rows fetched before execution  (cost=0..0 rows=1)\x0a
[mariadb] = 1 | SIMPLE | NULL | NULL | NULL | NULL | NULL | NULL | NULL | No tables used
a: EXPLAIN INSERT INTO one VALUES (9,GET_LOCK('$Na',0))
[mysql] = -> Insert into one\x0a    -> Rows fetched before execution\x0a
[mariadb] = 1 | INSERT | one | ALL | NULL | NULL | NULL | NULL | NULL | NULL
b: SELECT IS_USED_LOCK('$Na')
= NULL
a: SELECT RELEASE_ALL_LOCKS()
= 0

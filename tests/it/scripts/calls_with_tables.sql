# Calls with constant arguments in statements over tables. Where the servers evaluate a call for
# each row or once, a table has one row, so that both come to the same.
@setup CREATE TABLE $DB.one (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.one VALUES (1,10)
@setup CREATE TABLE $DB.three (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.three VALUES (1,10),(2,20),(3,30)
@setup CREATE TABLE $DB.log (id INT PRIMARY KEY AUTO_INCREMENT, v INT, UNIQUE (v))
# Writes that a lock fences.
a: SELECT GET_LOCK('$Nk',0)
= 1
a: INSERT INTO log (v) SELECT 1 FROM DUAL WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
b: INSERT INTO log (v) SELECT 2 FROM DUAL WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
a: INSERT INTO log (v) SELECT 3 FROM one WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
b: INSERT INTO log (v) SELECT v FROM three WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
a: UPDATE three SET v=v+1 WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
b: UPDATE three SET v=v+100 WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
b: UPDATE three SET v=v+1 WHERE id=2 AND IS_FREE_LOCK('$Nk')
= OK
b: UPDATE three SET v=v+1 WHERE id=2 AND IS_FREE_LOCK('$Nnone')
= OK
b: DELETE FROM three WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
b: DELETE FROM log WHERE v=3 AND NOT IS_FREE_LOCK('$Nk')
= OK
a: SELECT id, v FROM three ORDER BY id
= 1 | 11; 2 | 22; 3 | 31
a: SELECT v FROM log ORDER BY v
= 1
a: REPLACE INTO one SELECT 1, 11 FROM DUAL WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
b: REPLACE INTO one SELECT 1, 12 FROM DUAL WHERE IS_USED_LOCK('$Nk')=CONNECTION_ID()
= OK
a: INSERT INTO one VALUES (1,5) ON DUPLICATE KEY UPDATE v=IF(IS_USED_LOCK('$Nk')=CONNECTION_ID(),20,21)
= OK
b: INSERT INTO one VALUES (1,5) ON DUPLICATE KEY UPDATE v=IF(IS_USED_LOCK('$Nk')=CONNECTION_ID(),v+1,v)
= OK
a: SELECT * FROM one
= 1 | 20
a: SELECT ROW_COUNT(), LAST_INSERT_ID()
= -1 | 2
# A select list and a WHERE over rows.
b: SELECT id, IS_USED_LOCK('$Nk'), IS_FREE_LOCK('$Nnone') FROM three ORDER BY id
= 1 | <a> | 1; 2 | <a> | 1; 3 | <a> | 1
b: SELECT id FROM three WHERE IS_FREE_LOCK('$Nk') ORDER BY id
= empty
b: SELECT id FROM three WHERE IS_USED_LOCK('$Nk')=$ID(a) ORDER BY id LIMIT 2
= 1; 2
b: SELECT COUNT(*), SUM(IS_FREE_LOCK('$Nk')), MAX(IS_USED_LOCK('$Nk')) FROM three
= 3 | 0 | <a>
b: SELECT IS_FREE_LOCK('$Nk') AS f, COUNT(*) FROM three GROUP BY f
= 0 | 3
b: SELECT id FROM three WHERE id=1 ORDER BY IS_FREE_LOCK('$Nk')
= 1
b: SELECT id, (SELECT IS_USED_LOCK('$Nk')) u FROM one
= 1 | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1
# Beside what is read, and evaluated by itself.
a: SET @v = GET_LOCK('$Nk',0), @w = (SELECT COUNT(*) FROM three)
= OK
b: SET @v = NOT GET_LOCK('$Nk',0) AND IS_USED_LOCK('$Nk') = $ID(a), @w = (SELECT COUNT(*) FROM three)
= OK
b: SELECT @v, @w
= 1 | 3
b: DO GET_LOCK('$Nl',0), (SELECT COUNT(*) FROM one)
= OK
b: SELECT RELEASE_LOCK('$Nl')
= 1
b: SELECT RELEASE_ALL_LOCKS()
= 0
a: SELECT RELEASE_ALL_LOCKS()
= 1
b: SELECT IS_FREE_LOCK('$Nk')
= 1

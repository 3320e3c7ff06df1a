# Statements around an expression, $E, one a line. Those with * get all expressions, the others those
# with *. Those with + are refused for no expression with +.
+* SELECT $E
+ SELECT 1, $E AS x
+ DO $E
+ DO 1, $E
+ SET @x = $E
+* SET @y = 1, @x = $E
+ SELECT $E INTO @x
+ SELECT 1 FROM DUAL WHERE $E
+ SELECT $E LIMIT 0
+* INSERT INTO t (id, v) VALUES (78, $E)
+ INSERT INTO t (v, id) VALUES ($E, 79)
+ INSERT INTO t SET id = 78, v = $E
+ REPLACE INTO t (id, v) VALUES (1, $E)
CALL p($E)
CALL q(5, $E)
+ INSERT INTO t (id, v) SELECT 78, $E
INSERT INTO t (id, v) SELECT 78, $E FROM one
INSERT INTO t (id, v) SELECT 78, 1 FROM DUAL WHERE $E
INSERT INTO t (id, v) VALUES (1, 1) ON DUPLICATE KEY UPDATE v = $E
INSERT INTO t (id, v) VALUES (78, 1) ON DUPLICATE KEY UPDATE v = $E
+ INSERT INTO t (id, v) VALUES (78, $E) ON DUPLICATE KEY UPDATE v = 5
UPDATE t SET v = $E WHERE id = 1
UPDATE t SET v = $E WHERE id = 99
UPDATE t SET v = 3 WHERE $E
DELETE FROM t WHERE $E
DELETE FROM t WHERE id = 99 AND $E
SELECT $E FROM one
SELECT $E FROM none
SELECT id FROM three WHERE $E

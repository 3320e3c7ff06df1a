# Texts that only mention the words are no calls.
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a: CREATE TABLE t (id INT PRIMARY KEY, get_lock VARCHAR(64), `release_lock` INT, note TEXT)
= OK
a: INSERT INTO t VALUES (1, 'GET_LOCK(''$Nk'',0)', 2, 'GET_LOCK failed')
= OK
a: INSERT INTO t VALUES (2, "RELEASE_ALL_LOCKS()", 3, 'IS_USED_LOCK ( x )')
= OK
a: SELECT get_lock FROM t ORDER BY id
= GET_LOCK('$Nk',0); RELEASE_ALL_LOCKS()
a: SELECT get_lock, release_lock FROM t WHERE note LIKE '%GET_LOCK%'
a: SELECT t.get_lock FROM t WHERE t.`release_lock` = 2
a: SELECT get_lock FROM t WHERE (get_lock) IS NOT NULL LIMIT 1
a: SELECT 'SELECT GET_LOCK(''$Nk'',0)'
a: SELECT "GET_LOCK('$Nk',0)"
a: SELECT 'it\'s GET_LOCK(1,2)', "a \" GET_LOCK(1,2)"
a: SELECT 1 AS `GET_LOCK('$Nk',0)`
= 1
a: SELECT 1 AS `a``GET_LOCK(1,1)`
= 1
a: SELECT 1 AS get_lock, 2 release_lock
= 1 | 2
a: SELECT get_lock.id FROM t get_lock WHERE get_lock.id = 1
= 1
a: SELECT id get_lock FROM t WHERE id IN (1) -- GET_LOCK(
= 1
a: UPDATE t SET get_lock = 'is_free_lock(x)' WHERE id = 2
= OK
a: DELETE FROM t WHERE get_lock = 'GET_LOCK(''x'', 1)'
= OK
a: SET @get_lock = 'GET_LOCK(1,1)'
= OK
a: SELECT @get_lock
= GET_LOCK(1,1)
a: SELECT @`get_lock` ('x')
= ERR 1064/42000
a: CREATE TABLE get_lock (id INT)
= OK
a: INSERT INTO get_lock (id) VALUES (1)
= OK
a: INSERT INTO get_lock(id) VALUES (2)
a: SELECT * FROM get_lock
a: DROP TABLE get_lock
= OK
a: SELECT GET_LOCKS, GETLOCK FROM t
= ERR 1054/42S22
a: SELECT * FROM nosuch /* RELEASE_LOCK('x') */
= ERR 1146/42S02
a: SHOW COLUMNS FROM t LIKE 'get_lock'
a: EXPLAIN FORMAT=TRADITIONAL SELECT get_lock FROM t
a: SELECT IS_FREE_LOCK('$Nk')
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 0

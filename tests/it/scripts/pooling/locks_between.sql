# Locks taken, held and released between everything else: they disturb nothing, and nothing them.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB
@setup INSERT INTO $DB.t (v) VALUES (1), (2), (3)
@setup CREATE PROCEDURE $DB.noop() BEGIN END

# Held over transactions of every end.
a: SELECT GET_LOCK('$N.one', 0)
= 1
a: BEGIN
a: UPDATE t SET v = 5 WHERE id = 1
a: SELECT GET_LOCK('$N.two', 0)
= 1
a: ROLLBACK
b: SELECT IS_FREE_LOCK('$N.one'), IS_FREE_LOCK('$N.two')
= 0 | 0
a: BEGIN
a: SELECT RELEASE_LOCK('$N.one')
= 1
b: SELECT GET_LOCK('$N.one', 0)
= 1
a: COMMIT
b: SELECT RELEASE_LOCK('$N.one')
= 1
a: SELECT IS_USED_LOCK('$N.two')
= <a>
a: SELECT v FROM t
= 1; 2; 3

# Waited for, inside and outside of a transaction.
a: SET @x = 'kept', SESSION max_sp_recursion_depth = 4
a: BEGIN
a: UPDATE t SET v = 6 WHERE id = 1
b: SELECT GET_LOCK('$N.w', 0)
= 1
a!: SELECT GET_LOCK('$N.w', 20)
b: SELECT RELEASE_LOCK('$N.w')
= 1
a?
= 1
a: SELECT @x, @@max_sp_recursion_depth, v FROM t WHERE id = 1
= kept | 4 | 6
a: COMMIT
b!: SELECT GET_LOCK('$N.w', 20)
a: SELECT RELEASE_LOCK('$N.w')
= 1
b?
= 1
b: SELECT RELEASE_LOCK('$N.w')
= 1
c: CREATE TEMPORARY TABLE tmp AS SELECT 7 AS v
c!: SELECT GET_LOCK('$N.two', 20)
a: SELECT RELEASE_LOCK('$N.two')
= 1
c?
= 1
c: SELECT v FROM tmp
= 7
c: DROP TABLE tmp

# Counted: as often released as taken, whatever is in between.
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: CALL noop()
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: CREATE TABLE x (id INT)
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT RELEASE_LOCK('$N.d')
= 1
d: LOCK TABLES t READ
d: SELECT RELEASE_LOCK('$N.d')
= 1
d: UNLOCK TABLES
b: SELECT IS_FREE_LOCK('$N.d')
= 0
d: SELECT RELEASE_LOCK('$N.d')
= 1
d: SELECT RELEASE_LOCK('$N.d')
= NULL
b: SELECT IS_FREE_LOCK('$N.d')
= 1

# By prepared statements, whose state is another.
e: SET NAMES latin1
e: SET @v = 1
e prepare g : SELECT GET_LOCK(?, ?), @v
e prepare r : SELECT RELEASE_LOCK(?)
e: SET NAMES utf8mb4
e execute g '$N.e' 0
= 1 | 1
e: SET sql_mode = ''
e: SET @v = 2
e execute g '$N.e' 0
= 1 | 2
e: SET sql_mode = DEFAULT
e execute r '$N.e'
= 1
e execute r '$N.e'
= 1
e execute r '$N.e'
= NULL
e: PREPARE q FROM 'SELECT GET_LOCK(?, 0)'
e: SET @n = '$N.q'
e: EXECUTE q USING @n
= 1
e: DO 1
e: EXECUTE q USING @n
= 1
e: DEALLOCATE PREPARE q
e: SELECT RELEASE_ALL_LOCKS()
= 2

# Ids, counts, found rows and warnings around a lock.
f: INSERT INTO t (v) VALUES (9)
f: SELECT GET_LOCK('$N.f', 0), LAST_INSERT_ID()
= 1 | 4
f: SELECT RELEASE_LOCK('$N.f'), LAST_INSERT_ID()
= 1 | 4
f: SELECT LAST_INSERT_ID(55)
= 55
f: SELECT LAST_INSERT_ID()
= 55
f: UPDATE t SET v = v + 1 WHERE id < 3
f: DO GET_LOCK('$N.f', 0)
f: SELECT ROW_COUNT(), LAST_INSERT_ID()
= 0 | 55
f: SET @got = GET_LOCK('$N.f', 0)
f: SELECT @got, ROW_COUNT()
= 1 | 0
f: SELECT 1 / 0
= NULL W1
f: SET @got = RELEASE_LOCK('$N.f')
f: SHOW WARNINGS
[mysql] = empty
[mariadb] = Warning | 1365 | Division by 0
f: SELECT RELEASE_ALL_LOCKS(), @got
= 1 | 1
f: INSERT INTO t (v) VALUES (GET_LOCK('$N.f', 0))
f: SELECT v FROM t WHERE id = LAST_INSERT_ID()
= 1

# A failed wait leaves all as it was.
g: SET @x = 1
g: BEGIN
g: INSERT INTO t (v) VALUES (77)
g: SELECT GET_LOCK('$N.f', 0), @x
= 0 | 1
g: SELECT GET_LOCK('$N.f', 0.2)
= 0
g: SELECT COUNT(*) FROM t WHERE v = 77
= 1
g: SET @x = 2
g: ROLLBACK
g: SELECT @x, COUNT(*) FROM t WHERE v = 77
= 2 | 0
f: SELECT RELEASE_ALL_LOCKS()
= 1

# What a statement that has waited changes.
b: SELECT GET_LOCK('$N.late', 0)
= 1
g!: SET @late = GET_LOCK('$N.late', 20)
b: SELECT RELEASE_LOCK('$N.late')
= 1
g?
g: SELECT @late
= 1
b!: SELECT GET_LOCK('$N.late', 20), @later := 5, LAST_INSERT_ID(77)
g: DO RELEASE_LOCK('$N.late')
b?
b: SELECT @later, LAST_INSERT_ID()
= 5 | 77
b: SELECT RELEASE_ALL_LOCKS()
= 1

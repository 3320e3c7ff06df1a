# All ways in which a user variable gets its value.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, s VARCHAR(20))
@setup INSERT INTO $DB.t (v, s) VALUES (10, 'ten'), (20, 'twenty'), (30, 'thirty')
@setup CREATE TABLE $DB.u (v INT)
@setup CREATE PROCEDURE $DB.sets() BEGIN SET @p = 'by procedure'; SELECT COUNT(*) INTO @cnt FROM t; END
@setup CREATE PROCEDURE $DB.gives(IN i INT, OUT o INT, INOUT io VARCHAR(20)) BEGIN SET o = i + 1; SET io = CONCAT(io, '!'); END
@setup CREATE PROCEDURE $DB.fetches() BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT v FROM t ORDER BY id; OPEN c; FETCH c INTO x; FETCH c INTO x; CLOSE c; SET @fetched = x; END
@setup CREATE PROCEDURE $DB.prepares() BEGIN PREPARE q FROM 'SELECT MAX(v) INTO @prepared FROM t'; EXECUTE q; DEALLOCATE PREPARE q; END
@setup CREATE FUNCTION $DB.f(n INT) RETURNS INT DETERMINISTIC BEGIN SET @f = n; RETURN n * 2; END
@setup CREATE FUNCTION $DB.seen() RETURNS VARCHAR(30) DETERMINISTIC RETURN @hidden
@setup CREATE TRIGGER $DB.tr AFTER INSERT ON $DB.u FOR EACH ROW SET @trigger = CONCAT_WS(',', @trigger, NEW.v)

# SET, several at once: each sees those in front as they were or are.
a: SET @a = 1, @b = @a + 1, @c := 'x'
a: SELECT @a, @b, @c
= 1 | NULL | x
a: SET @a = 5, @b = @a + 1
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT @a, @b
= 5 | 2
a: SET @a = (SELECT v FROM t WHERE id = 2), @a = @a + 1
a: SELECT @a
= 6
a: SET @a = 7, @bad = (SELECT v FROM t)
= ERR 1242/21000
a: SELECT @a, @bad
= 6 | NULL

# := inside a query, over rows.
a: SET @n = 0
a: SELECT @n := @n + 1 AS nth, s FROM t ORDER BY id
[mysql] = 1 | ten; 2 | twenty; 3 | thirty W1
[mariadb] = 1 | ten; 2 | twenty; 3 | thirty
a: DO 1
a: SELECT @n
= 3
a: SELECT @q := 'assigned', @q
[mysql] = assigned | assigned W1
[mariadb] = assigned | assigned
a: SELECT @q
= assigned
a: DO @d := 4
[mysql] = OK W1
[mariadb] = OK
a: SELECT @d
= 4
a: SELECT 1 FROM t WHERE (@w := id) = 2
[mysql] = 1 W1
[mariadb] = 1
a: SELECT @w
= 3
a: SELECT s FROM t WHERE id = 2 AND (@last := s) IS NOT NULL
[mysql] = twenty W1
[mariadb] = twenty
a: SELECT @last
= twenty
a: UPDATE t SET v = (@up := v + 1) WHERE id = 1
[mysql] = OK W1
[mariadb] = OK
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: SELECT @up
= 11
a: DELETE FROM t WHERE id = 99 AND (@del := 1)
[mysql] = OK W1
[mariadb] = OK
a: INSERT INTO t (v) SELECT @ins := 40
[mysql] = OK W1
[mariadb] = OK
a: SELECT @ins, @del
= 40 | 1

# SELECT INTO, one row, no row, two rows.
b: SELECT v, s INTO @v, @s FROM t WHERE id = 3
b: SELECT 1
= 1
b: SELECT @v, @s
= 30 | thirty
b: SELECT v, s INTO @v, @s FROM t WHERE id = 99
= OK W1
b: SHOW WARNINGS
= Warning | 1329 | No data - zero rows fetched, selected, or processed
b: SELECT @v, @s
= 30 | thirty
b: SELECT v, s INTO @v, @s FROM t WHERE id < 3 ORDER BY id
= ERR 1172/42000
b: SELECT @v, @s
= 11 | ten
b: SELECT v INTO @one FROM t ORDER BY id DESC LIMIT 1
b: SELECT 'text' INTO @two
b: BEGIN
b: SELECT @one, @two
= 40 | text
b: COMMIT
b: SELECT MAX(v), MIN(v) FROM t INTO @hi, @lo
[mysql] = OK
[mariadb] = OK W1
b: SELECT @hi, @lo
= 40 | 11
b: (SELECT 1) UNION (SELECT 1) INTO @union
[mysql] = OK
[mariadb] = OK W1
b: SELECT @union
= 1
b: SELECT 1, 2 INTO @few
= ERR 1222/21000

# By procedures: in their bodies, by OUT and INOUT.
c: CALL sets()
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT @p, @cnt
= by procedure | 4
c: SET @io = 'in'
c: CALL gives(5, @out, @io)
c: DO 1
c: SELECT @out, @io
= 6 | in!
c: CALL fetches()
c: SELECT @fetched
= 20
c: CALL prepares()
c: SELECT @prepared
= 40
c prepare g : CALL gives(?, @o2, @io)
c execute g 8
c: SELECT @o2, @io
= 9 | in!!
c: SET @io = 'again'
c prepare h : CALL gives(?, ?, ?)
c execute h 5 1 'x'
= 6 | x!; OK
c: SELECT @io
= again

@end shuffled
# By functions and triggers.
d: SELECT f(21)
= 42
d: SELECT @f
= 21
d: SET @x = f(22)
d: SELECT @f, @x
= 22 | 44
d: INSERT INTO u VALUES (1), (2)
d: SELECT RELEASE_ALL_LOCKS()
= 0
d: SELECT @trigger
= 1,2
d: INSERT INTO u VALUES (f(3))
d: SELECT @trigger, @f
= 1,2,6 | 3
d: BEGIN
d: INSERT INTO u VALUES (4)
d: ROLLBACK
d: SELECT @trigger
= 1,2,6,4
d: SET @hidden = 'seen by a function'
d: DO 1
d: SELECT seen()
= seen by a function
d: CREATE VIEW shows AS SELECT seen() AS s
d: SELECT s FROM shows
= seen by a function

# By prepared statements of both kinds, as targets and as parameters.
e: PREPARE s FROM 'SELECT ? + @base INTO @sum'
e: SET @base = 100, @p = 5
e: EXECUTE s USING @p
e: DO 1
e: SELECT @sum
= 105
e: SET @base = 200
e: EXECUTE s USING @p
e: SELECT @sum
= 205
e: DEALLOCATE PREPARE s
e prepare b : SELECT ?, @seen := ?
e execute b 1 'bound'
= 1 | bound
e: SELECT @seen, CHARSET(@seen)
= bound | utf8mb4
e prepare c : SET @bound = ?
e execute c 5
e: SELECT @bound
= 5
e execute c 'é'
[mysql] = OK W1
[mariadb] = OK
e: SELECT @bound, HEX(@bound)
[mysql] = 0 | 0
[mariadb] = é | C3A9
e execute c 1.5
e: SELECT GET_LOCK('$N.e', 0)
= 1
e: SELECT @bound
= 1.5
e execute c null
e: SELECT @bound
= NULL
e prepare d : SELECT v, s FROM t WHERE id = ? INTO @pv, @ps
e execute d 2
e: SELECT @pv, @ps
= 20 | twenty

# GET DIAGNOSTICS and LIMIT by variables.
f: SELECT 1 / 0
= NULL W1
f: GET DIAGNOSTICS @num = NUMBER
f: GET DIAGNOSTICS CONDITION 1 @msg = MESSAGE_TEXT, @no = MYSQL_ERRNO
f: SELECT @num, @msg, @no
= 1 | Division by 0 | 1365
f: SET @lim = 2
f: PREPARE l FROM 'SELECT id FROM t ORDER BY id LIMIT ?'
f: EXECUTE l USING @lim
= 1; 2
f: DEALLOCATE PREPARE l
f: SELECT id FROM t LIMIT @lim
= ERR 1064/42000

# Neither COMMIT nor ROLLBACK nor an error takes it back.
f: SET @x = 1
f: BEGIN
f: SET @x = 2
f: INSERT INTO t (id) VALUES (1)
= ERR 1062/23000
f: ROLLBACK
f: SELECT @x
= 2
f: SELECT @x := 3, nosuch
= ERR 1054/42S22
f: SELECT @x
= 2
f: SELECT (@x := 4) + (SELECT v FROM t)
= ERR 1242/21000
f: SELECT @x
= 4

# A reset and a change of user do.
f reset
f: SELECT @x, @num
= NULL | NULL
f: SET @x = 5
f changeuser
f: SELECT @x
= NULL

# Everything at once, done by routines, triggers and views whose text a client does not send.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB
@setup CREATE TABLE $DB.log (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB
@setup CREATE PROCEDURE $DB.all_of_it() BEGIN SET @v = 'set'; SET SESSION div_precision_increment = 7; CREATE TEMPORARY TABLE made (v INT); INSERT INTO made VALUES (1); PREPARE by_procedure FROM 'SELECT v, @v FROM made'; INSERT INTO t (v) VALUES (5); END
@setup CREATE PROCEDURE $DB.tidies() BEGIN DROP TEMPORARY TABLE made; DEALLOCATE PREPARE by_procedure; SET SESSION div_precision_increment = DEFAULT; END
@setup CREATE PROCEDURE $DB.outer_one() BEGIN CALL inner_one(); SELECT @depth; END
@setup CREATE PROCEDURE $DB.inner_one() BEGIN SET @depth = 2; SET SESSION max_sp_recursion_depth = 9; END
@setup CREATE PROCEDURE $DB.recurses(n INT) BEGIN SET @deep = n; IF n > 0 THEN CALL recurses(n - 1); END IF; END
@setup CREATE PROCEDURE $DB.begins_and_sets() BEGIN START TRANSACTION; INSERT INTO log (v) VALUES (1); SET @b = 'begun'; END
@setup CREATE PROCEDURE $DB.counts(OUT n INT) BEGIN SELECT COUNT(*) INTO n FROM t; END
@setup CREATE FUNCTION $DB.effects() RETURNS INT DETERMINISTIC BEGIN SET @fn = IFNULL(@fn, 0) + 1; INSERT INTO log (v) VALUES (@fn); RETURN @fn; END
@setup CREATE TRIGGER $DB.tr BEFORE INSERT ON $DB.t FOR EACH ROW BEGIN SET @tr = NEW.v; SET NEW.v = NEW.v * 2; END
@setup CREATE VIEW $DB.effective AS SELECT $DB.effects() AS e
@setup CREATE PROCEDURE $DB.locks() BEGIN DO GET_LOCK('in_routine_$N', 0); END
@setup CREATE PROCEDURE $DB.holds() BEGIN SELECT IS_FREE_LOCK('in_routine_$N'), RELEASE_LOCK('in_routine_$N'); END

# A procedure that does everything.
a: CALL all_of_it()
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT @v, @tr, LAST_INSERT_ID(), 1 / 3
= set | 5 | 1 | 0.3333333
a: EXECUTE by_procedure
= 1 | set
a: DO 1
a: EXECUTE by_procedure
= 1 | set
a: CALL tidies()
a: EXECUTE by_procedure
= ERR 1243/HY000
a: SELECT v FROM made
= ERR 1146/42S02
a: SELECT @v, 1 / 3
= set | 0.3333

# Procedures in procedures.
b: CALL outer_one()
= 2; OK
b: SELECT @depth, @@max_sp_recursion_depth
= 2 | 9
b: CALL recurses(3)
b: SELECT @deep
= 0
b: SET SESSION max_sp_recursion_depth = 2
b: CALL recurses(3)
= ERR 1456/HY000
b: SELECT @deep
= 1
b: SET SESSION max_sp_recursion_depth = DEFAULT

# One that begins a transaction and leaves it.
b: CALL begins_and_sets()
b: SELECT @b
= begun
b: DO 1
b: ROLLBACK
b: SELECT COUNT(*) FROM log
= 0
b: SELECT @b
= begun

@end shuffled
# Functions and views with effects.
c: SELECT effects()
= 1
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT effects() + 10
= 12
c: SELECT @fn, LAST_INSERT_ID()
= 2 | 0
c: SELECT e FROM effective
= 3
c: SELECT @fn
= 3
c: BEGIN
c: SELECT e FROM effective
= 4
c: ROLLBACK
c: SELECT @fn, COUNT(*) FROM log
= 4 | 3
c: SELECT id FROM t WHERE effects() > 100
= empty
c: SELECT @fn >= 4
= 1

# OUT parameters by COM_QUERY and by a binary statement.
d: CALL counts(@n)
d: SELECT @n
= 1
d prepare r : CALL counts(?)
d execute r null
= 1; OK
d: DO 1
d execute r null
= 1; OK
d prepare v : CALL counts(@m)
d execute v
d: SELECT @m
= 1

# A routine's lock of the server itself, given back by a routine.
e: CALL locks()
e: SELECT 1
= 1
e: DO 1
e: CALL holds()
= 0 | 1; OK
e: CALL holds()
= 1 | NULL; OK
e: CALL locks()
e: BEGIN
e: COMMIT
e: CALL holds()
= 0 | 1; OK

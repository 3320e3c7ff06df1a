# Long data and cursors: begun, interrupted, and ended in every way.
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, b LONGBLOB, s VARCHAR(20))
@setup INSERT INTO $DB.t (id, s) VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four'), (5, 'five')

# Long data, in pieces, with other statements in between.
a prepare i : INSERT INTO t (id, b, s) VALUES (?, ?, ?)
a longdata i 1 $REP(abc,1000)
= empty
a: SELECT GET_LOCK('$N.a', 0)
= 1
a longdata i 1 def
= empty
a: DO 1
a execute i 10 long 'long'
a: SELECT LENGTH(b), RIGHT(b, 4), s FROM t WHERE id = 10
= 3003 | cdef | long
a: DELETE FROM t WHERE id = 10

# Given up by a reset of the statement, by an execution that fails, by closing.
a longdata i 1 wrong
= empty
a resetstmt i
a execute i 11 'right' 'x'
a longdata i 1 again
= empty
a execute i 11 long 'x'
= ERR 1062/23000
a execute i 12 'plain' 'x'
a: SELECT id, b FROM t WHERE id > 10
= 11 | right; 12 | plain
a longdata i 1 lost
= empty
a: BEGIN
a execute i 13 long 'x'
a: ROLLBACK
a longdata i 2 kept
= empty
a execute i 13 null long
a: SELECT id, b, s FROM t WHERE id = 13
= 13 | NULL | kept
a longdata i 1 closed
= empty
a closestmt i
= empty
a: SELECT RELEASE_LOCK('$N.a')
= 1

# For a parameter that is not there.
a prepare i : SELECT ?
a longdata i 5 x
= empty
a execute i 1
= ERR 1210/HY000
a resetstmt i
a execute i 2
= 2
a longdata nosuch 0 x
= empty
a ping
a closestmt i
= empty

# A cursor, read in pieces, with other statements in between.
b prepare c : SELECT id, s FROM t WHERE id < ? ORDER BY id
b execute c cursor 6
= empty
b fetch c 2
b: SELECT GET_LOCK('$N.b', 0)
= 1
b fetch c 2
b: DO 1
b fetch c 5
b fetch c 5
= ERR 1421/HY000
b execute c cursor 6
= empty
b fetch c 1
b execute c cursor 3
= empty
b fetch c 9
b execute c cursor 0
= empty
b fetch c 1
= empty

# Closed by a reset of the statement, by an execution without one, by closing.
# (What MySQL answers to an execution without a cursor after one with it is in `later/cursor_then_none`.)
b execute c cursor 6
= empty
b resetstmt c
b fetch c 1
= ERR 1421/HY000
b execute c cursor 6
= empty
b fetch c 1
[mariadb] b execute c 3
[mariadb] = 1 | one; 2 | two
[mariadb] b fetch c 1
[mariadb] = ERR 1421/HY000
b execute c cursor 6
= empty
b closestmt c
= empty
b fetch c 1
= ERR 1243/HY000
b: SELECT RELEASE_LOCK('$N.b')
= 1

# In a transaction, over its end; two at once; over a change of what they read.
d prepare one : SELECT id FROM t WHERE id < 6 ORDER BY id
d prepare two : SELECT s FROM t WHERE id < 6 ORDER BY id DESC
d: BEGIN
d execute one cursor
= empty
d fetch one 2
d: COMMIT
d fetch one 2
d execute one cursor
= empty
d execute two cursor
= empty
d fetch one 1
d fetch two 1
d: UPDATE t SET s = 'changed' WHERE id = 3
d fetch two 2
d fetch one 9
d fetch two 9
d: UPDATE t SET s = 'three' WHERE id = 3

# A reset and a change of user close them.
d execute one cursor
= empty
d fetch one 1
d reset
d fetch one 1
= ERR 1243/HY000
d prepare one : SELECT id FROM t WHERE id < 6 ORDER BY id
d execute one cursor
= empty
d changeuser
d fetch one 1
= ERR 1243/HY000

# On statements that have none.
e prepare u : UPDATE t SET s = 'x' WHERE id = ?
e execute u cursor 99
e fetch u 1
= ERR 1421/HY000
e prepare d : DO 1
e execute d cursor
[mysql] = empty
[mariadb] = OK
e prepare v : SELECT @a := ?
e execute v cursor 1
= empty
e fetch v 5
e: SELECT @a
= 1
e closestmt v
= empty
e closestmt u
= empty

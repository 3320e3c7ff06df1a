# CONNECTION_ID() in prepared statements: the session's, wherever it is.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id BIGINT UNSIGNED, v INT)

# By a command: names and types of the columns are the server's.
a prepare one : SELECT CONNECTION_ID()
a execute one
= <a>
a prepare more : SELECT ? AS p, Connection_Id (), connection_id() + ?, @@pseudo_thread_id, @@session.pseudo_thread_id AS s, 'CONNECTION_ID()', 7 AS `connection_id`
a: SELECT GET_LOCK('$N.a', 0)
= 1
a execute more 1 0
= 1 | <a> | <a> | <a> | <a> | CONNECTION_ID() | 7
a execute one
= <a>
a prepare same : SELECT CONNECTION_ID() = @@pseudo_thread_id
a execute same cursor
= empty
a fetch same 2
a closestmt same
= empty
a: BEGIN
a execute more 2 0
= 2 | <a> | <a> | <a> | <a> | CONNECTION_ID() | 7
a: COMMIT
a closestmt more
= empty
a execute more 1 0
= ERR 1243/HY000

# In what it writes, and what it looks for.
b prepare ins : INSERT INTO t VALUES (CONNECTION_ID(), ?)
b execute ins 5
b prepare sel : INSERT INTO t SELECT CONNECTION_ID(), v + ? FROM t WHERE id = CONNECTION_ID()
b: DO 1
b execute sel 1
b execute ins 7
b prepare upd : UPDATE t SET v = v + 1000000, id = @@pseudo_thread_id WHERE id = CONNECTION_ID() AND v = ?
b execute upd 7
b prepare found : SELECT id, v FROM t WHERE id = CONNECTION_ID() AND v > ? ORDER BY v
b execute found 0
= <b> | 5; <b> | 6; <b> | 1000007
b: SELECT RELEASE_LOCK('$N.none')
= NULL
b execute found 5
= <b> | 6; <b> | 1000007
b prepare del : DELETE FROM t WHERE id = CONNECTION_ID()
b execute del
b execute found 0
= empty
b prepare grouped : SELECT CONNECTION_ID(), COUNT(*) FROM t GROUP BY CONNECTION_ID() HAVING COUNT(*) >= ?
b execute grouped 0
= empty
b prepare explained : DO CONNECTION_ID()
b execute explained
b prepare assigned : SET @mine = CONNECTION_ID()
b execute assigned
b: SELECT @mine AS connection_id
= <b>
b prepare both : SELECT IS_USED_LOCK(?) = CONNECTION_ID(), CONNECTION_ID()
b: SELECT GET_LOCK('$N.b', 0)
= 1
b execute both '$N.b'
= 1 | <b>

# The server refuses with its own error.
c prepare bad : SELECT CONNECTION_ID(), nosuch
= ERR 1054/42S22
c prepare bad : SELECT CONNECTION_ID(), FROM
= ERR 1064/42000
c prepare bad : SELECT CONNECTION_ID(1)
= ERR 1582/42000
c prepare s : SELECT CONNECTION_ID()
c reset
c execute s
= ERR 1243/HY000
c prepare s : SELECT CONNECTION_ID(), ?
c execute s 1
= <c> | 1

# By PREPARE.
d: PREPARE my_connection_id FROM 'SELECT CONNECTION_ID()'
d: EXECUTE my_connection_id
= <d>
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: EXECUTE my_connection_id
= <d>
d: PREPARE my_connection_id FROM 'SELECT CONNECTION_ID(), @@pseudo_thread_id AS p, ?'
d: SET @v = 3
d: EXECUTE my_connection_id USING @v
= <d> | <d> | 3
d: SET @text = 'INSERT INTO t VALUES (CONNECTION_ID(), ?)'
d: PREPARE i FROM @text
d: EXECUTE i USING @v
d: DO 1
d: EXECUTE i USING @v
d: SELECT COUNT(*), MIN(v) FROM t WHERE id = CONNECTION_ID()
= 2 | 3
d: EXECUTE i
= ERR 1210/HY000
d: DEALLOCATE PREPARE i
d: EXECUTE i USING @v
= ERR 1243/HY000
d: PREPARE my_connection_id FROM 'SELECT CONNECTION_ID(), nosuch'
= ERR 1054/42S22
d: EXECUTE my_connection_id
= ERR 1243/HY000
[mariadb] d: EXECUTE IMMEDIATE 'SELECT CONNECTION_ID(), ?' USING 4
[mariadb] = <d> | 4

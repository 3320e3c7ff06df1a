# CONNECTION_ID() in texts: the session's, wherever it is.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id BIGINT UNSIGNED, v INT)
a: SELECT CONNECTION_ID()
= <a>
a: SELECT CONNECTION_ID() AS c, @@pseudo_thread_id, 'CONNECTION_ID()', CONNECTION_ID() + 0 = @@pseudo_thread_id
= <a> | <a> | CONNECTION_ID() | 1
a: SELECT GET_LOCK('$N.l', 0)
= 1
a: SELECT IS_USED_LOCK('$N.l') = CONNECTION_ID()
= 1
a: INSERT INTO t VALUES (CONNECTION_ID(), 7)
a: DO 1
a: SELECT COUNT(*), SUM(v) FROM t WHERE id = CONNECTION_ID()
= 1 | 7
a reset
a: SELECT CONNECTION_ID()
= <a>

# The clock of a statement whose call waits is that of its start, for all that it evaluates afterwards but SYSDATE().
# On MySQL it is not: see wait_clock_unset.
@only mariadb
@also over_tls observed
@matrix caps=-DEPRECATE_EOF
@session m caps=+MULTI_STATEMENTS
a: CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), up DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6))
a: SELECT GET_LOCK('$Nk',0)
= 1
b!: SELECT GET_LOCK('$Nk',20), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000, NOW(6) = CURRENT_TIMESTAMP(6), UNIX_TIMESTAMP(NOW(6)) = @@timestamp
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
= 1 | 1 | 1 | 1
# Then it goes on.
a: DO SLEEP(0.3)
b: SELECT TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) < 250000
= 1
b: DO RELEASE_LOCK('$Nk')
# In a subquery, a condition and a common table expression, after comments.
a: DO GET_LOCK('$Nk',0)
b!: /* app */ SELECT IF(GET_LOCK('$Nk',20), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000, NULL)
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
= 1
b: DO RELEASE_LOCK('$Nk')
# Defaults of columns, in rows that are written and in rows that are changed.
a: DO GET_LOCK('$Nk',0)
b!: INSERT INTO t (n) VALUES (GET_LOCK('$Nk',20))
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
a: SELECT n, TIMESTAMPDIFF(MICROSECOND,at,NOW(6)) > 250000, up FROM t
= 1 | 1 | NULL
b: DO RELEASE_LOCK('$Nk')
a: DO GET_LOCK('$Nk',0)
b!: INSERT INTO t (id, n) VALUES (1, GET_LOCK('$Nk',20)) ON DUPLICATE KEY UPDATE n = 7
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
a: SELECT n, TIMESTAMPDIFF(MICROSECOND,up,NOW(6)) > 250000 FROM t
= 7 | 1
b: DO RELEASE_LOCK('$Nk')
b: SELECT LAST_INSERT_ID() > 0, ROW_COUNT()
# Prepared, in a session of its own: the proxy prepares statements as well, so ids would differ.
c prepare p : SELECT GET_LOCK(?,?), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000
a: DO GET_LOCK('$Nk',0)
c! execute p '$Nk' 20
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
c?
= 1 | 1
c: DO RELEASE_LOCK('$Nk')
b: PREPARE s FROM 'SELECT GET_LOCK(?,20), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000'
b: SET @n='$Nk'
a: DO GET_LOCK('$Nk',0)
b!: EXECUTE s USING @n
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
= 1 | 1
b: DO RELEASE_LOCK('$Nk')
# One of several statements.
a: DO GET_LOCK('$Nk',0)
m!: SELECT GET_LOCK('$Nk',20), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000; SELECT TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) < 250000
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
m?
m: DO RELEASE_LOCK('$Nk')
# A session that has set its own time keeps it.
b: SET timestamp=1000000000.5
a: DO GET_LOCK('$Nk',0)
b!: SELECT GET_LOCK('$Nk',20), UNIX_TIMESTAMP(NOW(6))
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
= 1 | 1000000000.500000
b: SET timestamp=DEFAULT
b: DO RELEASE_LOCK('$Nk')
# In SET.
a: DO GET_LOCK('$Nk',0)
b!: SET @g=GET_LOCK('$Nk',20), @d=TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
b: SELECT @g, @d
= 1 | 1
b: DO RELEASE_LOCK('$Nk')
# A timeout that passes.
a: DO GET_LOCK('$Nk',0)
b: SELECT GET_LOCK('$Nk',1), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 900000
= 0 | 1
a: DO RELEASE_LOCK('$Nk')

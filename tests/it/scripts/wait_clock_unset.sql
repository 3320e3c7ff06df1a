# MySQL has no way to set the clock of one statement: after SET_VAR(timestamp=…) that of the session no longer advances. So a
# statement whose call has waited sees the time after the wait.
@only mysql
a: SELECT GET_LOCK('$Nk',0)
= 1
b!: SELECT GET_LOCK('$Nk',20), TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) > 250000
a: DO SLEEP(0.3)
a: DO RELEASE_LOCK('$Nk')
b?
= 1 | 1
~ 1 | 0
a: DO SLEEP(0.3)
b: SELECT TIMESTAMPDIFF(MICROSECOND,NOW(6),SYSDATE(6)) < 250000
= 1
b: DO RELEASE_LOCK('$Nk')

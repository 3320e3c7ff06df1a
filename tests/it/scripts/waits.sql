# Waiting: hand-over, timeout, order of waiters, no barging.
@also over_tls over_zlib observed
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a: SELECT GET_LOCK('$Nk',0)
= 1
b!: SELECT GET_LOCK('$Nk',20)
a: SELECT RELEASE_LOCK('$Nk')
= 1
b?
= 1
a: SELECT IS_USED_LOCK('$Nk')
= <b>
# A timeout answers 0 with no warning.
a~1000: SELECT GET_LOCK('$Nk',1)
= 0
a: SHOW WARNINGS
= empty
a~1000: DO GET_LOCK('$Nk',1)
= OK
a: SELECT ROW_COUNT()
= 0
# First come, first served.
c!: SELECT GET_LOCK('$Nk',20)
d!: SELECT GET_LOCK('$Nk',20)
e!: SELECT GET_LOCK('$Nk',20)
# A third session that does not wait does not get it.
a~0: SELECT GET_LOCK('$Nk',0)
= 0
# Re-entry beats the queue, and only the last release hands over.
b~0: SELECT GET_LOCK('$Nk',20)
= 1
b: SELECT RELEASE_LOCK('$Nk')
= 1
b: SELECT IS_USED_LOCK('$Nk')
= <b>
b: SELECT RELEASE_LOCK('$Nk')
= 1
c?
= 1
# The releaser does not overtake those who queue.
b: SELECT GET_LOCK('$Nk',0)
= 0
c: SELECT RELEASE_LOCK('$Nk')
= 1
d?
= 1
d: SELECT RELEASE_ALL_LOCKS()
= 1
e?
= 1
a: SELECT IS_USED_LOCK('$Nk')
= <e>
# A waiter that gave up leaves the queue, the rest keep their places.
a!!: SELECT GET_LOCK('$Nk',1)
b!: SELECT GET_LOCK('$Nk',20)
c!: SELECT GET_LOCK('$Nk',20)
a?
= 0
e: DO RELEASE_LOCK('$Nk')
= OK
b?
= 1
b: SELECT RELEASE_LOCK('$Nk')
= 1
c?
= 1
# DO waits like SELECT.
d!: DO GET_LOCK('$Nk',20)
c: SELECT RELEASE_LOCK('$Nk')
= 1
d?
= OK
d: SELECT IS_USED_LOCK('$Nk')
= <d>
# Waiters of two names do not disturb each other.
a: SELECT GET_LOCK('$Nl',0)
b!: SELECT GET_LOCK('$Nk',20)
c!: SELECT GET_LOCK('$Nl',20)
d: SELECT RELEASE_LOCK('$Nk')
b?
= 1
a: SELECT RELEASE_LOCK('$Nl')
c?
= 1

# A timeout that is evaluated with an error: MySQL takes the lock, then the statement fails.
a prepare p : SELECT GET_LOCK(?,-1e300)
a: SELECT GET_LOCK('$Nk',-1e300)
b: SELECT IS_USED_LOCK('$Nk')
[mysql] = <a>
a: SELECT RELEASE_ALL_LOCKS()
a: DO GET_LOCK('$Nk',-1e19)
a: SELECT RELEASE_ALL_LOCKS()
a: SELECT GET_LOCK('$Nk',-1e300+0), GET_LOCK('$Nl',0)
b: SELECT IS_USED_LOCK('$Nk'), IS_USED_LOCK('$Nl')
a: SELECT RELEASE_ALL_LOCKS()
[mysql] a: SET @r=GET_LOCK('$Nk',(SELECT 1 UNION SELECT 2))
b: SELECT IS_USED_LOCK('$Nk')
a: SELECT RELEASE_ALL_LOCKS()
b: SELECT GET_LOCK('$Nk',0)
a~0: SELECT GET_LOCK('$Nk',-1e300)
a~0 execute p '$Nk'
a execute p '$Nl'
b: SELECT IS_USED_LOCK('$Nl')
a: SELECT RELEASE_ALL_LOCKS()
# Names whose character set MySQL loses on the way.
a: SELECT GET_LOCK(CONCAT(_latin1 'a$N', _latin1 x'e9'), 0)
= 1
b: SELECT IS_USED_LOCK('a$Né')
[mysql] = <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1

# Timeouts without end, on a lock that is held: the wait ends with the hand-over.
h: SELECT GET_LOCK('$Nk',0)
[mysql] a!: SELECT GET_LOCK('$Nk',-1)
[mariadb] a!: SELECT GET_LOCK('$Nk',31536000)
h: SELECT RELEASE_LOCK('$Nk')
a~0?
= 1
h!: SELECT GET_LOCK('$Nk',31536001)
a: SELECT RELEASE_LOCK('$Nk')
h?
= 1
a!: SELECT GET_LOCK('$Nk',2147483648)
h: SELECT RELEASE_LOCK('$Nk')
a?
= 1
h!: SELECT GET_LOCK('$Nk',4294967296)
a: SELECT RELEASE_LOCK('$Nk')
h?
= 1
a!: SELECT GET_LOCK('$Nk',1e10)
h: SELECT RELEASE_LOCK('$Nk')
a?
= 1
[mysql] h!: SELECT GET_LOCK('$Nk',-0.5)
[mariadb] h!: SELECT GET_LOCK('$Nk','16777215')
a: SELECT RELEASE_LOCK('$Nk')
h?
= 1
[mysql] a!: SELECT GET_LOCK('$Nk',9223372036854775807)
[mariadb] a!: SELECT GET_LOCK('$Nk',315360000)
h: SELECT RELEASE_LOCK('$Nk')
a?
= 1
[mysql] h!: SELECT GET_LOCK('$Nk',18446744073709551615)
[mariadb] h!: SELECT GET_LOCK('$Nk','1e6')
a: SELECT RELEASE_LOCK('$Nk')
h?
= 1
[mysql] a!: SELECT GET_LOCK('$Nk','-1')
[mariadb] a!: SELECT GET_LOCK('$Nk',99999.5)
h: SELECT RELEASE_LOCK('$Nk')
a?
= 1
[mysql] h!: SELECT GET_LOCK('$Nk',x'31')
[mariadb] h!: SELECT GET_LOCK('$Nk','49')
a: SELECT RELEASE_LOCK('$Nk')
h?
= 1
[mysql] a!: SELECT GET_LOCK('$Nk',1e300)
[mysql] h: SELECT RELEASE_LOCK('$Nk')
[mysql] a?
[mysql] = 1
# MariaDB's clock overflows: these do not wait.
[mariadb] a~0: SELECT GET_LOCK('$Nk',18446744073709551615)
[mariadb] = 0
[mariadb] a~0: SELECT GET_LOCK('$Nk',20000000000)
[mariadb] = 0

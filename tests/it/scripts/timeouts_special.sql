# Timeouts that mean for ever, or nothing, and modes of the session around them.
h: SELECT GET_LOCK('$Nk',0)
= 1
# NULL: once on MySQL, an invalid timeout on MariaDB.
a~0: SELECT GET_LOCK('$Nk',NULL)
[mysql] = 0
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nfree1',NULL)
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
h: SELECT IS_FREE_LOCK('$Nfree1')
[mysql] = 0
[mariadb] = 1
a~0: SELECT GET_LOCK('$Nfree2',-1)
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nfree3','-1')
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nfree4',-0.5)
= 1
a~0: SELECT GET_LOCK('$Nfree5',-1000000)
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nfree6','abc')
= 1 W1
a: SHOW WARNINGS
a~0: DO GET_LOCK('$Nfree7','abc')
= OK W1
a: SHOW WARNINGS
a~0: DO GET_LOCK('$Nfree8',-1)
[mysql] = OK
[mariadb] = OK W1
a: SHOW WARNINGS
a~0: DO GET_LOCK('$Nfree9',NULL)
[mysql] = OK
[mariadb] = OK W1
a: SHOW WARNINGS
# Timeouts without end, on free locks.
a~0: SELECT GET_LOCK('$Nf1',31536001)
= 1
a~0: SELECT GET_LOCK('$Nf2',2147483648)
= 1
a~0: SELECT GET_LOCK('$Nf3',4294967296)
= 1
a~0: SELECT GET_LOCK('$Nf4',1e10)
= 1
a~0: SELECT GET_LOCK('$Nf5',9223372036854775807)
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nf6',9223372036854775808)
= 1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nf7',18446744073709551615)
= 1
a~0: SELECT GET_LOCK('$Nf8',1e300)
[mysql] = 1
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nf9',-1e300)
[mysql] = ERR 1690/22003
[mariadb] = NULL W1
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nf10',99999999999999999999999)
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nf11','99999999999999999999999')
a: SHOW WARNINGS
a~0: SELECT GET_LOCK('$Nf12',20000000000)
a: SHOW WARNINGS
# Other types as timeouts.
a: SHOW WARNINGS
a: SELECT GET_LOCK('$Nf14',_latin1'1')
a: SELECT GET_LOCK('$Nf15',b'1')
a: SELECT GET_LOCK('$Nf16',0x01)
a: SHOW WARNINGS
a: DO RELEASE_ALL_LOCKS()
# Strict mode does not make warnings of a SELECT into errors.
a: SET SESSION sql_mode = 'TRADITIONAL'
= OK
a~0: SELECT GET_LOCK('$Nk','abc')
= 0 W1
a~0: SELECT GET_LOCK('$Nk',NULL)
a: SET SESSION sql_mode = ''
= OK
a~0: SELECT GET_LOCK('$Nk','abc')
= 0 W1
# Re-entry with any of them.
h~0: SELECT GET_LOCK('$Nk',-1)
[mysql] = 1
[mariadb] = NULL W1
h~0: SELECT GET_LOCK('$Nk',NULL)
[mysql] = 1
[mariadb] = NULL W1
h~0: SELECT GET_LOCK('$Nk','abc')
= 1 W1
h: SELECT RELEASE_ALL_LOCKS()
[mysql] = 4
[mariadb] = 2

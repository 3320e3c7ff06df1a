# Timeouts bound as text with a fraction or an exponent, on a lock that another session holds.
a prepare g : SELECT GET_LOCK(?,?)
a prepare f : SELECT GET_LOCK(?,?)
a prepare l : SELECT GET_LOCK(?,?), 2
b: SELECT GET_LOCK('$Nk',0)
= 1
[mysql] a~1000 execute g '$Nk' '0.5'
[mariadb] a~500 execute g '$Nk' '0.5'
= 0
a: SHOW WARNINGS
a execute g '$Nk' '0.4'
[mysql] a~1000 execute g '$Nk' '14e-1'
[mariadb] a~1400 execute g '$Nk' '14e-1'
= 0
[mysql] a~2000 execute g '$Nk' '15e-1'
[mysql] = 0
a~0 execute g '$Nk' '-0.4'
a: SHOW WARNINGS
[mysql] a!: SELECT 1
[mysql] a?
[mysql] a! execute g '$Nk' '-0.5'
[mysql] b: KILL QUERY $ID(a)
[mysql] a?
[mysql] = ERR 1317/70100
[mysql] a! execute g '$Nk' '-1e300'
[mysql] b: KILL QUERY $ID(a)
[mysql] a?
[mysql] = ERR 1317/70100
[mysql] a~0 execute g '$Nk' '0.5abc'
[mariadb] a~500 execute g '$Nk' '0.5abc'
a: SHOW WARNINGS
a execute f '$Nfree' '1e50'
a: SHOW WARNINGS
a execute f '$Nfree' '9223372036854775808'
a: SHOW WARNINGS
a execute f '$Nfree' '-9223372036854775809.5'
a: SHOW WARNINGS
a execute f '$Nfree' '1e300'
a: SHOW WARNINGS
[mysql] a longdata f 1 0.4
[mysql] a~0 execute f '$Nk' long
a: SHOW WARNINGS
# In a larger statement, and under a name.
[mysql] a~1000 execute l '$Nk' '5e-1'
[mysql] = 0 | 2
a: PREPARE s FROM 'SELECT GET_LOCK(?,?)'
a: SET @n='$Nk', @t='0.6', @d=0.4, @u='0.4x'
[mysql] a~1000: EXECUTE s USING @n,@t
[mysql] = 0
a: SHOW WARNINGS
[mysql] a~0: EXECUTE s USING @n,@d
[mysql] = 0
a: SHOW WARNINGS
a: SELECT RELEASE_ALL_LOCKS()

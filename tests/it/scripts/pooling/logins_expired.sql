# An account whose password has expired: it may set another one, and nothing else before.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (v INT)
@setup INSERT INTO $DB.t VALUES (1)
@session r user=root
@session x user=$USER2 caps=+CAN_HANDLE_EXPIRED_PASSWORDS
@session y user=$USER2
r: ALTER USER $USER2@'%' PASSWORD EXPIRE

x: SELECT v FROM t
= ERR 1820/HY000
x reset
= ERR 1820/HY000
x: SET @x = 1
[mysql] = ERR 1820/HY000
[mariadb] = OK
x initdb $DB
= ERR 1820/HY000
x ping
[mysql] = OK W2
[mariadb] = OK
# In mode durable it takes the lock nevertheless (docs/differences-reference.md).
x: SELECT v FROM t
= ERR 1820/HY000
x: SELECT GET_LOCK('$N.x', 0)
= ERR 1820/HY000
[mysql] x: SET PASSWORD = 'secret'
[mariadb] x: SET PASSWORD = PASSWORD('secret')
x: SELECT v FROM t
= 1
x: SELECT GET_LOCK('$N.x', 0), @x
[mysql] = 1 | NULL
[mariadb] = 1 | 1
x: BEGIN
x: COMMIT
x: SELECT IS_FREE_LOCK('$N.x')
= 0
# The next login is as any other again.
y: SELECT v FROM t
= 1
y: DO 1
y: SELECT CURRENT_USER() = '$USER2@%'
= 1

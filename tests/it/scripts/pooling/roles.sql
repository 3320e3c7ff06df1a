# Roles: granted, switched on and off, the default, and what a reset makes of them.
@matrix caps=-DEPRECATE_EOF
@setup DROP ROLE IF EXISTS r_$N, q_$N
@setup CREATE ROLE r_$N, q_$N
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N
@setup CREATE TABLE e_$N.t (v VARCHAR(20))
@setup CREATE TABLE e_$N.q (v VARCHAR(20))
@setup INSERT INTO e_$N.t VALUES ('by role r')
@setup INSERT INTO e_$N.q VALUES ('by role q')
@setup GRANT SELECT ON e_$N.t TO r_$N
@setup GRANT SELECT ON e_$N.q TO q_$N
@setup GRANT r_$N TO $USER@'%'
@setup GRANT q_$N TO $USER@'%'
@setup CREATE PROCEDURE $DB.sets() SQL SECURITY INVOKER SET ROLE r_$N
[mysql] @setup SET DEFAULT ROLE NONE TO $USER@'%'
@session r user=root

# Switched on, used, switched off.
a: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = NULL
a: SELECT v FROM e_$N.t
= ERR 1142/42000
a: SET ROLE r_$N
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT v FROM e_$N.t
= by role r
a: SELECT CURRENT_ROLE()
[mysql] = `r_$N`@`%`
[mariadb] = r_$N
a: BEGIN
a: SELECT v FROM e_$N.t
= by role r
a: COMMIT
a: DO 1
a: SELECT CURRENT_ROLE()
[mysql] = `r_$N`@`%`
[mariadb] = r_$N
a: SET ROLE NONE
a: SELECT RELEASE_LOCK('$N.a')
= 1
a: SELECT v FROM e_$N.t
= ERR 1142/42000
a: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = NULL

# Another one in its place; on MySQL both.
b: SET ROLE r_$N
b: SET ROLE q_$N
b: SELECT CURRENT_ROLE()
[mysql] = `q_$N`@`%`
[mariadb] = q_$N
b: SELECT v FROM e_$N.t
= ERR 1142/42000
b: SELECT v FROM e_$N.q
= by role q
[mysql] b: SET ROLE ALL
[mysql] b: SELECT CURRENT_ROLE()
[mysql] = `q_$N`@`%`,`r_$N`@`%`
[mysql] b: SELECT v FROM e_$N.t
[mysql] = by role r
[mysql] b: SET ROLE ALL EXCEPT r_$N
[mysql] b: SELECT CURRENT_ROLE()
[mysql] = `q_$N`@`%`
b: SET ROLE nosuch_$N
[mysql] = ERR 3530/HY000
[mariadb] = ERR 1959/OP000
b: DO 1
b: SELECT v FROM e_$N.q
= by role q

# In prepared statements of both kinds, in a procedure.
c prepare s : SELECT v FROM e_$N.t
= ERR 1142/42000
c: SET ROLE r_$N
c prepare s : SELECT v FROM e_$N.t
c execute s
= by role r
c: SET ROLE NONE
c execute s
= ERR 1142/42000
c: PREPARE q FROM 'SET ROLE r_$N'
c: EXECUTE q
c: SELECT CURRENT_ROLE()
[mysql] = `r_$N`@`%`
[mariadb] = r_$N
c: SET ROLE NONE
c: CALL sets()
c: SELECT GET_LOCK('$N.c', 0)
= 1
c: SELECT CURRENT_ROLE()
[mysql] = `r_$N`@`%`
[mariadb] = r_$N
c: DEALLOCATE PREPARE q

# A reset keeps it; a change of user on one server only.
d: SET ROLE r_$N
d reset
d: SELECT CURRENT_ROLE()
[mysql] = `r_$N`@`%`
[mariadb] = r_$N
d: SELECT v FROM e_$N.t
= by role r
d: SET ROLE NONE
d reset
d: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = NULL
d: SET ROLE r_$N
d changeuser
[mysql] d: SELECT CURRENT_ROLE()
[mysql] = NONE

# A default role.
[mariadb] e: SET DEFAULT ROLE q_$N
[mysql] r: SET DEFAULT ROLE q_$N TO $USER@'%'
f: SELECT CURRENT_ROLE()
[mysql] = `q_$N`@`%`
[mariadb] = q_$N
f: SELECT v FROM e_$N.q
= by role q
f: SET ROLE NONE
f: SELECT GET_LOCK('$N.f', 0)
= 1
f: SELECT v FROM e_$N.q
= ERR 1142/42000
f reset
f: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = NULL
f: SET ROLE DEFAULT
[mysql] = OK
[mariadb] = ERR 1064/42000
f: DO 1
f: SELECT CURRENT_ROLE()
[mysql] = `q_$N`@`%`
[mariadb] = NULL
[mysql] f: SELECT v FROM e_$N.q
[mysql] = by role q
[mariadb] f: SET DEFAULT ROLE NONE
[mysql] r: SET DEFAULT ROLE NONE TO $USER@'%'

# Revoked and granted while it is on.
g: SET ROLE r_$N
g: SELECT v FROM e_$N.t
= by role r
r: REVOKE SELECT ON e_$N.t FROM r_$N
g: SELECT v FROM e_$N.t
= ERR 1142/42000
r: GRANT SELECT ON e_$N.t TO r_$N
g: SELECT v FROM e_$N.t
= by role r
g: SELECT CURRENT_ROLE()
[mysql] = `r_$N`@`%`
[mariadb] = r_$N
g: SET ROLE NONE
r: DROP DATABASE e_$N
r: DROP ROLE r_$N, q_$N

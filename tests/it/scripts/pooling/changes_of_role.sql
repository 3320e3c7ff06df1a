# COM_CHANGE_USER while a role is active: MySQL gives the account's default roles, MariaDB only if it has one. Else
# the role stays, even if it is not the new account's.
@setup DROP ROLE IF EXISTS r_$N, q_$N
@setup CREATE ROLE r_$N, q_$N
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N
@setup CREATE TABLE e_$N.t (v VARCHAR(20))
@setup INSERT INTO e_$N.t VALUES ('by role r')
@setup GRANT SELECT ON e_$N.t TO r_$N
@setup GRANT r_$N TO $USER@'%'
@setup GRANT q_$N TO $USER2@'%'
[mysql] @setup SET DEFAULT ROLE NONE TO $USER@'%'
[mysql] @setup SET DEFAULT ROLE NONE TO $USER2@'%'

# To the same account.
a: SET ROLE r_$N
a changeuser
a: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = r_$N
a: SELECT v FROM e_$N.t
[mysql] = ERR 1142/42000
[mariadb] = by role r
a: DO 1
a: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = r_$N

# To another one, which may not set that role, and back.
b: SET ROLE r_$N
b: DO 1
b changeuser user=$USER2
b: SELECT CURRENT_USER() = '$USER2@%'
= 1
b: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = r_$N
b: SELECT v FROM e_$N.t
[mysql] = ERR 1142/42000
[mariadb] = by role r
b: DO 1
b: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = r_$N
b: SELECT v FROM e_$N.t
[mysql] = ERR 1142/42000
[mariadb] = by role r
b: SET ROLE q_$N
b: DO 1
b: SELECT CURRENT_ROLE()
[mysql] = `q_$N`@`%`
[mariadb] = q_$N
b changeuser
b: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = q_$N
b: DO 1
b: SET ROLE NONE
b: DO 1
b: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = NULL

# Without a role.
c changeuser user=$USER2
c: SELECT CURRENT_ROLE()
[mysql] = NONE
[mariadb] = NULL
c: DO 1
c: SELECT v FROM e_$N.t
= ERR 1142/42000
c changeuser
c: DO 1
c: SELECT CURRENT_ROLE(), CURRENT_USER() = '$USER@%'
[mysql] = NONE | 1
[mariadb] = NULL | 1

# An execution of a statement that was prepared in another schema goes there and back, of which the servers report.
@session a caps=+SESSION_TRACK
@setup DROP DATABASE IF EXISTS e_$N
@setup CREATE DATABASE e_$N
@setup GRANT ALL ON e_$N.* TO $USER@'%'
a prepare p : SELECT GET_LOCK('$N.k', 0)
a: USE e_$N
a execute p
= 1
a: SELECT RELEASE_LOCK('$N.k')
= 1

# MySQL keeps the type that a user variable had at the PREPARE.
a: SET @v = 1
a prepare q : SELECT IS_FREE_LOCK('$N.k'), @v
a: SET @v = 'abc'
a execute q
[mysql] = 1 | 0
[mariadb] = 1 | abc

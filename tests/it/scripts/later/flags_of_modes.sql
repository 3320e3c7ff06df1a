# The status flag of ANSI_QUOTES is that of the statement, also where its mode is for this statement alone.
@only mariadb
a: SET STATEMENT sql_mode='ANSI_QUOTES' FOR SELECT GET_LOCK('$N.k', 0)
= 1
a: SELECT RELEASE_LOCK('$N.k')
= 1

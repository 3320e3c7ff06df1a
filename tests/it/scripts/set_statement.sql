# Lock calls after SET STATEMENT … FOR.
@only mariadb
@session a
@session b
@session o caps=-DEPRECATE_EOF
a: SET STATEMENT max_statement_time=5 FOR SELECT GET_LOCK('$Nk',0)
= 1
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: SET STATEMENT max_statement_time=5, sort_buffer_size=100000 FOR SELECT GET_LOCK('$Nk',0) AS got, @@max_statement_time
= 1 | 5.000000
a: SET STATEMENT max_statement_time=5 FOR SET STATEMENT sql_mode='' FOR SELECT RELEASE_LOCK('$Nk') + 1, 5
= 2 | 5
a: SET STATEMENT sql_select_limit=0 FOR SELECT GET_LOCK('$Nl',0)
a: SET STATEMENT sql_select_limit=0 FOR SELECT GET_LOCK('$Nl',0), 1
b: SELECT IS_FREE_LOCK('$Nl')
= 1
a: SET STATEMENT nosuch=1 FOR SELECT GET_LOCK('$Nl',0)
= ERR 1193/HY000
a: SET STATEMENT max_statement_time=1 FOR SELECT GET_LOCK('$Nl',0), nosuch
= ERR 1054/42S22
b: SELECT IS_FREE_LOCK('$Nl')
= 1
o~1000: SET STATEMENT max_statement_time=1 FOR SELECT GET_LOCK('$Nk',5)
o: SHOW WARNINGS
o~1000: SET STATEMENT max_statement_time=1 FOR SELECT GET_LOCK('$Nk',5), 2
o: SELECT 1
= 1
o!: SET STATEMENT max_statement_time=20 FOR SELECT GET_LOCK('$Nk',9), 3
a: SELECT RELEASE_LOCK('$Nk')
= 1
o?
= 1 | 3
o: SET STATEMENT max_statement_time=20 FOR SELECT RELEASE_ALL_LOCKS()
= 1
a prepare p : SET STATEMENT max_statement_time=20 FOR SELECT GET_LOCK(?,0)
= prepared
a execute p '$Nk'
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 1

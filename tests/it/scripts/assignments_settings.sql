# Lock calls in SET of system variables, and beside SET of other kinds.
a: SET @@session.max_sort_length = 1000 + GET_LOCK('$Na',0)
= OK
a: SELECT @@max_sort_length
= 1001
b: SELECT IS_USED_LOCK('$Na')
= <a>
a: SET @v = GET_LOCK('$Nb',0), SESSION max_sort_length = 1001
= OK
a: SELECT @@max_sort_length, @v
= 1001 | 1
a: SET @v = RELEASE_LOCK('$Na'), sql_mode = ''
= OK
a: SELECT @v, @@sql_mode=''
= 1 | 1
a: SET @v = GET_LOCK('$Nc',0), nosuch = 1
= ERR 1193/HY000
a: SELECT @v
= 1
b: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb'), IS_USED_LOCK('$Nc')
= NULL | <a> | NULL
a: SET @v = RELEASE_LOCK('$Nb'), autocommit = 0
= OK
a: SELECT @v
= 1
a: SET autocommit = 1
= OK
a: SET @v = (SELECT RELEASE_ALL_LOCKS())
= OK
a: SELECT @v, RELEASE_ALL_LOCKS()
= 0 | 0
a: BEGIN
= OK
a: SET @v = GET_LOCK('$Na',0)
= OK
a: COMMIT
= OK
a: SELECT RELEASE_ALL_LOCKS() INTO @v
= OK
a: SELECT @v
= 1

# Profiles, traces and counters that belong to a session.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY, v INT)
@setup INSERT INTO $DB.t VALUES (1, 1)

# Profiles of statements.
a: SHOW PROFILES
[mysql] = empty W1
[mariadb] = empty
a: SET profiling = 1
[mysql] = OK W1
[mariadb] = OK
a: SELECT v FROM t
= 1
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SET profiling = 0
[mysql] = OK W1
[mariadb] = OK
a: SELECT @@profiling, @@profiling_history_size
[mysql] = 0 | 15 W2
[mariadb] = 0 | 15
a: SELECT COUNT(*) > 0 FROM information_schema.PROFILING WHERE QUERY_ID = 1
[mysql] = 1 W1
[mariadb] = 1
a: SET profiling_history_size = 0
[mysql] = OK W1
[mariadb] = OK

# The optimizer's trace.
b: SET optimizer_trace = 'enabled=on'
b: SELECT v FROM t WHERE id = 1
= 1
b: SELECT QUERY, LENGTH(TRACE) > 0 FROM information_schema.OPTIMIZER_TRACE
= SELECT v FROM t WHERE id = 1 | 1
b: SELECT @@optimizer_trace
[mysql] = enabled=on,one_line=off
[mariadb] = enabled=on
b: SET optimizer_trace = 'enabled=off'
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT @@optimizer_trace
[mysql] = enabled=off,one_line=off
[mariadb] = enabled=off
b: SELECT v FROM t WHERE id = 1
= 1
b: SET optimizer_trace = DEFAULT

# Statements that show a session's own settings.
c: SET SESSION max_sp_recursion_depth = 5
c: SELECT RELEASE_ALL_LOCKS()
= 0
c: SHOW VARIABLES LIKE 'max_sp_recursion_depth'
= max_sp_recursion_depth | 5
c: SHOW SESSION VARIABLES WHERE Variable_name = 'max_sp_recursion_depth' AND Value = 5
= max_sp_recursion_depth | 5
c: SHOW GLOBAL VARIABLES LIKE 'nosuch'
= empty
[mysql] c: SELECT VARIABLE_VALUE FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'max_sp_recursion_depth'
[mysql] = 5
[mariadb] c: SELECT SESSION_VALUE, SESSION_VALUE <> GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'MAX_SP_RECURSION_DEPTH'
[mariadb] = 5 | 1
[mariadb] c: SELECT VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME = 'MAX_SP_RECURSION_DEPTH'
[mariadb] = 5
[mariadb] c: SET @shown = 'x'
[mariadb] c: DO 1
[mariadb] c: SELECT VARIABLE_NAME, VARIABLE_VALUE, VARIABLE_TYPE, CHARACTER_SET_NAME FROM information_schema.USER_VARIABLES
[mariadb] = shown | x | VARCHAR | utf8mb4
[mysql] d: SELECT COUNT(*) FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'sql_mode'
[mysql] = 1

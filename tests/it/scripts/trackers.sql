# Session trackers: what OK packets tell besides.
@client own libmysqlclient
@also over_tls over_zlib over_both
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK
a: SET SESSION session_track_state_change = ON
a: SELECT GET_LOCK('$Nk',0)
= 1
a: DO GET_LOCK('$Nk',0)
a: SELECT RELEASE_LOCK('$Nk')
a: SET @x = 1
a: SELECT GET_LOCK('$Nk',0)
a: DO RELEASE_LOCK('$Nk')
a: SET SESSION session_track_state_change = OFF
a: SET SESSION session_track_transaction_info = 'CHARACTERISTICS'
a: SELECT GET_LOCK('$Nk',0)
a: BEGIN
a: SELECT GET_LOCK('$Nk',0)
a: DO GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nk',0)
a: SELECT 1
a: SELECT GET_LOCK('$Nk',0)
a: COMMIT
a: SELECT GET_LOCK('$Nk',0)
a: START TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED
a: START TRANSACTION READ ONLY
a: DO GET_LOCK('$Nk',0)
a: SELECT RELEASE_LOCK('$Nk')
a: ROLLBACK
a: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
a: SET TRANSACTION READ ONLY
a: SELECT GET_LOCK('$Nk',0)
a: DO GET_LOCK('$Nk',0)
a: SELECT 1
a: SET autocommit = 0
a: SELECT GET_LOCK('$Nk',0)
a: DO GET_LOCK('$Nk',0)
a: SET autocommit = 1
a: SET SESSION session_track_transaction_info = 'STATE'
a: BEGIN
a: SELECT GET_LOCK('$Nk',0)
a: DO GET_LOCK('$Nk',0)
a: COMMIT
a: SET SESSION session_track_transaction_info = 'OFF'
a: SET SESSION session_track_system_variables = 'sql_mode,autocommit,character_set_client,character_set_results'
a: SET SESSION sql_mode = 'ANSI_QUOTES'
a: SELECT GET_LOCK('$Nk',0)
a: DO GET_LOCK('$Nk',0)
a: SET NAMES latin1
a: SELECT GET_LOCK('$Nk',0)
a: SET SESSION session_track_system_variables = ''
a: SET SESSION session_track_schema = ON
a: USE $DB
a: SELECT GET_LOCK('$Nk',0)
a initdb $DB
a: SELECT GET_LOCK('$Nk',0)
[mysql] a: SET SESSION session_track_gtids = 'OWN_GTID'
[mysql] a: SELECT GET_LOCK('$Nk',0)
[mysql] a: DO GET_LOCK('$Nk',0)
a: SELECT RELEASE_ALL_LOCKS()

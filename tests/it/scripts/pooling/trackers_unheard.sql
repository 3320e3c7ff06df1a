# What the server is to tell about a session's state, as a client reads and sets it that hears nothing of that.
@matrix caps=-SESSION_TRACK
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY)
@setup INSERT INTO $DB.t VALUES (1), (2), (3)

a: SELECT @@session_track_schema = @@global.session_track_schema, @@session_track_state_change = @@global.session_track_state_change
= 1 | 1
a: SELECT @@session_track_system_variables = @@global.session_track_system_variables
= 1
a: SET @x = 1
a reset
a: SELECT @@session_track_transaction_info = @@global.session_track_transaction_info
= 1
a: SELECT @x
= NULL

# Set, and reset.
b: SET SESSION session_track_state_change = ON, session_track_schema = OFF
b: SELECT @@session_track_state_change, @@session_track_schema
= 1 | 0
b: UPDATE t SET id = id + 10
b: SELECT ROW_COUNT()
= 3
b reset
b: SET @x = 1
b: USE $DB
b: SELECT @@session_track_state_change = @@global.session_track_state_change, @@session_track_schema = @@global.session_track_schema
= 1 | 1
b: SELECT @x
= 1
b: SET @x = 2
b: SELECT @x
= 2

# Ways to log in, and ways to be refused.
@also over_tls over_zlib over_both observed
@session bad password=wrong
@session none user=nobody_$N
@session nodb db=none
@session wrongdb db=nosuch_$N
@session forbidden db=mysql
@session empty password=
@session second user=$USER2
@session root user=root
@session old caps=-PLUGIN_AUTH_LENENC_DATA,-CONNECT_ATTRS,-SESSION_TRACK,-DEPRECATE_EOF
@session multi caps=+MULTI_STATEMENTS,+LOCAL_FILES,+FOUND_ROWS,+INTERACTIVE,+IGNORE_SPACE
@session lat charset=latin1
@session bin charset=binary
@session g charset=gbk
a connect
a: SELECT @@character_set_client, @@collation_connection, @@character_set_results
bad connect
none connect
nodb connect
nodb: SELECT DATABASE()
= NULL
nodb: SELECT GET_LOCK('$Nk',0)
= 1
wrongdb connect
forbidden connect
empty connect
second connect
second: SELECT CURRENT_USER()
= $USER2@%
second: SELECT IS_USED_LOCK('$Nk')
= <nodb>
root connect
root: SELECT CURRENT_USER()
old connect
old: SELECT IS_FREE_LOCK('$Nk')
= 0
multi connect
multi: SELECT 1; SELECT 2
= 1; 2
multi: SELECT @@wait_timeout = @@global.interactive_timeout
= 1
lat connect
lat: SELECT @@character_set_client, @@collation_connection, @@character_set_results
bin connect
bin: SELECT @@character_set_client, @@collation_connection, @@character_set_results
g connect
g: SELECT @@character_set_client, @@collation_connection, @@character_set_results
# COM_CHANGE_USER in its forms.
a: SELECT GET_LOCK('$Na',0)
= 1
a changeuser user=$USER2 charset=latin1
a: SELECT CURRENT_USER(), @@character_set_client, DATABASE()
second: SELECT IS_FREE_LOCK('$Na')
= 1
a changeuser db=none
a: SELECT DATABASE()
= NULL
a changeuser charset=utf8mb4
a changeuser db=nosuch_$N
a: SELECT 1
@session x
x changeuser user=root password=wrong
x: SELECT 1

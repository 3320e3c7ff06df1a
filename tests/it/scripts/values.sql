# Return values, re-entry, RELEASE_ALL_LOCKS, whatever the client's capabilities.
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@matrix caps=-SESSION_TRACK,-DEPRECATE_EOF
@matrix caps=+FOUND_ROWS
@matrix caps=+QUERY_ATTRIBUTES,-DEPRECATE_EOF,+MULTI_STATEMENTS,+LOCAL_FILES
@matrix caps=+OPTIONAL_RESULTSET_METADATA
@matrix caps=+OPTIONAL_RESULTSET_METADATA,-DEPRECATE_EOF
@matrix caps=-PLUGIN_AUTH_LENENC_DATA,-CONNECT_ATTRS,-PS_MULTI_RESULTS
@matrix db=none
@matrix user=root

a: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk',0)
= 1
# Re-entry is at once, whatever the timeout.
a~0: SELECT GET_LOCK('$Nk',30)
= 1
b~0: SELECT GET_LOCK('$Nk',0)
= 0
b: SELECT IS_FREE_LOCK('$Nk')
= 0
a: SELECT IS_FREE_LOCK('$Nk')
= 0
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: SELECT IS_USED_LOCK('$Nk')
= <a>
b: SELECT RELEASE_LOCK('$Nk')
= 0
b: SELECT RELEASE_LOCK('$Nnone')
= NULL
b: SELECT IS_FREE_LOCK('$Nnone')
= 1
b: SELECT IS_USED_LOCK('$Nnone')
= NULL
b: SELECT RELEASE_ALL_LOCKS()
= 0
# Released as often as taken, then free, then NULL.
a: SELECT RELEASE_LOCK('$Nk')
= 1
b: SELECT GET_LOCK('$Nk',0)
= 0
a: SELECT RELEASE_LOCK('$Nk')
= 1
b: SELECT GET_LOCK('$Nk',0)
= 0
a: SELECT RELEASE_LOCK('$Nk')
= 1
a: SELECT RELEASE_LOCK('$Nk')
= NULL
b: SELECT GET_LOCK('$Nk',0)
= 1
a: SELECT RELEASE_LOCK('$Nk')
= 0
b: SELECT RELEASE_LOCK('$Nk')
= 1
# RELEASE_ALL_LOCKS counts acquisitions, not names.
a: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nk',0)
a: SELECT GET_LOCK('$Nl',0)
= 1
a: SELECT RELEASE_LOCK('$Nk')
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
a: SELECT RELEASE_ALL_LOCKS()
= 0
b: SELECT IS_FREE_LOCK('$Nk')
= 1
b: SELECT IS_FREE_LOCK('$Nl')
= 1
# DO says OK and nothing else.
a: DO GET_LOCK('$Nk',0)
= OK
b: DO GET_LOCK('$Nk',0)
= OK
b: SELECT IS_USED_LOCK('$Nk')
= <a>
a: DO IS_FREE_LOCK('$Nk')
= OK
a: DO IS_USED_LOCK('$Nk')
= OK
b: DO RELEASE_LOCK('$Nk')
= OK
b: SELECT IS_FREE_LOCK('$Nk')
= 0
a: DO RELEASE_LOCK('$Nk')
= OK
a: DO RELEASE_LOCK('$Nk')
= OK
b: SELECT IS_FREE_LOCK('$Nk')
= 1
a: DO GET_LOCK('$Nm',0)
= OK
a: DO RELEASE_ALL_LOCKS()
= OK
b: SELECT GET_LOCK('$Nm',0)
= 1
# Timeouts other than 0 on a free lock do not wait.
a~0: SELECT GET_LOCK('$Nx',10)
= 1
a~0: SELECT GET_LOCK('$Ny',3600)
= 1
a~0: SELECT GET_LOCK('$Nz',2147483647)
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
a: SELECT CONNECTION_ID()
= <a>

# Session trackers in the reply to a call that waited.
@client own libmysqlclient mysql2
@also over_tls
@matrix caps=-DEPRECATE_EOF
h: SELECT GET_LOCK('$Nk',0)
a: SET SESSION session_track_state_change = ON
a: SET @x=1
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: SET SESSION session_track_state_change = OFF
a: SET SESSION session_track_transaction_info = 'CHARACTERISTICS'
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: BEGIN
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a~1000: SELECT GET_LOCK('$Nk',1)
a~1000: DO GET_LOCK('$Nk',1)
a: COMMIT
a: START TRANSACTION READ ONLY
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a: COMMIT
a: SET TRANSACTION READ ONLY
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
# Prepared, which the servers send in another way.
a prepare g : SELECT GET_LOCK(?,?)
a prepare d : DO GET_LOCK(?,?)
a: COMMIT
a: BEGIN
a execute g '$Nfree' 0
a: COMMIT
a: BEGIN
a! execute g '$Nk' 20
h: SELECT RELEASE_LOCK('$Nk')
a?
a: COMMIT
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a: COMMIT
a: BEGIN
a! execute g '$Nk' 20
h: KILL QUERY $ID(a)
a?
a: COMMIT
a: BEGIN
a~1000 execute g '$Nk' 1
a: COMMIT
a: COMMIT
a: BEGIN
a execute d '$Nfree' 0
a: COMMIT
a: BEGIN
a! execute d '$Nk' 20
h: SELECT RELEASE_LOCK('$Nk')
a?
a: COMMIT
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a: COMMIT
a: BEGIN
a! execute d '$Nk' 20
h: KILL QUERY $ID(a)
a?
a: COMMIT
a: BEGIN
a~1000 execute d '$Nk' 1
a: COMMIT
a: SET SESSION session_track_transaction_info = 'STATE'
a: BEGIN
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a~1000: SELECT GET_LOCK('$Nk',1)
a~1000: DO GET_LOCK('$Nk',1)
a: COMMIT
a!: SELECT GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: DO GET_LOCK('$Nk',20)
h: SELECT RELEASE_LOCK('$Nk')
a?
a: DO RELEASE_LOCK('$Nk')
h: SELECT GET_LOCK('$Nk',5)
a!: SELECT GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?
a!: DO GET_LOCK('$Nk',20)
h: KILL QUERY $ID(a)
a?

# Result sets without column definitions.
@only mysql
@also over_tls over_zlib
@session a caps=+OPTIONAL_RESULTSET_METADATA
@session b caps=+OPTIONAL_RESULTSET_METADATA,-DEPRECATE_EOF
a: SELECT GET_LOCK('$Nk',0)
= 1
b: SELECT GET_LOCK('$Nk',0)
= 0
a: SET SESSION resultset_metadata = 'NONE'
b: SET SESSION resultset_metadata = 'NONE'
a: SELECT GET_LOCK('$Nk',0)
= 1
b: SELECT GET_LOCK('$Nk',0)
= 0
a: SELECT RELEASE_LOCK('$Nk')
= 1
b: SELECT RELEASE_LOCK('$Nk')
= 0
a: SELECT RELEASE_LOCK('$Nnone')
= NULL
b: SELECT RELEASE_ALL_LOCKS()
= 0
a: SELECT GET_LOCK(NULL,0)
a: SELECT GET_LOCK('$Nk','abc')
b: SELECT GET_LOCK('$Nk','abc')
a: SELECT 1, 2
b: SELECT 1, 2
a: DO GET_LOCK('$Nk',0)
= OK
a prepare g : SELECT GET_LOCK(?,?)
a execute g '$Nk' 0
b prepare g : SELECT GET_LOCK(?,?)
b execute g '$Nk' 0
b!: SELECT GET_LOCK('$Nk',20)
a: SELECT RELEASE_ALL_LOCKS()
b?
= 1
a: SET SESSION resultset_metadata = 'FULL'
a: SELECT IS_FREE_LOCK('$Nk')
= 0

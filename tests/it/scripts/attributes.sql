# Query attributes, none and some, before statements and executions.
@only mysql
@also over_tls over_zlib
@session a caps=+QUERY_ATTRIBUTES
@session b caps=+QUERY_ATTRIBUTES,-DEPRECATE_EOF
a qattr : SELECT GET_LOCK('$Nk',0)
= 1
a qattr trace='00-abc' n=5 : SELECT GET_LOCK('$Nk',0)
= 1
a qattr trace='GET_LOCK(1,1)' empty='' none=null x=1.5 : SELECT IS_USED_LOCK('$Nk')
= <a>
b qattr trace='x' n=5 : SELECT GET_LOCK('$Nk',0)
= 0
b! qattr trace='x' n=5 : SELECT GET_LOCK('$Nk',20)
a qattr trace='x' : DO RELEASE_LOCK('$Nk')
= OK
a qattr trace='x' : SELECT RELEASE_ALL_LOCKS()
= 1
b?
= 1
a qattr a1='1' a2='2' a3='3' a4='4' a5='5' a6='6' a7='7' a8='8' a9='9' : SELECT 1
= 1
a qattr q='1' : SELECT 'GET_LOCK(1,1)'
= GET_LOCK(1,1)
a prepare g : SELECT GET_LOCK(?,?)
= prepared
a execute g '$Nm' 0
= 1
a execute g '$Nm' 0 attr:trace='y' attr:n=7
= 1
a execute g keep '$Nm' 0
a prepare all : SELECT RELEASE_ALL_LOCKS()
a execute all attr:trace='z'
= 3
a execute all
= 0

# Prepared calls with names beyond what the proxy holds back: in one packet, in several, as long data in any pieces.
@also over_zlib over_both observed
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
a prepare n : SELECT GET_LOCK(?,?)
a prepare m : DO RELEASE_LOCK(?)
a execute n '$REP(x,70000)' 0
a execute n b:'$REP(x,70000)' 0
a execute n '$REP(x,1100)' 0
a execute m '$REP(x,200000)'
a longdata n 0 $REP(x,40000)
a longdata n 0 $REP(y,40000)
a execute n long:253 0
a execute n '$Nn' 0
= 1
a longdata n 0 $REP(x,100000)
a execute n long:253 0
a longdata n 0 $REP(x,100000)
a resetstmt n
a execute n '$Nn' 0
= 1
a longdata m 0 $Nn
a execute m long
= OK
a longdata n 7 $REP(x,100000)
a execute n '$Nn' 0
b: SELECT IS_USED_LOCK('$Nn')
= <a>

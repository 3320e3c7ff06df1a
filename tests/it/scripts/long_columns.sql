# Column names are cut at 255 bytes (one more where the client speaks utf8mb3 to MySQL).
@only mysql
@matrix caps=-DEPRECATE_EOF
a: SELECT GET_LOCK('$Nk',$REP( ,300)0)
= 1
a: SELECT GET_LOCK('$Nk',/*$REP(c,5000)*/0)
= 1
a: SELECT GET_LOCK('$Nk',/*$REP(c,484)*/0)
= 1

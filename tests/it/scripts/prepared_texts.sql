# What preparing answers for the different texts of one bare call, and executing them.
@also over_tls
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@matrix caps=+OPTIONAL_RESULTSET_METADATA
a prepare p1 : SELECT GET_LOCK(?,10)
= prepared
a execute p1 '$Nk'
= 1
a prepare p2 : SELECT GET_LOCK('$Nk',?)
= prepared
a execute p2 0
= 1
a prepare p3 : SELECT GET_LOCK(?, ?) AS acquired
= prepared
a execute p3 '$Nk' 3
= 1
a prepare p4 : select get_lock(?,?) x from dual limit 1;
= prepared
a execute p4 '$Nk' 3
= 1
a prepare p5 : \x0a  SELECT\x0a    RELEASE_LOCK(?)\x0a
= prepared
a execute p5 '$Nk'
= 1
a prepare p6 : DO GET_LOCK(?,?)
= prepared
a execute p6 '$Nk' 0
= OK
a prepare p7 : DO RELEASE_LOCK(?)
= prepared
a execute p7 '$Nk'
= OK
a prepare p8 : DO RELEASE_ALL_LOCKS()
= prepared
a execute p8
= OK
a execute p8
= OK
b: SELECT IS_FREE_LOCK('$Nk')
= 1
a prepare p9 : SELECT IS_USED_LOCK(?);
= prepared
a execute p9 '$Nk'
= NULL
a prepare p10 : SELECT /* c */ GET_LOCK /* d */ (? , /* e */ ?) /* f */
= prepared
a execute p10 '$Nk' 0
= 1
a prepare p11 : SELECT GET_LOCK('$Nl',0)
= prepared
a execute p11
= 1
a prepare p12 : SELECT IS_USED_LOCK('$Nl')
a execute p12
= <a>
# A mark inside a string is none.
a prepare p13 : SELECT GET_LOCK('$N?',?)
= prepared
a execute p13 0
= 1
a prepare p15 : SELECT GET_LOCK(?,
= ERR 1064/42000
a prepare p16 : SELECT GET_LOCK(?)
= ERR 1582/42000
a prepare p17 : SELECT GET_LOCK(nosuch,?)
= ERR 1054/42S22
a prepare p19 : SELECT GET_LOCK(5,?)
[mysql] = prepared
[mariadb] = ERR 4079/HY000
a prepare p20 : SELECT GET_LOCK(NULL,?)
a prepare p21 : SELECT GET_LOCK(?,NULL)
a execute p21 '$Nm'
[mysql] = 1
[mariadb] = NULL W1
a prepare p22 : SELECT GET_LOCK(?,-1)
a execute p22 '$Nm'
[mysql] = 1
[mariadb] = NULL W1
a prepare p23 : SELECT GET_LOCK(?,'abc')
a execute p23 '$Nm'
= 1 W1
a prepare p24 : SELECT GET_LOCK(:name,0)
= ERR 1064/42000
a prepare p25 : SELECT mysql.GET_LOCK(?,?)
= ERR 1370/42000
a prepare p26 :
= ERR 1065/42000
# Too few parameters were sent: an error, or what the bytes happen to mean.
a execute all
= ERR 1243/HY000
a: SELECT RELEASE_ALL_LOCKS()

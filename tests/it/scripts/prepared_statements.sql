# Lock calls in larger prepared statements.
@also observed
@session a
@session b
@session o caps=-DEPRECATE_EOF
@session q caps=+QUERY_ATTRIBUTES
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY, owner BIGINT, state VARCHAR(20))
@setup INSERT INTO $DB.jobs VALUES (1,0,'new'),(2,0,'new')
# All are prepared first: the proxy lets the server prepare texts of its own later.
a prepare p : SELECT GET_LOCK(?, ?), IS_FREE_LOCK(?)
= prepared
b prepare p : SELECT GET_LOCK(?, ?), IS_FREE_LOCK(?), ?
= prepared
a prepare two : SELECT ?, RELEASE_LOCK(?), CONCAT(?,'-',?)
= prepared
a prepare if : SELECT IF(?, GET_LOCK(?,0), -1) AS got, COALESCE(RELEASE_LOCK(?), ?)
= prepared
a prepare co : SELECT COALESCE(GET_LOCK(?, ?),0)
= prepared
a prepare mine : SELECT IS_USED_LOCK(?) = CONNECTION_ID(), CONNECTION_ID() = IS_USED_LOCK(?) AS other
= prepared
a prepare cast : SELECT CAST(GET_LOCK(?, 0) AS SIGNED) AS x
= prepared
a prepare cat : SELECT GET_LOCK(CONCAT(DATABASE(), ?), ?), ?
= prepared
a prepare up : UPDATE jobs SET state=?, owner=IS_USED_LOCK(?) WHERE id=? AND IS_USED_LOCK(?) = CONNECTION_ID()
= prepared
a prepare ins : INSERT INTO jobs SELECT ?, ?, ? FROM DUAL WHERE IS_USED_LOCK(?) = CONNECTION_ID()
= prepared
a prepare val : INSERT INTO jobs VALUES (?, GET_LOCK(?,0), ?)
= prepared
a prepare list : SELECT id, IS_FREE_LOCK(?), state FROM jobs WHERE id < ? ORDER BY id
= prepared
a prepare do : DO RELEASE_LOCK(?), GET_LOCK(?,0)
= prepared
a prepare set : SET @v = GET_LOCK(?,?)
= prepared
a prepare num : SELECT GET_LOCK(?,0) + 0
= prepared
a prepare long : SELECT GET_LOCK(?,0), LENGTH(?)
= prepared
o prepare p : SELECT GET_LOCK(?, 0), ?, IS_FREE_LOCK(?)
= prepared
[mysql] q prepare p : SELECT GET_LOCK(?, 0), ?, IS_FREE_LOCK(?)
a execute p '$Nk' 0 '$Nk'
= 1 | 0
b: SELECT IS_USED_LOCK('$Nk')
= <a>
b execute p '$Nk' 0 '$Nl' 'x'
= 0 | 1 | x
b execute p '$Nl' 0 '$Nl' 7
= 1 | 0 | 7
b execute p '$Nl' null '$Nl' 8
[mysql] = 1 | 0 | 8
# The name is bound several times, and beside the calls too.
a execute two '$Nk' '$Nk' 'x' 'y'
= $Nk | 1 | x-y
a execute two 1 '$Nk' 2.5 null
b: SELECT IS_USED_LOCK('$Nk')
= NULL
# Branches.
a execute if 0 '$Nm' '$Nm' 5
= -1 | 5
a execute if 1 '$Nm' '$Nn' 'none'
b: SELECT IS_USED_LOCK('$Nm')
= <a>
a execute co '$Nm' 0
= 1
a execute co '$Nl' 0
= 0
a execute co null 0
[mysql] = ERR 3057/42000
[mariadb] = 0
a execute mine '$Nm' '$Nl'
= 1 | 0
a execute cast '$Nm'
= 1
a execute cat '$Nz' 0 'w'
a: SELECT RELEASE_LOCK(CONCAT(DATABASE(),'$Nz'))
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 3
# Statements over tables.
a: SELECT GET_LOCK('$Nfence',0)
= 1
a execute up 'mine' '$Nfence' 1 '$Nfence'
= OK
a execute up 'other' '$Nfence' 2 '$Nl'
= OK
a execute ins 3 0 'ins' '$Nfence'
= OK
a execute val 4 '$Nval' 'v'
= OK
a: SELECT id, state FROM jobs ORDER BY id
= 1 | mine; 2 | new; 3 | ins; 4 | v
b: SELECT IS_FREE_LOCK('$Nval')
= 0
a execute list '$Nval' 3
= 1 | 0 | mine; 2 | 0 | new
# DO and SET.
a execute do '$Nval' '$Ndone'
= OK
b: SELECT IS_FREE_LOCK('$Nval'), IS_FREE_LOCK('$Ndone')
= 1 | 0
a execute set '$Ndone' 0
= OK
a: SELECT @v
= 1
# Errors: at PREPARE, and in a value.
a prepare bad : SELECT GET_LOCK(?,0), nosuch
= ERR 1054/42S22
a execute num $ID(a)
[mariadb] = ERR 4079/HY000
a: SELECT RELEASE_ALL_LOCKS()
# Long data, statement ids, reset and close.
a longdata long 0 $Nlo
a longdata long 0 ng
a execute long long 'abc'
= 1 | 3
b: SELECT IS_FREE_LOCK('$Nlong')
= 0
a resetstmt long
= OK
a execute long '$Nlong' 'abcd'
= 1 | 4
a closestmt long
a: SELECT RELEASE_ALL_LOCKS()
= 2
# An old client, and one that sends attributes.
o execute p '$Nold' 'x' '$Nnone'
= 1 | x | 1
[mysql] q execute p '$Nq' 'x' '$Nnone' attr:trace=1
[mysql] = 1 | x | 1

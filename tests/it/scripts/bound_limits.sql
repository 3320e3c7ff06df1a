# Parameters after LIMIT and OFFSET, beside lock calls.
@matrix caps=-DEPRECATE_EOF
@setup CREATE TABLE $DB.t (id INT PRIMARY KEY)
@setup INSERT INTO $DB.t VALUES (1),(2)
a prepare g : SELECT GET_LOCK(?,?) LIMIT ?
a prepare o : SELECT GET_LOCK(?,0) LIMIT ? OFFSET ?
a prepare c : SELECT GET_LOCK(?,0) LIMIT /* c */ ?,?
a prepare z : SELECT GET_LOCK(?,0) LIMIT 0,?
a prepare i : SELECT IF(GET_LOCK(?,0),5,6) LIMIT ?
a prepare u : SELECT GET_LOCK(?,0) UNION SELECT 5 LIMIT ?
a prepare uu : (SELECT GET_LOCK(?,0) LIMIT ?) UNION SELECT 5 LIMIT ?
a prepare t : SELECT IS_USED_LOCK(?) FROM t LIMIT ?
a prepare r : SELECT RELEASE_LOCK(?) LIMIT ?
a execute g '$Nk' 0 1
= 1
a execute g '$Nk' 0 0
a execute g '$Nk' 0 '1'
= 1
a execute g '$Nk' 0 'x'
a execute g '$Nk' 0 null
a execute g '$Nk' 0 u:1
= 1
a execute g '$Nk' 0 1.5
a execute g '$Nk' 0 d:'1'
a execute g '$Nk' 0 -1
b: SELECT IS_USED_LOCK('$Nk')
a: SELECT RELEASE_ALL_LOCKS()
a execute o '$Nk' 1 0
= 1
a execute o '$Nk' 1 1
a execute c '$Nk' 0 1
= 1
a execute z '$Nk' 1
= 1
a execute i '$Nk' 1
= 5
a execute u '$Nk' 2
= 1; 5
a execute uu '$Nk' 1 2
= 1; 5
@end shuffled mariadb
a execute t '$Nk' 1
= <a>
a execute r '$Nk' 1
= 1
a execute r '$Nk' 0
a: SELECT RELEASE_ALL_LOCKS()
= 5
# Under a name.
a: PREPARE s FROM 'SELECT GET_LOCK(?,0) LIMIT 0,?'
a: SET @n='$Nk', @l=1
a: EXECUTE s USING @n,@l
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 1

a prepare p14 : SELECT GET_LOCK(?,?),?
= prepared
a: SET @name = '$Nvar', @t = 0
= OK
a: PREPARE s FROM 'SELECT GET_LOCK(?,?)'
= OK
a: EXECUTE s USING @name, @t
= 1
b: SELECT IS_USED_LOCK('$Nvar')
= <a>

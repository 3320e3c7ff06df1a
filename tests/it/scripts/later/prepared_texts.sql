a prepare p14 : SELECT GET_LOCK(?,?),?
= prepared
a: PREPARE s FROM 'SELECT GET_LOCK(?,?)'
= OK

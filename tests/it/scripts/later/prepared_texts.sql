a prepare p14 : SELECT GET_LOCK(?,?),?
= prepared
a prepare p18 : SELECT GET_LOCK('$Nx',0); SELECT 1
= ERR 1064/42000
a: PREPARE s FROM 'SELECT GET_LOCK(?,?)'
= OK

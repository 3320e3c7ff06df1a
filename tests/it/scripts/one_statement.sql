# Several statements in one text: without MULTI_STATEMENTS the server reads one.
@session m caps=+MULTI_STATEMENTS
a prepare p18 : SELECT GET_LOCK('$Nx',0); SELECT 1
= ERR 1064/42000
a: SELECT GET_LOCK('$Nk',0); SELECT 1
= ERR 1064/42000
a: SELECT 1; SELECT GET_LOCK('$Nk',0)
= ERR 1064/42000
m prepare p18 : SELECT GET_LOCK('$Nx',0); SELECT 1

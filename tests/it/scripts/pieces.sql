# Where the statements of one text end.
@session a caps=+MULTI_STATEMENTS
a: SELECT 5 --;SELECT GET_LOCK('$Nk',0)
= ERR 1064/42000
~ ERR 1064/42000
a: SELECT GET_LOCK('$Nk',0) --;SELECT 2
= ERR 1064/42000
~ ERR 1064/42000
c: SELECT 1+GET_LOCK('$Nk',0) --;
= 2
c: SELECT RELEASE_ALL_LOCKS()
b: SELECT IS_USED_LOCK('$Nk')
= NULL
a: SELECT GET_LOCK('$Nk',0) -- ;SELECT 2
= 1
a: SELECT 5 --\x0a;SELECT GET_LOCK('$Nk',0)
= 5; 1
a: /*!50000 SELECT GET_LOCK('$Nk',0) /*!*/; SELECT 2
= 1; 2
a: /*!50000 SELECT 5 /*!*/; SELECT 6; SELECT GET_LOCK('$Nk',0)
= 5; 6; 1
a: SELECT 7 /*!50000 /*!*/; SELECT GET_LOCK('$Nk',0)
= 7; 1
a: SELECT /*!50000 1 + /*!*/ GET_LOCK('$Nk',0), 5
= 2 | 5
c: SELECT /*!50000 /*!*/ GET_LOCK('$Nk',0)
= 1
c: SELECT /*! GET_LOCK('$Nk', /*! 0) */
= 1
a: SELECT RELEASE_ALL_LOCKS()

# Comments that hold code, and comments that only look like it.
@also over_tls
@matrix caps=-DEPRECATE_EOF
a: SELECT GET_LOCK('$Nk',0 /*!00000 ,'too','many' */)
= ERR 1582/42000
a: SELECT RELEASE_ALL_LOCKS()
a: SELECT 1 /*!99999 , GET_LOCK('$Nk',0) */
= 1
a: SELECT IS_FREE_LOCK('$Nk')
= 1
a: SELECT 1 /* GET_LOCK('$Nk',0) */
= 1
a: SELECT 1 # GET_LOCK('$Nk',0)
= 1
a: SELECT 1 -- GET_LOCK('$Nk',0)
= 1
a: SELECT /*+ GET_LOCK('$Nk',0) */ 1
a: SELECT RELEASE_ALL_LOCKS()
= 0
a: SELECT GET_LOCK('$Nk',0) --
= 1
a: SELECT GET_LOCK('$Nk',0) --\x0a
= 1
a: SELECT GET_LOCK('$Nk',0) --x
a: SELECT GET_LOCK('$Nk',0) #
= 1
a: SELECT GET_LOCK('$Nk',0) /* unfinished
= ERR 1064/42000
a: SELECT GET_LOCK('$Nk',0) */
= ERR 1064/42000
a: SELECT /**/ /***/ /* * / */ GET_LOCK('$Nk',0)
= 1
a: SELECT /*+ MAX_EXECUTION_TIME(60000) */ GET_LOCK('$Nk',0)
= 1

a: SELECT GET_LOCK('$N\xed\xa0\x80',0)

# The collation of the default schema, set by itself: its character set follows, and no report says so.
@session a
a: SET @@local.collation_database=2
a: SELECT @@character_set_database, @@collation_database
a: SET collation_database='latin1_bin'
a: SELECT @@character_set_database, @@collation_database
a: SET character_set_database=gbk
a: SELECT @@character_set_database, @@collation_database
a: SET collation_database=DEFAULT
a: SELECT @@character_set_database, @@collation_database
a: USE $DB
a: SELECT @@character_set_database, @@collation_database

# Query attributes of larger statements, which the statement in their place has too.
@only mysql
@own
@first INSTALL COMPONENT 'file://component_query_attributes'
@session a caps=+QUERY_ATTRIBUTES
@session o caps=+QUERY_ATTRIBUTES,-DEPRECATE_EOF
a prepare p : SELECT GET_LOCK(?,0), mysql_query_attribute_string('trace') t, mysql_query_attribute_string('n'), ?
a prepare k : SELECT IS_FREE_LOCK('$Nk'), mysql_query_attribute_string('trace'), mysql_query_attribute_string('none') IS NULL
o prepare k : SELECT IS_FREE_LOCK('$Nk'), mysql_query_attribute_string('trace')
a execute p '$Nk' 5 attr:trace='x' attr:n=7
= 1 | x | 7 | 5
a execute p '$Nk' null attr:none=null attr:trace='y'
= 1 | y | NULL | NULL
a execute p '$Nk' 'text'
a execute k attr:trace='z' attr:none=null
= 0 | z | 1
a execute k
= 0 | NULL | 1
a execute k cursor attr:trace='c'
a fetch k 1
o execute k attr:trace='z'
= 0 | z
a qattr trace='q' : SELECT GET_LOCK('$Nk',0), mysql_query_attribute_string('trace')
= 1 | q

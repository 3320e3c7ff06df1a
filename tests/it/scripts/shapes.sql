# The texts of one bare call: column names, white space, comments, aliases, tails.
@also over_tls observed
@matrix caps=-DEPRECATE_EOF
@matrix caps=+QUERY_ATTRIBUTES
@matrix charset=latin1
@matrix charset=utf8mb3
@matrix charset=gbk
@matrix caps=+MULTI_STATEMENTS
a: select get_lock('$Nk',0)
= 1
a: Select Get_Lock('$Nk',0)
= 1
a: SELECT GET_LOCK ('$Nk',0)
= 1
a: SELECT  GET_LOCK( '$Nk' , 0 )
= 1
a:   SELECT GET_LOCK('$Nk',0)  \x20
= 1
a: \x0aSELECT\x0aGET_LOCK\x0a(\x0a'$Nk',\x0a0\x0a)\x0a
= 1
a: \x09SELECT\x09GET_LOCK\x09('$Nk',\x090)\x09
= 1
a: SELECT\x0d\x0aGET_LOCK\x0d\x0a('$Nk',0)\x0d\x0a
= 1
a: SELECT\x0bGET_LOCK\x0b('$Nk',0)
= 1
a: SELECT\x0cGET_LOCK\x0c('$Nk',0)
= 1
a: SELECT GET_LOCK/**/('$Nk',0)
= 1
a: SELECT/**/GET_LOCK('$Nk',0)
= 1
a: SELECT/* hello */GET_LOCK/* x */(/* y */'$Nk'/* z */,/* ' */0/* " */)/* end */
= 1
a: /* lead */ SELECT GET_LOCK('$Nk',0) /* tail */
= 1
a: -- lead\x0aSELECT GET_LOCK('$Nk',0) -- tail
= 1
a: # lead\x0aSELECT GET_LOCK('$Nk',0) # tail
= 1
a: SELECT GET_LOCK -- c\x0a('$Nk',0)
= 1
a: SELECT GET_LOCK # c\x0a('$Nk',0)
= 1
a: SELECT GET_LOCK('$Nk', -- c\x0a0)
= 1
a: SELECT `GET_LOCK`('$Nk',0)
= 1
a: SELECT `get_lock` ('$Nk',0)
= 1
a: SELECT `Release_Lock`('$Nk')
= 1
a: SELECT GET_LOCK('$Nk',0);
= 1
a: SELECT GET_LOCK('$Nk',0) ;
= 1
a: SELECT GET_LOCK('$Nk',0);\x20
= 1
a: SELECT GET_LOCK('$Nk',0);\x0a
= 1
a: SELECT GET_LOCK('$Nk',0);;
a: SELECT GET_LOCK('$Nk',0); -- c
a: SELECT GET_LOCK('$Nk',0); /* c */
a: SELECT GET_LOCK('$Nk',0)\x00
a: SELECT GET_LOCK('$Nk',0)\x00SELECT
a: SELECT GET_LOCK('$Nk',0);\x00
a: DO GET_LOCK('$Nk',0);
= OK
a: do get_lock('$Nk',0)
= OK
a: DO/**/GET_LOCK('$Nk',0)
= OK
a: SELECT GET_LOCK('$Nk',0) AS x
= 1
a: SELECT GET_LOCK('$Nk',0) x
= 1
a: SELECT GET_LOCK('$Nk',0) as `x y`
= 1
a: SELECT GET_LOCK('$Nk',0) AS 'quoted ''alias'
= 1
a: SELECT GET_LOCK('$Nk',0) 'bare'
= 1
a: SELECT GET_LOCK('$Nk',0) AS "double"
= 1
a: SELECT GET_LOCK('$Nk',0) `a``b`
= 1
a: SELECT GET_LOCK('$Nk',0) AS Value
= 1
a: SELECT GET_LOCK('$Nk',0) AS `GET_LOCK('x',1)`
= 1
a: SELECT GET_LOCK('$Nk',0) AS ` lead`
a: SELECT GET_LOCK('$Nk',0) AS `trail `
a: SELECT GET_LOCK('$Nk',0) AS ``
a: SELECT GET_LOCK('$Nk',0) AS ''
a: SELECT GET_LOCK('$Nk',0) AS lock
a: SELECT GET_LOCK('$Nk',0) AS locked
= 1
a: SELECT GET_LOCK('$Nk',0) AS get_lock
= 1
a: SELECT GET_LOCK('$Nk',0) get_lock
= 1
a: SELECT GET_LOCK('$Nk',0) AS x.y
= ERR 1064/42000
a: SELECT GET_LOCK('$Nk',0) AS $REP(x,64)
= 1
a: SELECT GET_LOCK('$Nk',0) AS $REP(x,65)
a: SELECT GET_LOCK('$Nk',0) AS $REP(x,255)
a: SELECT GET_LOCK('$Nk',0) AS $REP(x,256)
a: SELECT GET_LOCK('$Nk',0) AS $REP(x,257)
a: SELECT GET_LOCK('$Nk',0) FROM DUAL
= 1
a: SELECT GET_LOCK('$Nk',0) from dual
= 1
a: SELECT GET_LOCK('$Nk',0) AS x FROM DUAL;
= 1
a: SELECT GET_LOCK('$Nk',0) LIMIT 1
= 1
a: SELECT GET_LOCK('$Nk',0) AS x FROM DUAL LIMIT 1
= 1
a: SELECT GET_LOCK('$Nk',0) x limit 1 ;
= 1
# A tail in the middle of the name: comments stay inside, are dropped outside.
a: SELECT /* a */ GET_LOCK /* b */ ('$Nk', /* c */ 0) /* d */ AS /* e */ x /* f */
= 1
a: SELECT /* a */ GET_LOCK /* b */ ('$Nk', /* c */ 0) /* d */ FROM /* e */ DUAL
= 1
# Long texts: the name is cut.
a: SELECT GET_LOCK('$Nk',/*$REP(c,200)*/0)
= 1
a: SELECT GET_LOCK('$Nk',/*$REP(c,223)*/0)
= 1
a: SELECT GET_LOCK('$Nk',/*$REP(c,224)*/0)
= 1
a: SELECT GET_LOCK('$Nk',/*$REP(c,225)*/0)
= 1
a: SELECT GET_LOCK('$Nk',/*$REP(c,226)*/0)
= 1
# Names with quotes and escapes in them.
a: SELECT GET_LOCK('$Nk''s',0)
= 1
a: SELECT IS_USED_LOCK('$Nk\'s')
= <a>
a: SELECT GET_LOCK("$Nk",0)
= 1
a: SELECT GET_LOCK("$Nk""q",0)
= 1
a: SELECT IS_USED_LOCK('$Nk"q')
= <a>
a: SELECT IS_USED_LOCK("$Nk\"q")
= <a>
a: SELECT GET_LOCK('$N\tx',0)
= 1
a: SELECT IS_USED_LOCK('$N\x09x')
= <a>
a: SELECT GET_LOCK('$N\\',0)
= 1
a: SELECT GET_LOCK('$N\%\_',0)
= 1
a: SELECT GET_LOCK('$N\q',0)
= 1
a: SELECT IS_USED_LOCK('$Nq')
= <a>
a: SELECT GET_LOCK('$N' 'two' ' parts',0)
= 1
a: SELECT IS_USED_LOCK('$Ntwo parts')
= <a>
a: SELECT GET_LOCK('$N'\x0a'lines',0)
= 1
a: SELECT IS_USED_LOCK('$Nlines')
= <a>
a: SELECT GET_LOCK('$N/* no comment */',0)
= 1
a: SELECT GET_LOCK('$N-- no comment',0)
= 1
a: SELECT GET_LOCK('$N;',0)
= 1
a: SELECT RELEASE_LOCK('$N;')
= 1
a: SELECT GET_LOCK('GET_LOCK(''$N'',0)',0)
= 1
# Further forms of the other functions.
a: select release_lock ('$Nk') as r;
= 1
a: SELECT IS_FREE_LOCK( '$Nk' ) f
= 0
a: SELECT is_used_lock('$Nnone') AS u FROM dual
= NULL
a: SELECT RELEASE_ALL_LOCKS ( )
a: SELECT Release_All_Locks()
= 0
a: SELECT RELEASE_ALL_LOCKS(/* all */) AS n LIMIT 1
= 0

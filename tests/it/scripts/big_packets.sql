# Packets of 16 MiB and more, in both directions, and sizes around the limit of one frame.
@also over_tls
@not over_zlib over_both
@global max_allowed_packet=67108864
@matrix caps=-DEPRECATE_EOF
# On a busy machine one side may take more than ten seconds, which a status flag tells.
a: SET long_query_time = 3600
a: SELECT LENGTH('$REP(x,17000000)')
= 17000000
# The text with its command byte fills one frame exactly, or all but one byte, or one more.
a: SELECT LENGTH('$REP(x,16777196)')
= 16777196
a: SELECT LENGTH('$REP(x,16777195)')
= 16777195
a: SELECT LENGTH('$REP(x,16777197)')
= 16777197
a: SELECT LENGTH('$REP(x,33554500)')
= 33554500
a: SELECT REPEAT('x',17000000)
a: SELECT REPEAT('x',16777211)
a: SELECT REPEAT('x',16777210)
a: SELECT REPEAT('x',16777212)
a: SELECT REPEAT('x',16777206), 1
a: SELECT REPEAT('x',33554426)
a: SELECT REPEAT('x',20000000), REPEAT('y',20000000)
a: SELECT 1 /* $REP(c,17000000) */, 2
= 1 | 2
a: SELECT 'GET_LOCK($REP(x,17000000))' = 'x'
= 0
a prepare s : SELECT LENGTH(?)
a execute s '$REP(x,17000000)'
= 17000000
a longdata s 0 $REP(x,16777300)
a longdata s 0 $REP(y,100)
a execute s long
= 16777400
a prepare r : SELECT REPEAT(?,17000000)
a execute r 'x'
a: SELECT 1
= 1
# Beyond the server's limit.
@session c
c: SELECT LENGTH('$REP(x,67108860)')
c gone

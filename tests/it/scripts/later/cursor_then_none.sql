# MySQL 9.7 ends the rows of an execution without a cursor by an OK packet whose first byte is
# 0x00 where DEPRECATE_EOF asks for 0xfe, if the statement was executed with a cursor before.
# No client can find the end of that response.
@ignored the server itself breaks the protocol
a prepare w : SELECT 1
a execute w cursor
a fetch w 5
a execute w

# The other commands, and bytes that are none.
@also over_tls over_zlib over_both observed
@matrix caps=-DEPRECATE_EOF
a: CREATE TABLE t (id INT NOT NULL DEFAULT 7, get_lock VARCHAR(10) DEFAULT 'x', d DATE)
a ping
= OK
a statistics
= text
a fieldlist t %
a fieldlist t get%
a fieldlist nosuch %
a initdb $DB
a initdb nosuch_$N
a initdb
a: SELECT DATABASE()
a reset
= OK
a: SELECT DATABASE()
a ping
= OK
a setoption 0
a setoption 1
a setoption 99
# Unknown, obsolete and internal commands.
a raw ff
a raw 00
a raw 05
a raw 0b
a raw 0f
a raw 10
a raw 13
a raw 14
a raw 15
a raw 1d
a raw 50
a raw 03
a raw 16
a raw 17
a raw 1701000000
a raw 1c
a raw 1a
a raw 1b
a raw 1b00
a raw 02
a ping
a: SELECT 1
= 1

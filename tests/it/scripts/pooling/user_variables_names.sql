# Long user variables, many of them, and names of every kind.
@matrix caps=-DEPRECATE_EOF

# A long text, below and above what is worth moving.
a: SET @long = REPEAT('0123456789', 1000), @longer = REPEAT('x', 70000), @blob = REPEAT(x'00ff', 100000)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT LENGTH(@long), SHA2(@long, 256), LENGTH(@longer), LENGTH(@blob), CRC32(@blob)
= 10000 | 4c207598af7a20db0e3334dd044399a40e467cb81b37f7ba05a4f76dcbd8fd59 | 70000 | 200000 | 1537087498
a: SET @longer = CONCAT(@longer, 'y')
a: BEGIN
a: SELECT LENGTH(@longer), RIGHT(@longer, 2)
= 70001 | xy
a: COMMIT
a: SET @longer = 'short', @blob = NULL
a: SELECT @longer, @blob
= short | NULL
a: SET @given = '$REP(ab,40000)'
a: DO 1
a: SELECT LENGTH(@given), CRC32(@given)
= 80000 | 3345410887
a: SET @given = 1

# Hundreds of variables.
b*300: SET @many_$# = $#
b: SELECT GET_LOCK('$N.b', 0)
= 1
b: SELECT @many_0, @many_149, @many_299, @many_300
= 0 | 149 | 299 | NULL
b: SET @many_149 = 'changed'
b: SELECT @many_148, @many_149, @many_150
= 148 | changed | 150

# Names in quotes, of other characters, of other case.
c: SET @`a b` = 1, @'it''s' = 2, @"double" = 3, @`back``tick` = 4, @é = 5, @a.b = 6, @$dollar = 7, @_ = 8, @1 = 9, @`` = 10
[mysql] = ERR 3061/42000
[mariadb] = ERR 1064/42000
c: SET @`a b` = 1, @'it''s' = 2, @"double" = 3, @`back``tick` = 4, @é = 5, @a.b = 6, @$dollar = 7, @_ = 8, @1 = 9
c: DO 1
c: SELECT @`a b`, @'it''s', @"double", @`back``tick`, @é, @a.b, @$dollar, @_, @1
= 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
c: SELECT @double, @`DOUBLE`, @É, @_, @`a.b`
= 3 | 3 | 5 | 8 | 6
c: SET @Mixed = 'x'
c: SELECT RELEASE_ALL_LOCKS()
= 0
c: SELECT @mixed, @MIXED, @`Mixed`
= x | x | x
c: SET @$REP(n,64) = 'of 64', @$REP(n,63) = 'of 63'
c: SELECT @$REP(n,64), @$REP(n,63)
= of 64 | of 63
c: SET @$REP(n,65) = 'of 65'
[mysql] = ERR 3061/42000
[mariadb] = OK
c: SELECT @ x
[mysql] = NULL
[mariadb] = ERR 1064/42000
c: SELECT @
[mysql] = NULL
[mariadb] = ERR 1064/42000
c: SET @`select` = 1, @from = 2
c: SELECT @`select`, @from
= 1 | 2

# A name in another character set is the same variable.
d: SET @ü = 'by utf8mb4'
d: SET NAMES latin1
d: SELECT @\xfc
= NULL
d: SET @\xfc = 'by latin1'
[mysql] = ERR 3061/42000
[mariadb] = OK
d: SET NAMES utf8mb4
d: DO 1
d: SELECT @ü
= by utf8mb4

# In comments, strings and versioned comments: some are variables and some not.
d: SET @a = 1, @b = '@a', @c = "@a" /* , @d = 2 */ -- @e = 3
d: SELECT @a, @b, @c, @d, @e
= 1 | @a | @a | NULL | NULL
d: SET @f = 1 /*! , @g = 5 */
d: SELECT @f, @g
= 1 | 5
d: SELECT 'x@y', `id@` FROM (SELECT 1 AS `id@`) AS t
= x@y | 1
d: SELECT @@sql_mode = @@session.sql_mode, @a@b
= ERR 1064/42000
d: SELECT @a, @b
= 1 | @a

# Under other SQL modes.
e: SET sql_mode = 'ANSI_QUOTES'
e: SET @"quoted" = 1, @'single' = 2
e: SELECT @quoted, @"single", @`quoted`
= 1 | 2 | 1
e: SET sql_mode = 'NO_BACKSLASH_ESCAPES'
e: SET @s = 'a\', @t = 'b'
e: DO 1
e: SELECT @s, HEX(@s), @t
= a\ | 615C | b
e: SET sql_mode = ''
e: SELECT @s, HEX(@s), 'x', @t
= a\ | 615C | x | b

# User variables of every type: value, type, character set and collation.
@matrix caps=-DEPRECATE_EOF
@matrix caps=-SESSION_TRACK

# Whole numbers.
a: SET @i = 5, @n = -7, @u = 18446744073709551615, @max = 9223372036854775807, @t = TRUE
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT @i, @n, @u, @max, @t
= 5 | -7 | 18446744073709551615 | 9223372036854775807 | 1
a: SELECT @u + 0, @max, @n * 2, HEX(@u)
= 18446744073709551615 | 9223372036854775807 | -14 | FFFFFFFFFFFFFFFF
a: CREATE TABLE numbers AS SELECT @i AS i, @n AS n, @u AS u, @t AS t
a: SHOW CREATE TABLE numbers

# Decimals and doubles.
a: SET @d = 1.50, @z = 0.000000000000000000000000000001, @long = 1234567890123456789012345678.90123456789012345678, @f = 1.5e0, @third = 1e0 / 3, @big = 1.7976931348623157e308, @tiny = 5e-324
a: BEGIN
a: SELECT @d, @z, @long, @f, @third, @big, @tiny
= 1.50 | 0.000000000000000000000000000001 | 1234567890123456789012345678.90123456789012345678 | 1.5 | 0.3333333333333333 | 1.7976931348623157e308 | 5e-324
a: COMMIT
a: SELECT @third * 3 = 1, @d + @d, @long - 1, @f / 3
[mysql] = 1 | 3.000000000000000000000000000000 | 1234567890123456789012345677.901234567890123456780000000000 | 0.5
[mariadb] = 1 | 3.00000000000000000000000000000000000000 | 1234567890123456789012345677.90123456789012345678000000000000000000 | 0.5
a: SET @w = CAST(5 AS DECIMAL(10,0)), @wide = 12345678901234567890123, @less = -CAST(3 AS DECIMAL(5,0)), @none = 0.
a: BEGIN
a: SELECT @w, @wide, @less, @none, @w / 3, @w + 1
a prepare whole : SELECT @w, @wide, @less, @none
a execute whole
a closestmt whole
= empty
a: COMMIT
a: CREATE TABLE fractions AS SELECT @d AS d, @long AS l, @f AS f
[mysql] = OK
[mariadb] = ERR 1264/22003
a: SHOW CREATE TABLE fractions
[mariadb] = ERR 1146/42S02

# Doubles that need all of their digits.
a: SET @x = -1.797693134862315708e308, @y = 2.4264149255850003e-307, @q = -1.5968053384716447e-180
a: DO 1
a: SELECT @x = -1.797693134862315708e308, @y = 2.4264149255850003e-307, @q = -1.5968053384716447e-180, @x
= 1 | 1 | 1 | -1.7976931348623157e308

# Texts, with all that needs care in them.
b: SET @s = 'it''s a "text" \\ with % and _', @e = '', @sp = '  x  ', @nul = 'a\0b', @nl = 'a\nb\tc\rd\Ze', @uml = 'äöü € 😀'
b: DO 1
b: SELECT @s, @e, @sp, @nl
= it's a "text" \ with % and _ |  |   x   | a\x0ab\x09c\x0dd\x1ae
b: SELECT HEX(@nul), LENGTH(@nul), HEX(@nl), HEX(@uml), CHAR_LENGTH(@uml), @e = '', @e IS NULL
= 610062 | 3 | 610A6209630D641A65 | C3A4C3B6C3BC20E282AC20F09F9880 | 7 | 1 | 0
b: SELECT CHARSET(@s), COLLATION(@s), COERCIBILITY(@s)
= utf8mb4 | utf8mb4_general_ci | 2
b: CREATE TABLE texts AS SELECT @s AS s, @e AS e
b: SHOW CREATE TABLE texts
[mariadb] = texts | CREATE TABLE `texts` (\x0a  `s` longtext DEFAULT NULL,\x0a  `e` longtext DEFAULT NULL\x0a) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci

# In other character sets and collations.
c: SET @l = _latin1 x'E9', @b = _binary x'00ff27', @g = 'a' COLLATE utf8mb4_bin, @k = _koi8r x'D6', @w = CONVERT('é' USING utf16), @c = CONVERT('x' USING ascii)
c: SET @l = _latin1 x'E9', @b = _binary x'00ff27', @k = _koi8r x'D6', @w = CONVERT('é' USING utf16), @c = CONVERT('x' USING ascii)
c: SELECT RELEASE_LOCK('$N.c')
= NULL
c: SELECT CHARSET(@l), COLLATION(@l), CHARSET(@b), COLLATION(@b), CHARSET(@k), CHARSET(@w), CHARSET(@c)
= latin1 | latin1_swedish_ci | binary | binary | koi8r | utf16 | ascii
c: SELECT HEX(@l), HEX(@b), HEX(@k), HEX(@w)
= E9 | 00FF27 | D6 | 00E9
c: SELECT @l, @b, @k, @c
c: SET @ci = _latin1'a' COLLATE latin1_general_cs, @bi = _utf8mb4'a' COLLATE utf8mb4_bin, @de = _latin1 x'E4' COLLATE latin1_german2_ci
c: DO 1
c: SELECT @ci = 'A', @bi = 'A', COLLATION(@ci), COLLATION(@bi), @de = 'ae', COERCIBILITY(@ci)
= 0 | 0 | latin1_general_cs | utf8mb4_bin | 1 | 2
c: SET NAMES latin1
c: SELECT COLLATION(@bi), COLLATION(@l), HEX(@k), @l
= utf8mb4_bin | latin1_swedish_ci | D6 | \xe9
c: SET NAMES utf8mb4
c: SELECT @ci = @bi
= 1

@end shuffled
# NULL, with and without a past.
d: SET @a = NULL, @b = 5
d: SET @b = NULL
d: SELECT GET_LOCK('$N.d', 0)
= 1
d: SELECT @a, @b, @never, @a IS NULL, @b <=> @never
= NULL | NULL | NULL | 1 | 1
d: SELECT CHARSET(@a), CHARSET(@b), CHARSET(@never), COERCIBILITY(@never)
= binary | binary | binary | 2
d: CREATE TABLE nulls AS SELECT @a AS a, @b AS b, @never AS n
d: SHOW CREATE TABLE nulls
d: SET @c = 'x', @c = NULL
d: SELECT @c, CHARSET(@c)
= NULL | utf8mb4

# Dates, bits, hexadecimal, JSON: what remains of their types.
e: SET @date = DATE'2024-02-29', @time = TIME'-12:34:56.789', @dt = TIMESTAMP'2024-02-29 01:02:03.000004', @year = CAST(2024 AS YEAR)
[mysql] = OK
[mariadb] = ERR 1064/42000
e: SET @date = DATE'2024-02-29', @time = TIME'-12:34:56.789', @dt = TIMESTAMP'2024-02-29 01:02:03.000004'
e: SET @bit = b'101', @hex = x'4d7953', @hexn = x'4d' + 0, @json = JSON_OBJECT('a', 1, 'é', 'x')
[mysql] = OK
[mariadb] = OK W1
e: DO 1
e: SELECT @date, @time, @dt, @hex, @hexn, HEX(@bit), @json
[mysql] = 2024-02-29 | -12:34:56.789 | 2024-02-29 01:02:03.000004 | MyS | 77 | 05 | {"a": 1, "é": "x"}
[mariadb] = 2024-02-29 | -12:34:56.789 | 2024-02-29 01:02:03.000004 | MyS | 0 | 05 | {"a": 1, "é": "x"}
e: SELECT @date + INTERVAL 1 DAY, @time + 0, CHARSET(@date), CHARSET(@hex), CHARSET(@json), COLLATION(@json)
[mysql] = 2024-03-01 | -12 | latin1 | binary | utf8mb4 | utf8mb4_bin W1
[mariadb] = 2024-03-01 | -12 | latin1 | binary | utf8mb4 | utf8mb4_general_ci
e: SELECT @json->'$.a'
= ERR 1064/42000
e: SELECT JSON_EXTRACT(@json, '$.a'), JSON_TYPE(@json)
= 1 | OBJECT
e: CREATE TABLE others AS SELECT @date AS d, @time AS t, @bit AS b, @hex AS h, @json AS j
e: SHOW CREATE TABLE others
e: SET @point = ST_GeomFromText('POINT(1 2)')
e: SELECT ST_AsText(@point), HEX(@point), CHARSET(@point)
= POINT(1 2) | 000000000101000000000000000000F03F0000000000000040 | binary

# A variable's type changes with its value.
e: SET @v = 1
e: SELECT @v
= 1
e: SET @v = 'x'
e: SELECT @v, CHARSET(@v)
= x | utf8mb4
e: SET @v = 1.5
e: SELECT @v
= 1.5
e: SET @v = 2e0
e: SELECT RELEASE_ALL_LOCKS()
= 0
e: SELECT @v, CHARSET(@v)
= 2 | binary

# In the binary protocol.
e prepare p : SELECT @v, @json, @never, @date
e execute p
e: SET @v = 9223372036854775807
e execute p
[mariadb] = 9223372036854775807 | {"a": 1, "é": "x"} | NULL | 2024-02-29
e: SET @v = NULL
e execute p
= NULL | {"a": 1, "é": "x"} | NULL | 2024-02-29
e closestmt p
= empty

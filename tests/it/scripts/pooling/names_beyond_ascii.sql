# Names beyond ASCII, which each character set writes in its own way: of schemas and roles, in texts and in statements.
@matrix caps=-DEPRECATE_EOF
@setup DROP ROLE IF EXISTS `誤_$N`, `s{_$N`
@setup CREATE ROLE `誤_$N`, `s{_$N`
@setup DROP DATABASE IF EXISTS `dé_$N`
@setup DROP DATABASE IF EXISTS `誤_$N`
@setup DROP DATABASE IF EXISTS `b{_$N`
@setup CREATE DATABASE `dé_$N`
@setup CREATE DATABASE `誤_$N`
@setup CREATE DATABASE `b{_$N`
@setup DROP DATABASE IF EXISTS `dÃ©_$N`
@setup CREATE DATABASE `dÃ©_$N`
@setup CREATE TABLE `dÃ©_$N`.t SELECT 'of a login in latin1' AS v
@setup GRANT ALL ON `dÃ©_$N`.* TO $USER@'%'
@setup CREATE TABLE `dé_$N`.t SELECT 'in the second' AS v
@setup CREATE TABLE `誤_$N`.t SELECT 'in the third' AS v
@setup CREATE TABLE `b{_$N`.t SELECT 'in the fourth' AS v
@setup CREATE TABLE $DB.t SELECT 'in the first' AS v
@setup GRANT ALL ON `dé_$N`.* TO $USER@'%'
@setup GRANT ALL ON `誤_$N`.* TO $USER@'%'
@setup GRANT ALL ON `b{_$N`.* TO $USER@'%'
@setup GRANT `誤_$N` TO $USER@'%'
@setup GRANT `s{_$N` TO $USER@'%'
[mysql] @setup SET DEFAULT ROLE NONE TO $USER@'%'
@session c caps=-SESSION_TRACK
@session l charset=latin1 db=dé_$N
@session u charset=utf8mb4 db=dé_$N

# A schema, while the client goes on in other character sets.
a: SET NAMES utf8mb4
a: USE `dé_$N`
a: SELECT v FROM t
= in the second
a: SET NAMES latin1
a: SELECT v, HEX(CONVERT(LEFT(DATABASE(), 2) USING utf8mb4)) FROM t
= in the second | 64C3A9
a: SET NAMES latin1 COLLATE latin1_bin
a: SELECT v, @@collation_connection, 'a' = 'A' FROM t
= in the second | latin1_bin | 0
a: SET NAMES swe7
a: SELECT v FROM t
= in the second
a: SET character_set_client = latin1, character_set_results = gbk
a: SELECT v, @@character_set_client, @@character_set_connection, @@character_set_results FROM t
= in the second | latin1 | swe7 | gbk
a: SET NAMES gbk
a: SELECT v, @@character_set_client, @@collation_connection FROM t
= in the second | gbk | gbk_chinese_ci
a initdb \xd5`_$N
a: SELECT v FROM t
= in the third
a: SET NAMES latin1
a: SELECT v FROM t
= in the third
a: SET NAMES utf8mb4
a: SELECT v, DATABASE() = '誤_$N' FROM t
= in the third | 1
a initdb $DB
a: SELECT v FROM t
= in the first

# Trail bytes that look like ASCII, and letters of swe7 that look like signs.
b: SET NAMES sjis
b: USE `\x8c\xeb_$N`
b: SELECT v FROM t
= in the third
b: SET NAMES big5
b: SELECT v FROM t
= in the third
b: SET NAMES cp932
b: SELECT v FROM t
= in the third
b: SET NAMES utf8mb4
b: USE `b{_$N`
b: SELECT v FROM t
= in the fourth
b: SET NAMES swe7
b: SELECT v FROM t
= in the fourth
b: SET NAMES latin1
b: SELECT v FROM t
= in the fourth

# Statements are prepared again in their schema, under the character set that they have had.
c: SET NAMES utf8mb4
c: USE `dé_$N`
c prepare s : SELECT v, 'é', HEX('é') FROM t
c: SET NAMES latin1
c prepare t : SELECT v, HEX('\xe9') FROM t
c execute s
[mysql] = in the second | \xe9 | C3A9
[mariadb] = in the second | \xe9 | C3A9
c execute t
= in the second | E9
c: USE $DB
c: SET NAMES gbk
c prepare g : SELECT v, HEX('\xd5`') FROM t
c execute s
[mysql] = in the second | \xa8\xa6 | C3A9
[mariadb] = in the second | \xa8\xa6 | C3A9
c execute t
= in the second | E9
c execute g
= in the first | D560
c: SET NAMES utf8mb4
c: SELECT v FROM t
= in the first
c execute g
= in the first | D560

# Roles.
d: SET NAMES utf8mb4
d: SET ROLE `誤_$N`
d: SELECT HEX(CONVERT(CURRENT_ROLE() USING utf8mb4)) LIKE '%E8AAA45F%'
= 1
d: SET NAMES gbk
d: SELECT HEX(CONVERT(CURRENT_ROLE() USING utf8mb4)) LIKE '%E8AAA45F%'
= 1
d: SET NAMES latin1
d: SELECT HEX(CONVERT(CURRENT_ROLE() USING utf8mb4)) LIKE '%E8AAA45F%'
= 1
d: SET NAMES utf8mb4
d: SET ROLE `s{_$N`
d: SET NAMES swe7
d: SELECT HEX(CONVERT(CURRENT_ROLE() USING utf8mb4)) LIKE '%737B5F%'
= 1
d: SET ROLE NONE

# User variables, whose values have character sets of their own, and signs in their names that are letters in swe7.
e: SET NAMES gbk
e: SET @v = '\xd5`', @w = _latin1 x'e9', @`u` = 'x'
e: SET NAMES swe7
e: SELECT HEX(@v), CHARSET(@v), HEX(@w), CHARSET(@w), @u
= D560 | gbk | E9 | latin1 | x
e: SET NAMES utf8mb4
e: SET @`a{` = 1, @`b[` = 2
e: SET NAMES swe7
e: SELECT 1
= 1
e: SET NAMES utf8mb4
e: SELECT @`a{`, @`b[`, @v = '誤'
= 1 | 2 | 1
e: SET character_set_results = utf16
e: SET @v = 'é', @n = 1.5e0, @i = 7
e: DO 1
e: SET character_set_results = utf8mb4
e: SELECT @v, @n + 1, @i
= é | 2.5 | 7

# The schema of a login, in the character set of that; statements that are prepared before anything else.
l: SELECT v FROM t
= of a login in latin1
l prepare s : SELECT v FROM t
l: SET NAMES utf8mb4
l execute s
= of a login in latin1
l: SELECT v FROM t
= of a login in latin1
u: SELECT v FROM t
= in the second
u: SET NAMES latin1
u: SELECT v FROM t
= in the second
u changeuser db=dé_$N charset=latin1
u prepare s : SELECT v FROM t
u: SELECT v FROM t
= of a login in latin1
u execute s
= of a login in latin1

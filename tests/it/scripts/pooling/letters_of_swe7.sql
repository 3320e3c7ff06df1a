# In swe7 some signs of ASCII are letters. A client that keeps the definitions of columns has its statements prepared again in
# another character set, where the same text would have another meaning.
@matrix caps=+MARIADB_CACHE_METADATA
a: SET @a = 0, @b = 0
a: SET character_set_client = swe7
a prepare s : SELECT @a, @b
a: SET @b = 't973'
a execute s
[mariadb] = 0 | t973
# A text without such signs follows.
a prepare p : SELECT 1
a: DO 2
a execute p
= 1

# Values before a call in VALUES, as times are often written.
a: CREATE TABLE u (at DATETIME(3), n INT)
a: INSERT INTO u VALUES (NOW(3), GET_LOCK('$Nk',0))
a: INSERT INTO u (at, n) VALUES (CURRENT_TIMESTAMP(3), GET_LOCK('$Nk',0)), (NOW(3), 2)
a: INSERT INTO u SET at=SYSDATE(3), n=RELEASE_LOCK('$Nk')
a: REPLACE INTO u VALUES (UTC_TIMESTAMP(), RELEASE_LOCK('$Nk'))
a: SELECT n FROM u
a: SELECT IS_FREE_LOCK('$Nk')
= 1

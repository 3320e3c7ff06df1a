# Names as hashes, casts and in other character sets, and what a prepared call computes.
a: SELECT GET_LOCK(MD5('$N'),0)
[mysql] = ERR 1305/42000
[mariadb] = 1
a: SELECT GET_LOCK(SHA1('$N'),0)
[mysql] = ERR 1305/42000
[mariadb] = 1
a: SELECT GET_LOCK(SHA('$N'),0)
[mysql] = ERR 1305/42000
[mariadb] = 1
a: SELECT GET_LOCK(CONCAT('x',MD5('$N')),0), GET_LOCK('$Na',0)
[mysql] = ERR 1305/42000
[mariadb] = 1 | 1
b: SELECT IS_USED_LOCK('$Na')
[mysql] = NULL
[mariadb] = <a>
a: SELECT GET_LOCK(SHA2('$N',256),0)
= 1
b: SELECT IS_USED_LOCK(SHA2('$N',256)), IS_USED_LOCK(SHA2(CONCAT('$','x'),256))
= <a> | NULL
a: SELECT GET_LOCK(SHA2('$N',512),0)
[mysql] = ERR 4163/42000
[mariadb] = 1
a: SELECT GET_LOCK(LEFT(SHA2('$N',512),60),0), GET_LOCK(HEX('$N'),0), GET_LOCK(TO_BASE64('$N'),0), GET_LOCK(CONCAT('$N',CRC32('x')),0)
= 1 | 1 | 1 | 1
b: SELECT IS_USED_LOCK(LEFT(SHA2('$N',512),60)), IS_USED_LOCK('$X'), IS_USED_LOCK('$N2363233923')
[mysql] = <a> | <a> | <a>
[mariadb] = <a> | NULL | <a>
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 5
[mariadb] = 11
# Casts.
a: SELECT GET_LOCK(CAST('$Nc' AS CHAR),0), GET_LOCK(CAST(1$D AS CHAR),0), GET_LOCK(CAST('$Nlong' AS CHAR(9)),0)
= 1 | 1 | 1 W1
b: SELECT IS_USED_LOCK('$Nc'), IS_USED_LOCK('1$D'), IS_USED_LOCK('$Nl')
= <a> | <a> | <a>
a: SELECT GET_LOCK(1$D+1,0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT GET_LOCK(CAST('$D' AS UNSIGNED),0)
[mysql] = 1
[mariadb] = ERR 4079/HY000
a: SELECT IS_FREE_LOCK('1$D'+0)
[mysql] = 0
[mariadb] = ERR 4079/HY000
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 5
[mariadb] = 3
a: SELECT GET_LOCK(CAST('$NA' AS BINARY),0)
= 1
b: SELECT IS_FREE_LOCK('$NA'), IS_FREE_LOCK('$Na'), IS_FREE_LOCK(BINARY '$NA')
[mysql] = 0 | 0 | 0 W1
[mariadb] = 0 | 1 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 1
# Character sets.
a: SELECT GET_LOCK(CONVERT('$Né' USING latin1),0)
= 1
b: SELECT IS_FREE_LOCK('$Né'), IS_FREE_LOCK('$NÉ'), IS_FREE_LOCK(_latin1 x'$Xe9')
[mysql] = 0 | 0 | 0
[mariadb] = 1 | 1 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 1
a: SELECT GET_LOCK(CONVERT('$Nwide' USING utf8mb4),0), IS_FREE_LOCK(CONVERT('$Nwide' USING utf8mb3)), IS_FREE_LOCK('$Nwide')
[mysql] = 1 | 0 | 0 W1
[mariadb] = 1 | 0 | 0
a: SELECT GET_LOCK(CONVERT('$N3' USING ucs2),0), RELEASE_LOCK(CONVERT('$N3' USING ucs2))
[mysql] = 1 | 1 W2
[mariadb] = 1 | 1
a: SELECT GET_LOCK(CONVERT('$N2' USING utf16),0)
= 1
b: SELECT IS_FREE_LOCK('$N2'), IS_FREE_LOCK(CONVERT('$N2' USING utf16))
[mysql] = 0 | 0
[mariadb] = 1 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 2
a: SELECT GET_LOCK(UPPER('$Nup'),0), GET_LOCK(LOWER('$NLOW'),0), IS_FREE_LOCK('$Nup'), IS_FREE_LOCK('$Nlow')
[mysql] = 1 | 1 | 0 | 0
[mariadb] = 1 | 1 | 1 | 0
a: SELECT RELEASE_ALL_LOCKS()
= 2
# Warnings of what the name is computed from.
a: SELECT GET_LOCK(CONCAT('$N',1/0),0)
[mysql] = ERR 3057/42000
[mariadb] = NULL W1
a: SHOW WARNINGS
[mysql] = Warning | 1365 | Division by 0; Error | 3057 | Incorrect user-level lock name 'NULL'. The name is empty, NULL, or can not be expressed in the current character-set.
[mariadb] = Warning | 1365 | Division by 0
a: SELECT GET_LOCK(IFNULL(CONCAT('$N',1/0),'$Nz'),0)
= 1 W1
a: SHOW WARNINGS
= Warning | 1365 | Division by 0
a: SELECT RELEASE_ALL_LOCKS()
= 1
# An argument that changes with every evaluation is computed once.
a: SELECT GET_LOCK(UUID(),0), GET_LOCK(CONCAT('$N',RAND()),0), GET_LOCK(CONCAT('$N',UUID_SHORT()),0)
[mysql] = 1 | 1 | 1
[mariadb] = ERR 4079/HY000
a: SELECT RELEASE_ALL_LOCKS()
[mysql] = 3
[mariadb] = 0
a: SELECT GET_LOCK(CONCAT('$Nx',CONNECTION_ID()),0), IS_USED_LOCK('$Nx$ID(a)')
= 1 | <a>
a: SELECT RELEASE_ALL_LOCKS()
= 1

# What applications send, by kind: bare calls, several calls, aliases and expressions, computed names,
# other statements, names from rows. The same prepared.
@session a
@session b
@session m caps=+MULTI_STATEMENTS
@setup CREATE TABLE $DB.jobs (id INT PRIMARY KEY, status VARCHAR(20), run_id VARCHAR(20), owner BIGINT)
@setup INSERT INTO $DB.jobs VALUES (1,'Processing','r1',0),(2,'Processing','r2',0)
a prepare a2 : SELECT GET_LOCK(?, ?)
a prepare a3 : SELECT GET_LOCK(?, 5)
a prepare a4 : SELECT GET_LOCK('$N4', ?)
a prepare a5 : SELECT RELEASE_LOCK(?);
a prepare a16 : SELECT IS_FREE_LOCK(?)
a prepare a17 : SELECT IS_USED_LOCK(?)
a prepare a19 : SELECT GET_LOCK('ecto_$N', -1)
a prepare b1 : SELECT GET_LOCK(?, ?), IS_USED_LOCK(?)
a prepare b3 : SELECT RELEASE_LOCK(?), RELEASE_LOCK(?)
a prepare b8 : SELECT IS_FREE_LOCK(?) AS is_free, IS_USED_LOCK(?) AS is_used
a prepare b9 : SELECT CONNECTION_ID() AS connection_id, IS_USED_LOCK(?) AS lock_owner_connection_id
a prepare c1 : SELECT GET_LOCK(?, ?) AS acquired
a prepare c5 : SELECT RELEASE_LOCK(?) AS released
a prepare c11 : SELECT COALESCE(GET_LOCK(?, ?),0)
a prepare c11r : SELECT COALESCE(RELEASE_LOCK(?), 0)
a prepare c13 : SELECT CONNECTION_ID() = IS_USED_LOCK(?)
a prepare c13r : SELECT (IS_USED_LOCK(?) = CONNECTION_ID()) AS mine
a prepare c15 : SELECT CAST(GET_LOCK(?, 0) AS SIGNED) AS x
a prepare c15c : SELECT CAST(RELEASE_LOCK(?) AS CHAR)
a prepare c17 : SELECT IS_USED_LOCK(?) IS NOT NULL, IS_USED_LOCK(?) IS NULL
a prepare c18 : SELECT NOT IS_FREE_LOCK(CONCAT('sys_update_', DATABASE()))
a prepare d2 : SELECT GET_LOCK(CONCAT('$Np', ?), 5)
a prepare d4 : SELECT GET_LOCK(SUBSTRING(CONCAT(DATABASE(), ?), 1, 64), ?), ?
a prepare d6 : SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), ?), 256), ?)
a prepare d9 : SELECT IS_USED_LOCK(CONCAT(DATABASE(), ?)) = CONNECTION_ID()
a prepare d10 : SELECT GET_LOCK(CAST(? AS CHAR), 0) AS locked
a prepare e1 : DO RELEASE_LOCK(?)
a prepare e6 : SET @v := GET_LOCK(?, 10)
a prepare e9 : INSERT INTO jobs (id, status) SELECT ?, 'fenced' FROM DUAL WHERE IS_USED_LOCK(?) = CONNECTION_ID() AND CONNECTION_ID() > ?
a prepare e10 : INSERT INTO jobs (id, status) SELECT ?, 'x' FROM DUAL WHERE IS_USED_LOCK(CONCAT(DATABASE(), ?)) > ? ON DUPLICATE KEY UPDATE status = 'again'
a prepare e11 : UPDATE jobs SET owner = 1 WHERE id = ? AND IS_USED_LOCK(?) = CONNECTION_ID()
a prepare e13 : SELECT COUNT(*) FROM jobs WHERE id = 1 AND is_free_lock(?) = 1
a prepare f4 : UPDATE jobs SET status = 'Orphan' WHERE status = 'Processing' AND IS_FREE_LOCK(CONCAT(?, id)) = 1
a prepare f6 : SELECT run_id, IS_USED_LOCK(CONCAT(?, run_id)) FROM jobs WHERE id < 3
# Text.
a: SELECT GET_LOCK('$Na', 10)
= 1
a: SELECT GET_LOCK('$Na', 0);
= 1
a: select get_lock( '$Na', 4294967295 )
= 1
a: SELECT\x0a    RELEASE_LOCK('$Na')\x0a
= 1
a: SELECT IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb');
= <a> | NULL
m: SET @@session.wait_timeout=100; SELECT GET_LOCK('$Nm', 0);
m: START TRANSACTION; SELECT id FROM jobs FOR UPDATE; SELECT GET_LOCK('$Nx',0); DO SLEEP(0); ROLLBACK
m: SELECT get_lock('$Nm',1.2), get_lock('$Nn',1.2), get_lock('$No',1.2); SELECT release_lock('$Nm'), release_lock('$Nn')
m: SET @a=0x414243; SELECT GET_LOCK(@a,1)
m: SELECT RELEASE_ALL_LOCKS()
= 4
a: SELECT GET_LOCK('$Na', 0) locked
a: SELECT COALESCE(GET_LOCK('$Na', 0),0), CONNECTION_ID() = IS_USED_LOCK('$Na'), IS_USED_LOCK('$Nb') IS NULL
= 1 | 1 | 1
a: SELECT NOT IS_FREE_LOCK(CONCAT('sys_update_', DATABASE()))
= 0
a: SELECT GET_LOCK(CONCAT(DATABASE(), '.$Npack'), 0)
= 1
a: SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.$Npack'))
= 1
a: SELECT GET_LOCK(MD5('$N'), 0), GET_LOCK(SHA1(CONCAT(DATABASE(), '$N')), 0)
a: SELECT RELEASE_LOCK(sha1('$N'));
a: DO RELEASE_ALL_LOCKS();
a: DO GET_LOCK('$Na', 20)
a: SET @v := GET_LOCK('$Na', 10)
a: SELECT @v
= 1
a: SELECT GET_LOCK(CONCAT('$Na', ''),0) INTO @v
a: SELECT COUNT(*) FROM jobs WHERE id = 1 AND is_free_lock('$Nw') = 1
= 1
a: UPDATE jobs SET owner=1 WHERE id=1 AND IS_FREE_LOCK('$Nu')
a: INSERT INTO jobs VALUES (9, 'v', 'r9', GET_LOCK('$Nu', 100))
a: SELECT id, owner FROM jobs WHERE IS_FREE_LOCK(CONCAT("$Npolling.", id)) AND (owner = 1) ORDER BY id LIMIT 5
= 1 | 1; 9 | 1
a: SELECT run_id, IS_USED_LOCK(SHA2(run_id, 256)) FROM jobs WHERE id < 3
a: DELETE FROM jobs WHERE id = 9 AND IS_USED_LOCK('$Na') = CONNECTION_ID()
= OK
a: SELECT RELEASE_ALL_LOCKS()
= 4
# Prepared.
a execute a2 '$Na' 0
= 1
a execute a3 '$Na'
a execute a4 1
a execute a16 '$Na'
= 0
a execute a17 '$Na'
= <a>
a execute a19
@end shuffled mariadb
a execute b1 '$Nb' 0 '$Nb'
= 1 | <a>
a execute b3 '$Nb' '$N4'
= 1 | 1
a execute b8 '$Nb' '$Na'
= 1 | <a>
a execute b9 '$Na'
= <a> | <a>
a execute c1 '$Nc' 1
a execute c5 '$Nc'
a execute c11 '$Nc' 1
= 1
a execute c11r '$Nnone'
= 0
a execute c13 '$Nc'
= 1
a execute c13r '$Nnone'
= NULL
a execute c15 '$Nc'
a execute c15c '$Nc'
= 1
a execute c17 '$Nc' '$Nc'
= 1 | 0
a execute c18
a execute d2 'x'
= 1
a execute d4 '$Nd' 0 7
= 1 | 7
a execute d6 '$Nd' 0
= 1
a execute d9 '$Nd'
= 1
a execute d10 '$Nd10'
= 1
a execute e1 '$Nd10'
= OK
a execute e6 '$Ne'
= OK
a execute e9 11 '$Ne' 0
= OK
a execute e10 11 '$Nd' 0
= OK
a execute e11 1 '$Ne'
= OK
a execute e13 '$Ne13'
= 1
a execute f4 '$Nf'
= OK
a execute f6 '$Nf'
a execute a5 '$Na'
= 1
a: SELECT * FROM jobs ORDER BY id
a: SELECT RELEASE_ALL_LOCKS()

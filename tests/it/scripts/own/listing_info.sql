# MariaDB's METADATA_LOCK_INFO, on a server that has the plugin. It does not show who waits.
@only mariadb
@own --performance-schema=ON --performance-schema-instrument=wait/lock/metadata/sql/mdl=ON
@first INSTALL SONAME 'metadata_lock_info'
@session a user=root
@session b user=root
@session c user=root
@session d
@session e
@matrix caps=-DEPRECATE_EOF

a: SELECT GET_LOCK('$N Job',0), GET_LOCK('$N two',0), GET_LOCK(x'24e4f6ff41',0), GET_LOCK(REPEAT('ä',80),0), GET_LOCK(_utf8mb4'$N 😀',0)
b!: SELECT GET_LOCK('$N Job',60)
d: SELECT GET_LOCK('$N d',0)

c: SELECT LOCK_MODE,LOCK_DURATION,LOCK_TYPE,TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,LOCK_TIME_MS BETWEEN 0 AND 60000 FROM information_schema.METADATA_LOCK_INFO WHERE LOCK_TYPE='User lock' ORDER BY TABLE_SCHEMA
c: SHOW WARNINGS
c: SELECT THREAD_ID=$ID(a) AS x FROM information_schema.metadata_lock_info WHERE TABLE_SCHEMA='$N two'
@end shuffled mariadb
c: SELECT p.ID=$ID(d) AS x FROM information_schema.processlist p JOIN information_schema.METADATA_LOCK_INFO m ON m.THREAD_ID=p.ID WHERE m.TABLE_SCHEMA='$N d'
c: SELECT COUNT(*) FROM information_schema.METADATA_LOCK_INFO WHERE TABLE_SCHEMA LIKE 'lockstead%' AND LOCK_TYPE='User lock'
c: SELECT * FROM information_schema.METADATA_LOCK_INFO WHERE TABLE_SCHEMA='$N none'
c: SELECT m.* FROM INFORMATION_SCHEMA.Metadata_Lock_Info m WHERE TABLE_SCHEMA='$N none'
c: SELECT METADATA_LOCK_INFO.TABLE_SCHEMA,information_schema.METADATA_LOCK_INFO.LOCK_MODE FROM information_schema.METADATA_LOCK_INFO WHERE TABLE_SCHEMA='$N two'
c initdb information_schema
c: SELECT TABLE_SCHEMA FROM METADATA_LOCK_INFO WHERE TABLE_SCHEMA='$N two'
c: SET collation_connection=utf16_bin
c: SELECT TABLE_SCHEMA FROM METADATA_LOCK_INFO WHERE TABLE_SCHEMA='$N two'
d: SELECT TABLE_SCHEMA FROM information_schema.METADATA_LOCK_INFO WHERE LOCK_TYPE='User lock' AND TABLE_SCHEMA LIKE '$N%' ORDER BY 1
e prepare p1 : SELECT TABLE_SCHEMA,LOCK_MODE,? AS x FROM information_schema.METADATA_LOCK_INFO WHERE TABLE_SCHEMA=?
e execute p1 'x' '$N d'
d: SELECT RELEASE_LOCK('$N d')
e execute p1 'x' '$N d'

# Gone with its session.
a close
b?

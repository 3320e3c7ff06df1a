# IS_FREE_LOCK and IS_USED_LOCK of names that depend on rows.
@session a
@session b
@setup CREATE TABLE $DB.devices (device_id INT PRIMARY KEY, name VARCHAR(80), state VARCHAR(20))
@setup INSERT INTO $DB.devices VALUES (1,'One','new'),(2,'two','new'),(3,'été','new'),(4,NULL,'new')
a prepare p : SELECT device_id FROM devices WHERE IS_FREE_LOCK(CONCAT(?, device_id)) = 0 AND device_id < ? ORDER BY device_id
= prepared
# Nothing is held.
a: SELECT device_id FROM devices WHERE IS_FREE_LOCK(CONCAT('$Npoll.', device_id)) ORDER BY device_id LIMIT 2
= 1; 2
a: SELECT device_id, IS_USED_LOCK(CONCAT('$Npoll.', device_id)) AS u FROM devices WHERE device_id < 3
= 1 | NULL; 2 | NULL
a: SELECT GET_LOCK('$Npoll.2',0), GET_LOCK('$None',0)
= 1 | 1
b: SELECT GET_LOCK('$Npoll.3',0), GET_LOCK('$Nété',0)
= 1 | 1
a: SELECT device_id FROM devices WHERE state = 'new' AND IS_FREE_LOCK(CONCAT("$Npoll.", device_id)) AND device_id < 9 ORDER BY device_id LIMIT 5
= 1; 4
a: SELECT device_id, IS_USED_LOCK(CONCAT('$Npoll.', device_id)) AS u, IS_FREE_LOCK(CONCAT('$Npoll.', device_id)) FROM devices
= 1 | NULL | 1; 2 | <a> | 0; 3 | <b> | 0; 4 | NULL | 1
# Names are compared as the server compares them.
a: SELECT device_id, IS_USED_LOCK(CONCAT('$N', name)) = CONNECTION_ID() AS mine FROM devices WHERE name IS NOT NULL
[mysql] = 1 | 1; 2 | NULL; 3 | 0
[mariadb] = 1 | NULL; 2 | NULL; 3 | 0
a: SELECT device_id, IS_USED_LOCK(CONCAT('$None', CHAR(0), name)) = CONNECTION_ID() AS mine FROM devices WHERE name IS NOT NULL
a: SELECT device_id, IS_FREE_LOCK(name) FROM devices WHERE device_id=4
[mysql] = ERR 3057/42000
[mariadb] = 4 | NULL
a: SELECT device_id, IS_FREE_LOCK(REPEAT(name,100)) FROM devices WHERE device_id=1
[mysql] = ERR 4163/42000
[mariadb] = ERR 1059/42000
# In other statements, beside constant names, in a join, prepared.
a: UPDATE devices SET state='orphan' WHERE state='new' AND IS_FREE_LOCK(CONCAT('$Npoll.',device_id))=1 AND IS_USED_LOCK('$None')=CONNECTION_ID()
= OK
a: SELECT device_id, state FROM devices
= 1 | orphan; 2 | new; 3 | new; 4 | orphan
a: SELECT d.device_id, e.device_id FROM devices d JOIN devices e ON e.device_id=d.device_id+1 AND NOT IS_FREE_LOCK(CONCAT('$Npoll.',e.device_id)) ORDER BY 1
= 1 | 2; 2 | 3
a: SELECT n, IS_FREE_LOCK(n) FROM (SELECT '$Npoll.2' n UNION SELECT '$Npoll.1') d ORDER BY n
= $Npoll.1 | 1; $Npoll.2 | 0
a execute p '$Npoll.' 3
= 2
a execute p '$Npoll.' 9
= 2; 3
b: SELECT RELEASE_ALL_LOCKS()
= 2
a execute p '$Npoll.' 9
= 2
a: SELECT RELEASE_ALL_LOCKS()
= 2

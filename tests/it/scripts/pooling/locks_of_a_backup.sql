# A lock that a backup takes stays with its session: a statement that would free it may only be prepared.
@only mariadb
@setup CREATE TABLE $DB.t (v INT)

a: BACKUP LOCK $DB.t
a prepare s : BACKUP UNLOCK
a: DO 1
a execute s
b: SET lock_wait_timeout = 2
b: ALTER TABLE t ADD w INT
= OK
# One after a statement that fails.
a: BACKUP LOCK $DB.t
a: SELECT nosuch; BACKUP UNLOCK
a: DO 1
a: BACKUP UNLOCK
b: ALTER TABLE t ADD x INT
= OK

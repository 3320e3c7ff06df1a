# What well-known applications and libraries send, word for word as in their sources; docs/will-it-work.md lists them.
@session a
@session b
a prepare get : SELECT GET_LOCK(?,10)
a prepare magento : SELECT GET_LOCK(?, ?);
a prepare magento_release : SELECT RELEASE_LOCK(?);
a prepare magento_used : SELECT IS_USED_LOCK(?);
a prepare migrate : SELECT GET_LOCK(?, 10)
a prepare matomo : SELECT GET_LOCK(?, 1)
a prepare gh_ost : select /* gh-ost */ get_lock(?, 0)
a prepare release : SELECT RELEASE_LOCK(?)
a prepare yii : SELECT GET_LOCK(?, ?)
a prepare distributed : SELECT CASE WHEN IS_USED_LOCK(?) = CONNECTION_ID() THEN 103 ELSE IFNULL(GET_LOCK(?, ?), 104) END
b prepare distributed : SELECT CASE WHEN IS_USED_LOCK(?) = CONNECTION_ID() THEN 103 ELSE IFNULL(GET_LOCK(?, ?), 104) END
a prepare distributed_release : DO RELEASE_LOCK(?)
a prepare liquibase : SELECT get_lock(?, ?)
a prepare liquibase_release : SELECT release_lock(?)
a prepare liquibase_info : SELECT l.processlist_id, p.id FROM (SELECT is_used_lock(?) AS processlist_id) AS l LEFT JOIN information_schema.processlist p ON p.id = l.processlist_id
a prepare ecto : SELECT GET_LOCK('ecto_$N', -1)
# Flyway
a execute get 'Flyway-$N'
= 1
b: SELECT GET_LOCK('Flyway-$N',0)
= 0
a: SELECT RELEASE_LOCK('Flyway-$N')
= 1
# Rails, Prisma
a: SELECT GET_LOCK('$N', 0)
= 1
a: SELECT RELEASE_LOCK('$N')
= 1
a: SELECT GET_LOCK('prisma_migrate_$N', 10)
= 1
# Magento
a execute magento '$Nm' 0
= 1
a execute magento_used '$Nm'
= <a>
a execute magento_release '$Nm'
= 1
# golang-migrate, Matomo, Yii
a execute migrate '$D'
= 1
a execute matomo '$Nmatomo'
= 1
a execute yii '$Nyii' 0
= 1
a execute release '$Nyii'
= 1
# django-mysql, with a float as drivers write it
a: SELECT GET_LOCK('db.$Nj', 10.0)
= 1
a: SELECT GET_LOCK('db.$Nj', 10.0e0)
= 1
a: SELECT IS_USED_LOCK('db.$Nj')
= <a>
# liquibase-sessionlock
a execute liquibase 'DB.$NLOCK' i:5
= 1
@end shuffled
a execute liquibase_info 'DB.$NLOCK'
[mysql] = <a> | <a> W1
[mariadb] = <a> | <a>
a execute liquibase_info 'DB.$NNONE'
[mysql] = NULL | NULL W1
[mariadb] = NULL | NULL
a execute liquibase_release 'DB.$NLOCK'
= 1
# CodeIgniter, Moodle, MediaWiki
a: SELECT GET_LOCK('$N300', 300) AS ci_session_lock
= 1
a: SELECT RELEASE_LOCK('$N300') AS ci_session_lock
= 1
a: SELECT GET_LOCK('$N-mdl_-session-1', 120)
= 1
a: SELECT GET_LOCK('$Nw', 5) AS lockstatus
= 1
a: SELECT IF(GET_LOCK('$Nw',5),UNIX_TIMESTAMP(SYSDATE(6)),NULL) > 1000000000 AS acquired
b: SELECT IS_FREE_LOCK('$Nw') AS unlocked
= 0
b: SELECT IF(GET_LOCK('$Nw',0),UNIX_TIMESTAMP(SYSDATE(6)),NULL) AS acquired
= NULL
a: SELECT RELEASE_LOCK('$Nw') AS released
# gh-ost
a execute gh_ost 'gh-ost.$N.lock'
= 1
b: select /* gh-ost */ is_used_lock('gh-ost.$N.lock')
= <a>
# DistributedLock
a execute distributed '$Nd' '$Nd' 0
= 1
a execute distributed '$Nd' '$Nd' 0
= 103
b execute distributed '$Nd' '$Nd' 0
= 0
a execute distributed_release '$Nd'
= OK
# Ecto
[mysql] a execute ecto
[mysql] = 1
a: SELECT RELEASE_ALL_LOCKS()

# Locks live as long as their session: resets, changes of user, every way to leave.
@also over_tls observed
@not over_zlib over_both
a: SELECT GET_LOCK('$Nk',0)
b!: SELECT GET_LOCK('$Nk',20)
a reset
= OK
b~0?
= 1
a: SELECT RELEASE_ALL_LOCKS()
= 0
a: SELECT CONNECTION_ID()
= <a>
a!: SELECT GET_LOCK('$Nk',20)
b changeuser
b: SELECT CONNECTION_ID()
= <b>
a?
= 1
b: SELECT RELEASE_ALL_LOCKS()
= 0
b!: SELECT GET_LOCK('$Nk',20)
a changeuser user=$USER2
a: SELECT CURRENT_USER()
a changeuser user=$USER2 attributes=none
a: SELECT CURRENT_USER()
b?
= 1
# Denied: both free the locks, and only MySQL closes the connection.
a!: SELECT GET_LOCK('$Nk',20)
b changeuser password=wrong
= ERR 1045/28000
a?
= 1
[mysql] b gone
[mysql] = empty; closed
[mysql] b close
[mariadb] b: SELECT 1
b connect
# What keeps locks.
a initdb $DB
= OK
a: USE $DB
= OK
a ping
= OK
a initdb nosuch$N
a: SELECT IS_USED_LOCK('$Nk')
= <a>
# Ways to leave, each with a waiter that takes over.
b!: SELECT GET_LOCK('$Nk',20)
a quit
= empty; closed
b~0?
= 1
a connect
a: SELECT IS_USED_LOCK('$Nk')
= <b>
a: SELECT RELEASE_ALL_LOCKS()
= 0
a!: SELECT GET_LOCK('$Nk',20)
b close
a~0?
= 1
b connect
b!: SELECT GET_LOCK('$Nk',20)
a rst
b~0?
= 1
a connect
# A dead waiter does not get in the way of the next.
c!: SELECT GET_LOCK('$Nk',20)
a!: SELECT GET_LOCK('$Nk',20)
c close
b: SELECT RELEASE_LOCK('$Nk')
= 1
a~0?
= 1
c connect
# A holder that dies while it waits for another lock lets go of what it has.
c: SELECT GET_LOCK('$Nother',0)
b: SELECT GET_LOCK('$Nown',0)
b!: SELECT GET_LOCK('$Nother',30)
b close
a: SELECT GET_LOCK('$Nown',5)
= 1
b connect
b: SELECT GET_LOCK('$Nown2',0)
b!: SELECT GET_LOCK('$Nother',30)
b rst
a: SELECT GET_LOCK('$Nown2',5)
= 1
b connect
# Killed by id, as a holder and as a waiter.
b: SELECT GET_LOCK('$Nkilled',0)
a!: SELECT GET_LOCK('$Nkilled',20)
c: KILL $ID(b)
= OK
a?
= 1
b gone
b close
b connect
b: SELECT GET_LOCK('$Nown3',0)
b!: SELECT GET_LOCK('$Nkilled',30)
c: KILL CONNECTION $ID(b)
= OK
b gone
= empty; closed
c: SELECT GET_LOCK('$Nown3',5)
= 1
b close
b connect
# KILL QUERY of a session that does nothing does nothing.
b: SELECT GET_LOCK('$Nidle',0)
a: KILL QUERY $ID(b)
= OK
b: SELECT 1
= 1
b: SELECT IS_USED_LOCK('$Nidle')
= <b>
# An idle holder whose time is up.
b: SET SESSION wait_timeout = 1
a!: SELECT GET_LOCK('$Nidle',20)
a~1000?
= 1
b gone
b close
# KILL of another user's session needs a privilege.
@session r user=root
r: SELECT GET_LOCK('$Nroot',0)
a: KILL $ID(r)
= ERR 1095/HY000
a: KILL QUERY $ID(r)
= ERR 1095/HY000
a: KILL 4294967290
= ERR 1094/HY000
a: SELECT IS_USED_LOCK('$Nroot')
= <r>
r: KILL $ID(a)
= OK
a gone
r: SELECT GET_LOCK('$Nidle',5)
= 1

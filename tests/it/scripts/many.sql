# No small limits: many names, many re-entries, and ids that are not what they say.
a*500: SELECT GET_LOCK('$N$#',0)
= 1
b: SELECT GET_LOCK('$N499',0)
= 0
a*1000: SELECT GET_LOCK('$Nagain',0)
= 1
a: SELECT RELEASE_LOCK('$Nagain')
= 1
b: SELECT GET_LOCK('$Nagain',0)
= 0
a: SELECT RELEASE_ALL_LOCKS()
= 1499
b*20: SELECT GET_LOCK('$N$#',0)
= 1
b*20: SELECT RELEASE_LOCK('$N$#')
= 1
b: SELECT RELEASE_ALL_LOCKS()
= 0
# Many waiters of one name, served in their order.
h: SELECT GET_LOCK('$Nq',0)
a!: SELECT GET_LOCK('$Nq',20)
b!: SELECT GET_LOCK('$Nq',20)
c!: SELECT GET_LOCK('$Nq',20)
d!: SELECT GET_LOCK('$Nq',20)
e!: SELECT GET_LOCK('$Nq',20)
f!: SELECT GET_LOCK('$Nq',20)
g!: SELECT GET_LOCK('$Nq',20)
h close
a?
= 1
h: SELECT IS_USED_LOCK('$Nq')
= <a>
a close
b?
= 1
b close
c?
= 1
c close
d?
= 1
d close
e?
= 1
e close
f?
= 1
f close
g?
= 1
# The id in IS_USED_LOCK is the connection's, whatever the session calls itself.
@session r user=root
r: SELECT GET_LOCK('$Nr',0)
r: SET SESSION pseudo_thread_id = 4242
@end shuffled
r: SELECT CONNECTION_ID()
= 4242
g: SELECT IS_USED_LOCK('$Nr')
= <r>
r: SELECT IS_USED_LOCK('$Nr')
= <r>

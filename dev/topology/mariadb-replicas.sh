# shellcheck shell=bash
# A MariaDB primary with two replicas, by GTIDs, which do not wait; sourced by dev/topology.sh.
#
# Every server starts read-only; who promotes it opens it. read_only does not bind
# accounts with READ ONLY ADMIN, and so not root: app is the one to look with.

own_options() {
  own=(--log-slave-updates=ON --gtid-strict-mode=ON --skip-slave-start --relay-log=relay
    --read-only=ON --report-host=127.0.0.1
    # Proxies whose sessions share connections want it.
    --performance-schema=ON
    # So that replicas notice a cut in seconds: the primary says something twice in that time.
    --slave-net-timeout=4)
}

form() {
  local n
  start_nodes $nodes
  for n in 2 3; do point "$n" 1; done
  open 1
  set_writer 1
}

# point N PRIMARY: from what it has executed, also what it wrote itself as a primary.
point() {
  sql "$1" "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL gtid_slave_pos = '$(executed "$1")';
    CHANGE MASTER TO MASTER_HOST = '$(address "$2")', MASTER_PORT = $(port_of "$2"), MASTER_USER = 'repl',
    MASTER_PASSWORD = 'repl', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1; START SLAVE"
}

open() { sql "$1" 'SET GLOBAL read_only = OFF'; }

close_node() { sql "$1" 'SET GLOBAL read_only = ON'; }

# executed N: domain, server and sequence number of the last one. Replicas write it to their own binary log too.
executed() { sql "$1" 'SELECT @@gtid_binlog_pos'; }

# slave N FIELD
slave() {
  limit=5 timeout 5 "$client" "--defaults-file=$folder/node$1/client.cnf" --connect-timeout=5 \
    -e 'SHOW SLAVE STATUS\G' 2>/dev/null | sed -n "s/^ *$2: //p"
}

# has N POSITION: waits until the node has executed it. It compares domain and sequence number
# only, which says all as long as there is one primary.
has() { [ "$(sql "$1" "SELECT MASTER_GTID_WAIT('$2', 30)")" = 0 ]; }

switch_to() {
  local from to=$1 n rest
  from=$(writer)
  rest=$(others "$from")
  close_node "$from"
  # Transactions that are open to commit still: those of accounts that read_only does not bind.
  has "$to" "$(executed "$from")" || die "node $to does not catch up"
  sql "$to" 'STOP SLAVE; RESET SLAVE ALL'
  for n in $from $rest; do [ "$n" = "$to" ] || point "$n" "$to"; done
  open "$to"
  set_writer "$to"
}

# stop_replication N...: so that the last transactions of the writer stay with it.
stop_replication() {
  local n
  for n in "$@"; do sql "$n" 'STOP SLAVE IO_THREAD'; done
}

# fail_over FROM: the most advanced replica becomes the primary, once it has applied what it got.
fail_over() {
  local n best='' best_at='' at rest
  rest=$(others "$1")
  for n in $rest; do
    sql "$n" 'STOP SLAVE IO_THREAD'
    at=$(slave "$n" Gtid_IO_Pos)
    [ -z "$best" ] || [ "${at##*-}" -gt "${best_at##*-}" ] || continue
    best=$n best_at=$at
  done
  [ -n "$best" ] || die 'no replica is left'
  [ -z "$best_at" ] || has "$best" "$best_at" || die "node $best does not apply what it has got"
  sql "$best" 'STOP SLAVE; RESET SLAVE ALL'
  open "$best"
  for n in $rest; do [ "$n" = "$best" ] || point "$n" "$best"; done
  set_writer "$best"
}

# reopen N: one that was a primary, and has run by itself since its restart.
reopen() {
  sql "$1" 'STOP SLAVE; RESET SLAVE ALL'
  open "$1"
}

# join N unfenced|fenced
join() {
  local n=$1
  if [ "$2" = unfenced ]; then
    restart_node "$n" --read-only=OFF
    return
  fi
  if pid_of "$n" >/dev/null; then close_node "$n"; else restart_node "$n"; fi
  point "$n" "$(writer)"
  await 30 "node $n replicates" judged "$n"
  replicates "$n" && return
  # The primary does not know the last transaction of the replica (1236), or knows another
  # one of that number.
  say "node $n has transactions that nobody else has ($(executed "$n")): it is filled anew"
  refill_node "$n"
  restart_node "$n"
  point "$n" "$(writer)"
  await 30 "node $n replicates" replicates "$n"
}

replicates() {
  [ "$(slave "$1" Slave_IO_Running)$(slave "$1" Slave_SQL_Running)" = YesYes ]
}

# judged N: it replicates, or will not.
judged() {
  replicates "$1" || [ "$(slave "$1" Slave_IO_Running)" = No ] || [ "$(slave "$1" Slave_SQL_Running)" = No ]
}

settle() {
  local n at
  at=$(executed "$(writer)")
  for n in $(others "$(writer)"); do
    await 30 "node $n replicates" replicates "$n"
    [ -z "$at" ] || has "$n" "$at" || die "node $n does not catch up"
  done
}

# describe N: role, writable, view, position.
describe() {
  local role=primary
  [ -z "$(slave "$1" Master_Host)" ] || role=replica
  ask "$1" "SELECT '$role', IF(@@read_only, 'read-only', 'writable'),
    CONCAT((SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'), ' replicas'), @@gtid_binlog_pos"
}

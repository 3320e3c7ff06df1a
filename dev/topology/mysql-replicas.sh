# shellcheck shell=bash
# A MySQL source with two replicas, by GTIDs; sourced by dev/topology.sh.
#
# async-mysql     the source does not wait for its replicas
# semisync-mysql  a commit waits until every other node has it (AFTER_SYNC, no time limit), also while
#                 there is none. A node counts from the moment it has rejoined until it is lost
#
# Every server starts read-only; who promotes it opens it. What makes a source of
# it is set while it runs, so that one that comes back is not one.

own_options() {
  own=(--gtid-mode=ON --enforce-gtid-consistency=ON --skip-replica-start --relay-log=relay
    --super-read-only=ON --read-only=ON --report-host=127.0.0.1
    # So that replicas notice a cut in seconds: the source says something twice in that time.
    --replica-net-timeout=4)
  [ "$kind" != semisync-mysql ] || own+=(
    --plugin-load-add=semisync_source.so --plugin-load-add=semisync_replica.so
    --rpl-semi-sync-replica-enabled=ON --rpl-semi-sync-source-wait-point=AFTER_SYNC
    --rpl-semi-sync-source-wait-no-replica=ON --rpl-semi-sync-source-timeout=86400000)
}

form() {
  local n
  start_nodes $nodes
  for n in 2 3; do point "$n" 1; done
  open 1 2
  set_writer 1
}

# point N SOURCE
point() {
  sql "$1" "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HOST='$(address "$2")', SOURCE_PORT=$(port_of "$2"),
    SOURCE_USER='repl', SOURCE_PASSWORD='repl', GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=1,
    SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=86400; START REPLICA"
}

# open N COUNT: to writes, of which semi-synchronous ones wait for so many others.
open() { sql "$1" "$(waiting_for "$2") SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF"; }

waiting_for() {
  [ "$kind" != semisync-mysql ] || printf '%s' "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = $1;
    SET GLOBAL rpl_semi_sync_source_enabled = ON;"
}

# close_node N: to writes.
close_node() {
  sql "$1" "SET GLOBAL super_read_only = ON; $([ "$kind" != semisync-mysql ] || echo 'SET GLOBAL rpl_semi_sync_source_enabled = OFF')"
}

# The client would write line feeds between the parts as \n.
executed() { sql "$1" "SELECT REPLACE(@@gtid_executed, '\n', '')"; }

# has N SET [SECONDS]: waits until the node has executed the set.
has() { [ "$(sql "$1" "SELECT WAIT_FOR_EXECUTED_GTID_SET('$2', ${3:-30})")" = 0 ]; }

switch_to() {
  local from to=$1 n rest
  from=$(writer)
  rest=$(others "$from")
  close_node "$from"
  has "$to" "$(executed "$from")" || die "node $to does not catch up"
  sql "$to" 'STOP REPLICA; RESET REPLICA ALL'
  for n in $from $rest; do [ "$n" = "$to" ] || point "$n" "$to"; done
  open "$to" "$(wc -w <<<"$rest")"
  set_writer "$to"
}

# stop_replication N...: so that the last transactions of the writer stay with it.
stop_replication() {
  local n
  for n in "$@"; do sql "$n" 'STOP REPLICA IO_THREAD'; done
}

# fail_over FROM: the most advanced replica becomes the source, once it has applied what it got.
fail_over() {
  local n best='' best_set='' set rest
  rest=$(others "$1")
  for n in $rest; do
    set=$(sql "$n" "STOP REPLICA IO_THREAD; SELECT REPLACE(CONCAT(@@gtid_executed, ',', RECEIVED_TRANSACTION_SET), '\n', '')
      FROM performance_schema.replication_connection_status")
    [ -z "$best" ] || [ "$(sql "$n" "SELECT GTID_SUBSET('$set', '$best_set')")" = 0 ] || continue
    best=$n best_set=$set
  done
  [ -n "$best" ] || die 'no replica is left'
  has "$best" "$best_set" || die "node $best does not apply what it has got"
  sql "$best" 'STOP REPLICA; RESET REPLICA ALL'
  open "$best" $(($(wc -w <<<"$rest") - 1))
  for n in $rest; do [ "$n" = "$best" ] || point "$n" "$best"; done
  set_writer "$best"
}

# reopen N: one that was a source, and has run by itself since its restart.
reopen() {
  sql "$1" 'STOP REPLICA; RESET REPLICA ALL'
  open "$1" 0
}

# join N unfenced|fenced
join() {
  local n=$1 mine own_alone
  if [ "$2" = unfenced ]; then
    restart_node "$n" --super-read-only=OFF --read-only=OFF
    return
  fi
  if ! pid_of "$n" >/dev/null; then
    restart_node "$n"
  elif [ "$kind" = semisync-mysql ]; then
    # Commits may wait on it that nobody will acknowledge. super_read_only would wait for
    # them, and without the source's half of the plug-in they would end with OK, before
    # they are thrown away.
    kill_node "$n"
    restart_node "$n"
  else
    close_node "$n"
  fi
  mine=$(executed "$n")
  own_alone=$(sql "$(writer)" "SELECT REPLACE(GTID_SUBTRACT('$mine', @@gtid_executed), '\n', '')")
  if [ -n "$own_alone" ]; then
    say "node $n has transactions that nobody else has ($own_alone): it is filled anew"
    refill_node "$n"
    restart_node "$n"
  fi
  point "$n" "$(writer)"
  await 30 "node $n replicates" replicates "$n"
  [ "$kind" != semisync-mysql ] || sql "$(writer)" "$(waiting_for "$(others "$(writer)" | wc -w)")"
}

replicates() {
  [ "$(ask "$1" "SELECT COUNT(*) FROM performance_schema.replication_connection_status c
    JOIN performance_schema.replication_applier_status a USING (CHANNEL_NAME)
    WHERE c.SERVICE_STATE = 'ON' AND a.SERVICE_STATE = 'ON'")" = 1 ]
}

settle() {
  local n source at rest
  source=$(writer)
  rest=$(others "$source")
  at=$(executed "$source")
  for n in $rest; do
    await 30 "node $n replicates" replicates "$n"
    has "$n" "$at" || die "node $n does not catch up"
  done
  [ "$kind" != semisync-mysql ] || await 30 'the replicas acknowledge' acknowledging "$source" "$(wc -w <<<"$rest")"
}

acknowledging() {
  [ "$(ask "$1" "SELECT VARIABLE_VALUE FROM performance_schema.global_status
    WHERE VARIABLE_NAME = 'Rpl_semi_sync_source_clients'")" = "$2" ]
}

# describe N: role, writable, view, position.
describe() {
  ask "$1" "SELECT IF(EXISTS(SELECT 1 FROM performance_schema.replication_connection_configuration WHERE HOST <> ''), 'replica', 'source'),
    IF(@@super_read_only OR @@read_only, 'read-only', 'writable'),
    CONCAT((SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'), ' replicas'),
    REPLACE(@@gtid_executed, '\n', '')"
}

# shellcheck shell=bash
# Group Replication, three members; sourced by dev/topology.sh.
#
# gr-single  one primary
# gr-multi   every member takes writes
#
# Settings are the server's defaults, so that a member that says nothing is suspected after 5 s
# and expelled after 5 more; with --quick, at once when suspected. Members find the lost writer's
# successor themselves.

group=6c6f636b-7374-6561-642d-67726f757001

own_options() {
  local n seeds=''
  for n in $nodes; do seeds+=,$(group_address "$n"); done
  own=(--gtid-mode=ON --enforce-gtid-consistency=ON --relay-log=relay --report-host=127.0.0.1
    --super-read-only=ON --read-only=ON
    --plugin-load-add=group_replication.so "--group-replication-group-name=$group"
    "--group-replication-local-address=$(group_address "$1")" "--group-replication-group-seeds=${seeds#,}"
    --group-replication-start-on-boot=OFF --group-replication-recovery-get-public-key=ON
    # The default allows private networks that the server finds, of which loopback is none to it.
    "--group-replication-ip-allowlist=127.0.0.1/32,$addresses.0/24")
  [ "$kind" = gr-single ] || own+=(--group-replication-single-primary-mode=OFF
    --group-replication-enforce-update-everywhere-checks=ON)
  [ ! -s "$folder/quick" ] || own+=(--group-replication-member-expel-timeout=0)
}

# group_address N: where members speak with each other. On one address they need ports that differ.
group_address() { printf '%s:%s\n' "$(address "$1")" "$(inner_port "$1")"; }

form() {
  local n
  start_nodes $nodes
  for n in $nodes; do
    sql "$n" "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl' FOR CHANNEL 'group_replication_recovery'"
    endpoint "$n"
  done
  sql 1 'SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION; SET GLOBAL group_replication_bootstrap_group = OFF'
  await 30 'the first member is online' is_member 1
  # One after the other: a member that joins while another one does may be refused.
  for n in 2 3; do sql "$n" 'START GROUP_REPLICATION'; done
  set_writer 1
}

# endpoint N: where a member that joins fetches what it lacks; report-host is where clients are.
endpoint() {
  sql "$1" "SET GLOBAL group_replication_advertise_recovery_endpoints = '$(address "$1"):$(port_of "$1")'"
}

uuid() { sql "$1" 'SELECT @@server_uuid'; }

# member N COLUMN: what the member says of itself.
member() {
  ask "$1" "SELECT $2 FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid"
}

is_member() { [ "$(member "$1" MEMBER_STATE)" = ONLINE ]; }

executed() { sql "$1" "SELECT REPLACE(@@gtid_executed, '\n', '')"; }

has() { [ "$(sql "$1" "SELECT WAIT_FOR_EXECUTED_GTID_SET('$2', 30)")" = 0 ]; }

# takes_writes N: in a majority, and open. A primary in a minority keeps its role and is not read-only.
takes_writes() {
  [ "$(ask "$1" "SELECT MAX(MEMBER_ID = @@server_uuid AND MEMBER_STATE = 'ONLINE' AND MEMBER_ROLE = 'PRIMARY')
    AND SUM(MEMBER_STATE IN ('ONLINE', 'RECOVERING')) * 2 > COUNT(*) AND NOT @@super_read_only
    FROM performance_schema.replication_group_members")" = 1 ]
}

switch_to() {
  local from to=$1
  from=$(writer)
  if [ "$kind" = gr-single ]; then
    # With a time limit: without, it waits for open transactions, however long they are, while the old
    # primary goes on taking writes.
    sql "$from" "SELECT group_replication_set_as_primary('$(uuid "$to")', 5)" >/dev/null
  else
    sql "$from" 'SET GLOBAL super_read_only = ON'
    has "$to" "$(executed "$from")" || die "node $to does not catch up"
    sql "$to" 'SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF'
  fi
  await 30 "node $to takes writes" takes_writes "$to"
  set_writer "$to"
}

stop_replication() { die 'a group does not lose what it committed: there is no --lost'; }

# fail_over FROM: waits until the others have done it.
fail_over() {
  local rest
  rest=$(others "$1")
  await 90 'a member takes over' taken_over "$1" "$rest"
}

# taken_over FROM NODES: without the lost one in the view, of which nobody knows yet that it is lost.
taken_over() {
  local n lost
  [ -e "$folder/lost-uuid$1" ] || sed -n 's/^server-uuid=//p' "$folder/node$1/data/auto.cnf" >"$folder/lost-uuid$1"
  lost=$(cat "$folder/lost-uuid$1")
  for n in $2; do
    [ "$(ask "$n" "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_ID = '$lost'")" = 0 ] || continue
    [ "$kind" = gr-single ] || ask "$n" 'SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF' || continue
    takes_writes "$n" || continue
    set_writer "$n"
    return
  done
  return 1
}

# join N unfenced|fenced
join() {
  local n=$1
  if [ "$2" = unfenced ]; then
    restart_node "$n" --super-read-only=OFF --read-only=OFF
    return
  fi
  if ! pid_of "$n" >/dev/null; then
    restart_node "$n"
  elif [ -e "$folder/unfenced$n" ]; then
    sql "$n" 'SET GLOBAL super_read_only = ON'
  else
    # It may be on its way back by itself: a member that was expelled tries that at once.
    limit=30 ask "$n" 'STOP GROUP_REPLICATION' || true
  fi
  enter "$n" && return
  say "node $n cannot join with its data: it is filled anew"
  refill_node "$n"
  restart_node "$n"
  sql "$n" "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl' FOR CHANNEL 'group_replication_recovery'"
  enter "$n" || die "node $n does not join; see $folder/node$n/error.log"
}

# enter N: one that has transactions of its own is refused.
enter() {
  local mine
  mine=$(executed "$1")
  [ -z "$(sql "$(writer)" "SELECT GTID_SUBTRACT('$mine', @@gtid_executed)")" ] || return 1
  endpoint "$1"
  sql "$1" 'START GROUP_REPLICATION' || return 1
  await 60 "node $1 is online" is_member "$1"
  sql "$1" 'SET GLOBAL offline_mode = OFF'
}

settle() {
  local n at total
  total=$(others 0 | wc -w)
  await 60 'all members are online' all_online "$(writer)" "$total"
  await 30 'the writer takes writes' takes_writes "$(writer)"
  at=$(executed "$(writer)")
  for n in $(others "$(writer)"); do
    has "$n" "$at" || die "node $n does not catch up"
  done
}

all_online() {
  [ "$(ask "$1" "SELECT SUM(MEMBER_STATE = 'ONLINE') FROM performance_schema.replication_group_members")" = "$2" ]
}

# describe N: role and state, writable, view, position.
describe() {
  ask "$1" "SELECT COALESCE(MAX(IF(MEMBER_ID = @@server_uuid, CONCAT(LOWER(MEMBER_ROLE), ' ', LOWER(MEMBER_STATE)), NULL)), 'no member'),
    IF(@@super_read_only OR @@read_only, 'read-only', 'writable'),
    CONCAT(SUM(MEMBER_STATE = 'ONLINE'), ' online of ', COUNT(*)), REPLACE(@@gtid_executed, '\n', '')
    FROM performance_schema.replication_group_members"
}

# shellcheck shell=bash
# Galera, three nodes of MariaDB that all take writes; sourced by dev/topology.sh.
#
# The nodes find the lost one's successor themselves. A node that comes back fetches what it
# lacks from another one's cache (IST). Copies of a whole data folder (SST) are not used: the
# scripts for them refuse a server that runs as root, or want programs beside the server. All
# nodes begin with the data of one that has bootstrapped the cluster and was stopped, and so does
# a node that is filled again; caches of 64 MB hold all that tests write. A script is still
# needed: wsrep_sst_cache, which the servers find in PATH.

export PATH=$dev/topology:$PATH

own_options() {
  local n all=''
  for n in $nodes; do all+=,$(galera_address "$n" group); done
  members=gcomm://${all#,}
  own=(--wsrep-on=ON "--wsrep-provider=$cache/mariadb/usr/lib/galera/libgalera_smm.so" --wsrep-cluster-name=lockstead
    --wsrep-sst-method=cache "--wsrep-cluster-address=$members" "--wsrep-node-name=node$1" "--wsrep-node-address=$(address "$1")"
    "--wsrep-provider-options=gmcast.listen_addr=tcp://$(galera_address "$1" group);ist.recv_addr=$(galera_address "$1" ist);gcache.size=64M"
    # Proxies whose sessions share connections want it.
    --performance-schema=ON --log-slave-updates=ON --innodb-autoinc-lock-mode=2)
  [ -z "${alone:-}" ] || own+=(--wsrep-cluster-address=gcomm://)
}

# galera_address N group|ist: on one address, nodes need ports that differ.
galera_address() {
  local port=$1
  [ "$2" = group ] || port=$(($1 + 3))
  printf '%s:%s\n' "$(address "$1")" "$(inner_port "$port")"
}

form() {
  # The state that all have: a cluster of one, as it was when it was stopped.
  alone=yes start_nodes 1
  await 30 'the first node is in step' in_step 1
  "$dev/server.sh" stop "$folder/node1"
  rm -rf "$folder/template/data"
  cp -a "$folder/node1/data" "$folder/template/data"
  rm -f "$folder"/template/data/{binlog.*,galera.cache}
  enter 1 --wsrep-cluster-address=gcomm://
  start_nodes 2 3
  set_writer 1
}

# enter N [OPTION...]: starts a node that ran before.
enter() { restart_node "$1" "--wsrep-cluster-address=$(members "$1")" "${@:2}"; }

members() {
  own_options "$1"
  printf '%s\n' "$members"
}

wsrep() { ask "$1" "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_$2'"; }

# in_step N: part of a majority, and with all that it has written.
in_step() {
  [ "$(wsrep "$1" cluster_status)$(wsrep "$1" local_state_comment)$(wsrep "$1" ready)" = PrimarySyncedON ]
}

executed() { wsrep "$1" last_committed; }

has() { [ "$(executed "$1")" -ge "$2" ]; }

switch_to() {
  local from to=$1
  from=$(writer)
  sql "$from" 'SET GLOBAL read_only = ON'
  await 30 "node $to catches up" has "$to" "$(executed "$from")"
  sql "$to" 'SET GLOBAL read_only = OFF'
  set_writer "$to"
}

stop_replication() { die 'a cluster does not lose what it committed: there is no --lost'; }

# fail_over FROM: waits until the others have done it.
fail_over() {
  local rest
  rest=$(others "$1")
  await 60 'a node takes over' taken_over "$rest"
}

# taken_over NODES: they are a majority without others, of which nobody knows yet that they are lost.
taken_over() {
  local n size
  size=$(wc -w <<<"$1")
  for n in $1; do
    sees "$n" "$size" || continue
    in_step "$n" || continue
    sql "$n" 'SET GLOBAL read_only = OFF'
    set_writer "$n"
    return
  done
  return 1
}

# join N unfenced|fenced
join() {
  local n=$1
  if [ "$2" = unfenced ]; then
    # Who bootstraps a node that is not the most advanced one has two clusters.
    sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' "$folder/node$n/data/grastate.dat"
    recover "$n"
    enter "$n" "--wsrep-start-position=$position" --wsrep-cluster-address=gcomm://
    return
  fi
  if [ -e "$folder/unfenced$n" ]; then
    # Its cluster has the same identity as the other one, so that neither would see the difference.
    say "node $n was a cluster by itself: it is filled again"
    refill_node "$n"
    enter "$n"
  elif ! pid_of "$n" >/dev/null; then
    recover "$n"
    enter "$n" "--wsrep-start-position=$position"
  fi
  await 60 "node $n is in step" in_step "$n"
  sql "$n" 'SET GLOBAL read_only = OFF'
}

# recover N: sets $position. A server that was killed has to be asked first for what it has: if
# it does not know, it asks the others for everything.
recover() {
  local log=$folder/node$1/recover.log
  (
    # Of dev/server.sh: daemon, options and others.
    eval "$(cat "$folder/node$1/settings")"
    # shellcheck disable=SC2154
    timeout 60 "$daemon" "${options[@]}" "${extra[@]}" --wsrep-recover "--log-error=$log" "--pid-file=$log.pid"
  ) >/dev/null 2>&1 || die "node $1 does not recover; see $log"
  position=$(sed -n 's/.*Recovered position: *//p' "$log" | tail -n 1)
  [ -n "$position" ] || die "node $1 has no position; see $log"
}

settle() {
  local n total at
  total=$(others 0 | wc -w)
  for n in $(others 0); do
    await 60 "node $n is in step" in_step "$n"
    await 60 "node $n sees all others" sees "$n" "$total"
  done
  at=$(executed "$(writer)")
  for n in $(others "$(writer)"); do await 30 "node $n catches up" has "$n" "$at"; done
}

sees() { [ "$(wsrep "$1" cluster_size)" = "$2" ]; }

# describe N: state, writable, view, position.
describe() {
  ask "$1" "SELECT MAX(IF(VARIABLE_NAME = 'wsrep_local_state_comment', LOWER(VARIABLE_VALUE), '')),
    IF(@@read_only, 'read-only', 'writable'),
    CONCAT(MAX(IF(VARIABLE_NAME = 'wsrep_cluster_status', LOWER(VARIABLE_VALUE), '')), ' of ',
      MAX(IF(VARIABLE_NAME = 'wsrep_cluster_size', VARIABLE_VALUE, ''))),
    MAX(IF(VARIABLE_NAME = 'wsrep_last_committed', VARIABLE_VALUE, ''))
    FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME LIKE 'wsrep%'"
}

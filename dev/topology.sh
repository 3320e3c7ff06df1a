#!/usr/bin/env bash
# Several servers as they are really run, on this machine, for tests of failover:
#
#   dev/topology.sh NAME COMMAND [OPTION...] [DIR]
#
# NAME     async-mysql, semisync-mysql, gr-single, gr-multi, async-mariadb or galera: three nodes
# COMMAND  up        starts it and waits until all nodes are in step; --quick: Group Replication
#                    expels a member at once, not 5 s after it is suspected;
#                    --loopback: no network namespaces
#          switch    planned: another node becomes the writer; --to NODE
#          crash     SIGKILL of the writer, then failover; --lost MS: the others stop replicating so
#                    long before it, so that the last transactions are lost with it
#          return    SIGKILL of the writer; the one that was lost before it comes back as it was then, and is
#                    the writer: what happened in between is lost. For async-mysql and async-mariadb
#          abandon   another node becomes the writer, and the others follow it; the writer before is left alone, and goes
#                    on taking writes until rejoin. For async-mysql and async-mariadb
#          failover  what a failover tool does when the writer is lost, or, where the nodes do it
#                    themselves, waits until they have
#          cut       cuts the writer from the others; --node NODE: that node;
#                    --way in: it hears nobody; --way out: nobody hears it
#          heal      ends all cuts
#          rejoin    the writer that was lost comes back as a member like others; --node NODE;
#                    --unfenced: as a server that thinks it is the writer still
#          status    a line a node
#          down      ends and removes everything
# DIR      where it is; /tmp/lockstead-NAME unless named
#
# DIR/topology.env has, as shell assignments: TOPOLOGY, FLAVOUR, NODE1 to NODE3 (URLs), CLIENT1 to
# CLIENT3 (see dev/server.sh), WRITER (URL) and WRITER_NODE (number), which follow the writer. Every
# node has the accounts of dev/server.sh, and app with the password app, which may do what an
# application does. DIR/node1 to DIR/node3 are servers of dev/server.sh. All URLs are on
# 127.0.0.1; see dev/topology/network.sh for the network among the nodes.
#
# Where every node takes writes (gr-multi, galera), clients write on one by convention. A
# planned switch makes the old one read-only.
set -euo pipefail

dev=$(cd "$(dirname "$0")" && pwd -P)
cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
# What is killed here are processes: what they wrote is in the system's memory.
export LOCKSTEAD_SERVER_SYNC=${LOCKSTEAD_SERVER_SYNC:-off}

# shellcheck source=dev/topology/nodes.sh
. "$dev/topology/nodes.sh"
# shellcheck source=dev/topology/network.sh
. "$dev/topology/network.sh"

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

topology_up() {
  if [ -e "$folder/ready" ]; then
    [ "$(cat "$folder/kind")" = "$kind" ] || die "the topology in $folder is $(cat "$folder/kind")"
    [ "$quick" = "$(cat "$folder/quick")" ] || die "$kind is there with another expel timeout: take it down first"
    say "$kind is there; its nodes are in $folder/topology.env"
    return
  fi
  [ ! -e "$folder/kind" ] || topology_down
  [ ! -e "$folder" ] || [ -z "$(ls -A "$folder")" ] || die "$folder is something else"
  local needed=("$flavour")
  [ "$kind" != galera ] || needed+=(galera)
  # These would make it fetch the client alone.
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "${needed[@]}"
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd -P)
  printf '%s\n' "$kind" >"$folder/kind"
  printf '%s' "$quick" >"$folder/quick"
  trap 'give_up' EXIT
  trap 'exit 130' INT
  trap 'exit 143' HUP TERM
  network_up "$net"
  make_template
  form
  settle
  : >"$folder/ready"
  trap - EXIT
  say "$kind is up; its nodes are in $folder/topology.env"
}

give_up() {
  local status=$?
  trap - EXIT
  for log in "$folder"/*/error.log; do
    printf 'topology: the end of %s:\n' "$log" >&2
    tail -n 5 "$log" >&2
  done
  topology_down
  exit "$status"
}

topology_down() {
  local n
  [ -e "$folder" ] || return 0
  [ -e "$folder/kind" ] || die "$folder is something else"
  for n in template node1 node2 node3; do
    [ ! -d "$folder/$n" ] || "$dev/server.sh" kill "$folder/$n"
  done
  network=$(cat "$folder/network" 2>/dev/null) || true
  network_down
  rm -rf "$folder"
}

# lose N: marks the writer as lost.
lose() {
  date +%s.%N >"$folder/lost-at"
  printf '%s\n' "$1" >"$folder/lost"
}

topology_crash() {
  local from pid
  from=$(writer)
  pid=$(pid_of "$from") || die "the writer, node $from, does not run"
  if [ "$lost" -gt 0 ]; then
    # shellcheck disable=SC2046 # a list of numbers
    stop_replication $(others "$from")
    sleep "$(printf '%d.%03d' $((lost / 1000)) $((lost % 1000)))"
  fi
  lose "$from"
  kill -KILL "$pid"
  kill_node "$from" # waits until it is gone
  fail_over "$from"
  say "node $from is killed; the writer is node $(writer)"
}

# loses: whether a writer can be replaced without its doing.
loses() { case $kind in async-*) ;; *) die "$kind does not lose what its writer has acknowledged" ;; esac; }

topology_abandon() {
  local from
  loses
  from=$(writer)
  pid_of "$from" >/dev/null || die "the writer, node $from, does not run"
  lose "$from"
  fail_over "$from"
  : >"$folder/unfenced$from"
  say "the writer is node $(writer); node $from takes writes beside it"
}

topology_return() {
  local from to n
  loses
  from=$(writer)
  to=$(cat "$folder/lost" 2>/dev/null) || die 'no writer was lost before'
  ! pid_of "$to" >/dev/null || die "node $to runs: it is not as it was then"
  pid_of "$from" >/dev/null || die "the writer, node $from, does not run"
  restart_node "$to" # read-only, and nobody's replica
  lose "$from"
  kill_node "$from"
  reopen "$to"
  set_writer "$to"
  for n in $(others "$to"); do join "$n" fenced; done
  say "node $from is killed; the writer is node $to, as it was"
}

topology_failover() {
  local from
  from=$(writer)
  [ -e "$folder/lost" ] || lose "$from"
  ! reachable "$from" || die "the writer, node $from, is there: cut it off or kill it, or use switch"
  fail_over "$from"
  say "the writer is node $(writer)"
}

topology_switch() {
  local from
  from=$(writer)
  if [ -z "$node" ]; then
    read -r node _ <<<"$(others "$from")"
    [ -n "$node" ] || die 'there is no other node'
  fi
  [ "$node" != "$from" ] || die "node $node is the writer"
  reachable "$node" || die "node $node is not there"
  switch_to "$node"
  say "the writer is node $node, no longer node $from"
}

topology_rejoin() {
  local n
  n=${node:-$(cat "$folder/lost" 2>/dev/null)} || die 'no writer was lost; name a node with --node'
  ! is_cut "$n" || die "node $n is cut off: heal first"
  [ "$n" != "$(writer)" ] || die "node $n is the writer"
  if [ "$fence" = unfenced ]; then
    ! pid_of "$n" >/dev/null || die "node $n runs; only one that does not can be started without a fence"
    join "$n" unfenced
    : >"$folder/unfenced$n"
    say "node $n runs by itself and takes writes, beside the writer, node $(writer)"
    return
  fi
  join "$n" fenced
  rm -f "$folder/unfenced$n" "$folder/lost"
  write_env
  settle
  say "node $n is back"
}

topology_cut() {
  node=${node:-$(writer)}
  [ "$node" != "$(writer)" ] || lose "$node"
  cut_node "$node" "$way"
  say "node $node is cut off"
}

topology_heal() {
  local n found=
  for n in $nodes; do
    ! is_cut "$n" || { heal_node "$n" && found=$n; }
  done
  [ -n "$found" ] || die 'no node is cut off'
  say 'no node is cut off'
}

topology_status() {
  local n state role writable view position
  for n in $nodes; do
    state=$(running "$n")
    # Without an answer, all are empty.
    IFS=$'\t' read -r role writable view position <<<"$(describe "$n" || true)"
    printf 'node%s  %-8s %-12s %-10s %-22s %s\n' "$n" "$state" "${role:--}" "${writable:--}" "${view:--}" "${position:--}"
  done
}

# running N: a word.
running() {
  if ! pid_of "$1" >/dev/null; then
    echo dead
  elif is_cut "$1"; then
    echo cut
  elif [ "$1" = "$(writer)" ]; then
    echo writer
  else
    echo up
  fi
}

# number TEXT
number() {
  [[ $1 =~ ^[0-9]{1,6}$ ]] || die "'$1' is no number"
  printf '%s\n' "$((10#$1))"
}

node_number() {
  [[ " $nodes " == *" $1 "* ]] || die "there is no node '$1'; take one of $nodes"
  printf '%s\n' "$1"
}

[ $# -ge 2 ] || usage
kind=$1 command=$2
shift 2
folder=/tmp/lockstead-$kind node='' lost=0 quick='' net=real way=both fence=fenced
while [ $# -gt 0 ]; do
  case $1 in
  --to | --node) node=$(node_number "${2:-}") && shift ;;
  --lost) lost=$(number "${2:-}") && shift ;;
  --way)
    way=${2:-}
    [ "$way" = in ] || [ "$way" = out ] || die "--way wants in or out"
    shift
    ;;
  --unfenced) fence=unfenced ;;
  --quick) quick=yes ;;
  --loopback) net=loopback ;;
  -*) usage ;;
  *) folder=$1 ;;
  esac
  shift
done

case $kind in
async-mysql | semisync-mysql)
  flavour=mysql
  # shellcheck source=dev/topology/mysql-replicas.sh
  . "$dev/topology/mysql-replicas.sh"
  ;;
gr-single | gr-multi)
  flavour=mysql
  # shellcheck source=dev/topology/mysql-group.sh
  . "$dev/topology/mysql-group.sh"
  ;;
async-mariadb)
  flavour=mariadb
  # shellcheck source=dev/topology/mariadb-replicas.sh
  . "$dev/topology/mariadb-replicas.sh"
  ;;
galera)
  flavour=mariadb
  # shellcheck source=dev/topology/galera.sh
  . "$dev/topology/galera.sh"
  ;;
*) die "unknown topology '$kind'; take async-mysql, semisync-mysql, gr-single, gr-multi, async-mariadb or galera" ;;
esac
if [ "$flavour" = mysql ]; then client=$cache/bin/mysql; else client=$cache/bin/mariadb; fi
[ ! -d "$folder" ] || folder=$(cd "$folder" && pwd -P)
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac

case $command in
up | down) "topology_$command" ;;
switch | crash | return | abandon | failover | cut | heal | rejoin | status)
  [ -e "$folder/ready" ] || die "there is no topology in $folder: start it with up"
  [ "$(cat "$folder/kind")" = "$kind" ] || die "the topology in $folder is $(cat "$folder/kind")"
  network=$(cat "$folder/network")
  "topology_$command"
  ;;
*) usage ;;
esac

#!/usr/bin/env bash
# The topologies of dev/topology.sh, one after the other, through all that can be done with them:
#
#   dev/test-topology.sh [--quick] [--loopback] [NAME...]     (no name: all)
#
# Each is brought up, and its writer is written to and read from the others. Then, under load and with
# open sessions: a planned switch; the writer killed, and back as a member; the end of its log lost
# with it; the writer back without a fence; the writer cut off, and healed. Options are those of up.
#
# A step that does not reach its state ends this with an error. The figures are of this
# machine: how long nobody took writes, what clients of the old writer got, and whether
# acknowledged writes were lost.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/topology/clients.sh
. "$dev/topology/clients.sh"

folder=$tmp/topology
row=0 # the number of the last row, at most

topology() {
  "$dev/topology.sh" "$name" "$@" "$folder" >>"$tmp/steps.log" || {
    "$dev/topology.sh" "$name" status "$folder" >&2 || true
    die "$name: $* does not reach its state"
  }
  # shellcheck disable=SC1091
  [ ! -e "$folder/topology.env" ] || . "$folder/topology.env"
}

# Whether acknowledged writes may be lost with the writer, and whether others refuse writes.
may_lose() { case $name in async-*) ;; *) return 1 ;; esac; }
one_writer() { case $name in gr-multi | galera) return 1 ;; *) ;; esac; }

others() {
  local n
  for n in 1 2 3; do [ "$n" = "$1" ] || echo "$n"; done
}

# until_seen N: until the node has the last row.
until_seen() {
  local deadline=$((SECONDS + 20))
  until [ "$(app "$1" "SELECT id FROM rig.w WHERE id = $row" || true)" = "$row" ]; do
    [ $SECONDS -lt $deadline ] || die "node $1 does not get a row of the writer"
    sleep 0.05
  done
}

takes() {
  row=$((row + 1))
  app "$1" "INSERT INTO rig.w VALUES ($row)" || die "node $1 should take writes: $(cat "$tmp/app-$1.err")"
}

# whole: the writer takes a write and all nodes get it; the others refuse one.
whole() {
  local n
  takes "$WRITER_NODE"
  for n in 1 2 3; do until_seen "$n"; done
  one_writer || return 0
  for n in $(others "$WRITER_NODE"); do
    ! app "$n" "INSERT INTO rig.taken (node) VALUES ($n)" || die "node $n should refuse writes"
  done
}

# report_lost N: acknowledged writes of the load that node N has not.
report_lost() {
  local lost
  lost=$(lost_at "$1")
  say "    writes: $(wc -l <"$tmp/acknowledged") acknowledged, $lost of them lost; then the client got: $(cat "$tmp/refused" 2>/dev/null || true)"
  may_lose || [ "$lost" -eq 0 ] || die 'no acknowledged write should be lost'
}

# after_loss WHAT: the figures when the writer is lost and another one has taken over.
after_loss() {
  local at
  at=$(cat "$folder/lost-at")
  say "  $1: first accepted write after $(since "$at" "$(taken_after "$at")"), a new writer after $(since "$at" "$(now)")"
  one_writer || say "    longest time in which a survivor took no write: $(longest_stall "$at")"
}

test_up() {
  local from
  from=$(now)
  topology up ${options[@]+"${options[@]}"}
  say "$name"
  say "  up after $(since "$from" "$(now)"); load average of the machine $(head -c 4 /proc/loadavg)"
  topology up ${options[@]+"${options[@]}"} # is there
  app_options
  app "$WRITER_NODE" 'CREATE DATABASE rig; CREATE TABLE rig.w (id INT PRIMARY KEY);
    CREATE TABLE rig.taken (id INT AUTO_INCREMENT PRIMARY KEY, node INT)' || die "$(cat "$tmp/app-$WRITER_NODE.err")"
  whole
}

# test_switch busy|idle: with open sessions or without.
test_switch() {
  local from=$WRITER_NODE last
  load "$from"
  # shellcheck disable=SC2046 # numbers
  ! one_writer || knock $(others "$from")
  [ "$1" = idle ] || open_sessions "$from"
  topology switch
  [ "$WRITER_NODE" != "$from" ] || die 'the writer should be another node'
  if one_writer; then
    last=$(last_acknowledged)
    say "  switch, $1: last write at the old writer to first at the new one $(since "$last" "$(taken_after "$last")")"
  else
    say "  switch, $1"
  fi
  [ "$1" = idle ] || report_sessions "$WRITER_NODE"
  end_clients 0
  whole
  [ "$(lost_at "$WRITER_NODE")" -eq 0 ] || die 'a planned switch should lose nothing'
}

# lose_writer WHAT COMMAND...: what the command, which makes the topology lose its writer and get another one,
# does to clients.
lose_writer() {
  local from=$WRITER_NODE what=$1
  shift
  rm -f "$folder/lost-at"
  load "$from"
  open_sessions "$from"
  group knock_when_lost "$from"
  "$@"
  [ "$WRITER_NODE" != "$from" ] || die 'the writer should be another node'
  after_loss "$what"
  report_sessions "$WRITER_NODE"
  report_lost "$WRITER_NODE"
}

knock_when_lost() {
  local n
  until [ -e "$folder/lost-at" ]; do sleep 0.01; done
  for n in $(others "$1"); do keep_knocking "$n" & done
  wait
}

test_crash() {
  lose_writer 'SIGKILL' topology crash
  end_clients 0
  topology rejoin
  whole
}

test_lost_tail() {
  lose_writer 'SIGKILL, and the last 0.5 s of its log lost' topology crash --lost 500
  ! may_lose || [ "$(lost_at "$WRITER_NODE")" -gt 0 ] || die 'some writes should be lost'
  end_clients 0
  topology rejoin
  whole
}

# The old writer takes writes beside the new one, and has to be filled again afterwards.
test_unfenced() {
  local old=$WRITER_NODE apart
  topology crash
  topology rejoin --unfenced
  takes "$old"
  apart=$row
  takes "$WRITER_NODE"
  topology rejoin
  whole
  [ -z "$(app "$old" "SELECT id FROM rig.w WHERE id = $apart")" ] || die 'the write of the unfenced writer should be gone'
  say '  unfenced: both took writes; the old one was filled again'
}

cut_and_failover() {
  topology cut
  topology failover
}

test_cut() {
  local old=$WRITER_NODE healed write patience=8
  # A group tells its old member that it is out. A source waits until it has rejoined.
  case $name in gr-*) patience=60 ;; esac
  lose_writer 'cut off' cut_and_failover
  takes "$WRITER_NODE"
  topology heal
  healed=$(now)
  write=$(hear idle "$patience")
  say "    $(since "$healed" "$(now)") after the heal: write: $write; COMMIT of an open transaction: $(hear open 1)"
  topology rejoin
  if [ "$write" = hangs ]; then
    write=$(hear idle 5)
    say "    after it has rejoined: write: $write; COMMIT of an open transaction: $(hear open 1)"
  fi
  may_lose || [ "$write" != ok ] || die 'a write that waited was thrown away after an OK'
  end_clients 0
  whole
  [ "$WRITER_NODE" != "$old" ] || die 'the healed node should not be the writer'
}

# With semi-synchronous replication the writer waits for a replica that is cut off.
test_cut_replica() {
  local other
  read -r other _ <<<"$(others "$WRITER_NODE" | tr '\n' ' ')"
  topology cut --node "$other"
  session waits "$WRITER_NODE"
  [ "$(tell waits "INSERT INTO rig.taken (node) VALUES (5); SELECT 'ok';")" = hangs ] || die 'a commit should wait for the replica that is cut off'
  topology heal
  [ "$(hear waits 30)" = ok ] || die 'the commit should go on after the heal'
  say '  a replica cut off: commits wait until it is healed'
  end_clients 0
  whole
}

test_down() {
  local network left
  network=$(cat "$folder/network")
  topology down
  [ ! -e "$folder" ] || die "$folder should be gone"
  left=$(grep -lF -- "--datadir=$folder/" /proc/[0-9]*/cmdline 2>/dev/null || true)
  [ -z "$left" ] || die "processes are left: $left"
  [ -z "$network" ] || ! ip netns list | grep -qF "$network" || die 'network namespaces are left'
  say '  down: nothing is left'
}

test_all() {
  name=$1
  test_up
  test_switch busy
  test_switch idle
  test_crash
  case $name in *-*sql | *-mariadb) test_lost_tail ;; esac
  test_unfenced
  [ "$name" != semisync-mysql ] || test_cut_replica
  test_cut
  test_down
}

options=() names=()
for word in "$@"; do
  case $word in
  --*) options+=("$word") ;;
  *) names+=("$word") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || names=(async-mysql semisync-mysql gr-single gr-multi async-mariadb galera)
[ "$(id -u)" -ne 0 ] || need ip iproute2

# Network namespaces go with the topology, whatever else comes meanwhile.
trap 'status=$?; set +e; trap "" HUP INT TERM; [ -z "${name:-}" ] || "$dev/topology.sh" "$name" down "$folder"; (exit "$status"); leave' EXIT
for one in "${names[@]}"; do test_all "$one"; done
say 'All as it should be.'

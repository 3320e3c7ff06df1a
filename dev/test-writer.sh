#!/usr/bin/env bash
# Lockstead before the topologies of dev/topology.sh, with all nodes in its list:
#
#   dev/test-writer.sh [--quick] [--loopback] [NAME...]     (no name: async-mysql, gr-single and galera)
#
# Each is switched, and then its writer is killed. Sessions that were on the old writer are closed; clients that
# connect meanwhile wait; new ones are on the new writer, and write there. No proxy is restarted. Options are those
# of dev/topology.sh up. The program is built unless LOCKSTEAD_BIN names one.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/topology/clients.sh
. "$dev/topology/clients.sh"
# shellcheck source=dev/topology/proxies.sh
. "$dev/topology/proxies.sh"

folder=$tmp/topology
row=0 # of clients.sh

# The proxy is the fourth node to the functions of clients.sh.
start_before_all() {
  # The database for applications is not needed here.
  accounts "$FLAVOUR" | grep lockstead | administrate
  administrate <<<'CREATE DATABASE rig; CREATE TABLE rig.taken (id INT AUTO_INCREMENT PRIMARY KEY, node INT)'
  start_before 4 "$(backends 1 2 3)" --lease 5s
  until_ready 4
}

# written: the port of the server on which a new session has written.
written() { limit=100 app 4 "INSERT INTO rig.taken (node) VALUES (4); SELECT @@port"; }

# The session that is being opened while nobody takes writes.
keep_coming() {
  local at
  while :; do
    if at=$(as=-come written); then printf '%s %s\n' "$(now)" "$at" >>"$tmp/came"; else cat "$tmp/app-4-come.err" >>"$tmp/turned-away"; fi
    sleep 0.1
  done
}

# follow WHAT COMMAND...: the command gives the topology another writer.
follow() {
  local what=$1 from=$WRITER_NODE at began deadline
  shift
  is_writer 4 "$from" || die "the proxy should follow node $from"
  [ "$(written)" = "$(port_of_node "$from")" ] || die "a session should be on node $from"
  rm -f "$tmp/came" "$tmp/turned-away"
  session idle 4
  [ "$(tell idle "SELECT 'here';")" = here ] || die "no session: $(cat "$tmp/idle.out")"
  group keep_coming
  began=$(now)
  "$@"
  deadline=$((SECONDS + 60))
  until at=$(awk -v t="$began" -v old="$(port_of_node "$from")" '$1 > t && $2 != old { print $1; exit }' "$tmp/came" 2>/dev/null) && [ -n "$at" ]; do
    [ $SECONDS -lt $deadline ] || die "$what: no new session is on another node: $(tail -n 3 "$tmp/turned-away")"
    sleep 0.1
  done
  say "  $what: the first session on the new writer after $(since "$began" "$at"); turned away: $(sort "$tmp/turned-away" 2>/dev/null | cut -c 1-120 | uniq -c | tr '\n' ';')"
  ! is_writer 4 "$from" || die "the proxy should not follow node $from any more"
  case $(tell idle "SELECT 'here';") in
  here) die 'the session on the old writer should be closed' ;;
  esac
  [ "$(written)" != "$(port_of_node "$from")" ] || die 'new sessions should be on another node'
  [ "$(grep -c 'another server is the writer' "$tmp/proxy-$name-4.log")" -eq "$((changes += 1))" ] || die 'one line a change'
  end_clients 1
}

test_one() {
  name=$1 changes=0
  say "$name"
  topology up ${options[@]+"${options[@]}"}
  start_before_all
  follow 'planned switch' topology switch
  follow 'SIGKILL of the writer' topology crash
  for pid in "${groups[@]}"; do end "$pid"; done
  groups=()
  topology down
}

options=() names=()
for word in "$@"; do
  case $word in
  --*) options+=("$word") ;;
  *) names+=("$word") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || names=(async-mysql gr-single galera)
set_stage
for one in "${names[@]}"; do test_one "$one"; done
say 'All as it should be.'

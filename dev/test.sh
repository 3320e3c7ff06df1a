#!/usr/bin/env bash
# All tests, against a private MySQL and a private MariaDB:
#
#   dev/test.sh [argument of the test runner...]    e.g. dev/test.sh waits
#
# LOCKSTEAD_TEST_MYSQL and LOCKSTEAD_TEST_MARIADB, as mysql://root:password@host:port/,
# name servers to use instead. Tests that kill a server start their own by
# $LOCKSTEAD_DEV_DIR/server.sh. LOCKSTEAD_TEST_ARGS are arguments of cargo test that choose
# what is built and run. Exits with the test runner's status.
#
# Without arguments, what needs no server runs first, then the scripts, tests/it and a failover of each topology at once.
set -euo pipefail

# Each server writes hundreds of megabytes: into memory, if there is much of it.
free_memory=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
free_room=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1 || true)
if [ -z "${TMPDIR:-}" ] && [ "${free_memory:-0}" -gt 10000000 ] && [ "${free_room:-0}" -gt 8000000 ]; then
  export TMPDIR=/dev/shm
fi

# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

read -ra what <<<"${LOCKSTEAD_TEST_ARGS:---lib --bins --tests}"
"$dev/install.sh" mysql mariadb
# Before the servers are started: what does not compile needs none.
group cargo test --no-run "${what[@]}"
wait "$pid"

export LOCKSTEAD_DEV_DIR=$dev LOCKSTEAD_SERVER_SYNC=off LOCKSTEAD_SERVER_TEMPLATES=$tmp/templates
mkdir "$LOCKSTEAD_SERVER_TEMPLATES"

# server FLAVOUR VARIABLE: starts one unless VARIABLE names the user's own.
server() {
  local URL
  [ -z "${!2:-}" ] || return 0
  say "test: starting $1"
  # Some tests send large packets: raised while others run, the limit would differ between their sessions.
  "$dev/server.sh" start "$1" "$tmp/$1" --max-allowed-packet=64M
  # shellcheck disable=SC1090
  . "$tmp/$1/server.env"
  export "$2=$URL"
}
server mysql LOCKSTEAD_TEST_MYSQL
server mariadb LOCKSTEAD_TEST_MARIADB

# Most of these tests wait most of the time, so there are more at once than cores.
if [ $# -gt 0 ] || [ -n "${LOCKSTEAD_TEST_ARGS:-}" ]; then
  group cargo test "${what[@]}" -- --test-threads=12 "$@"
  wait "$pid"
  exit
fi

# Tests without a server come first, since they compute, and some of them compare times.
group cargo test --lib --bins --test tidy
wait "$pid"
group cargo test --package lockstead-model
wait "$pid"

# Then the rest at once, in parts, whose output follows part by part.
parts=(topologies scripts servers)
declare -A part
# part NAME COMMAND...: starts a part.
part() {
  local name=$1
  shift
  group "$@" >"$tmp/$name.log" 2>&1
  part[$name]=$pid
}
others=()
for file in tests/*.rs tests/*/main.rs; do
  name=${file#tests/} name=${name%.rs} name=${name%/main}
  case $name in tidy | differential | it) ;; *) others+=(--test "$name") ;; esac
done

# The files of tests/it that take longest, four fifths of the time together, take turns: each is run on one of the
# servers, and by the next change on the other.
slow=(
  admin admin_edges admin_port adopt audit checks coexist deadlocks documented doctor endings evaluation fenced_commit fenced_forms fenced_writes gates generated hostile
  hostile_names impostors large legs lexer moving observe pooling/changes_of_user pooling/crowds pooling/ended_pins pooling/endings pooling/failover
  pooling/failover_beside_native pooling/logins pooling/losses pooling/registrations pooling/taken_along probes readers relay rolling semi_sync starts strangers stuck suspended
  takeover turns unlisted upgrade vanished windows witnesses writers
)
left_out=()
# Three servers each, so one after the other, or one a change.
topologies=(async-mysql semisync-mysql gr-single gr-multi async-mariadb galera)
if [ -n "${LOCKSTEAD_TURN:-}" ]; then
  topologies=("${topologies[LOCKSTEAD_TURN % ${#topologies[@]}]}")
  flavours=(mysql mariadb)
  for i in "${!slow[@]}"; do
    file=${slow[i]}
    [ -e "tests/it/$file.rs" ] || [ -e "tests/it/$file/mod.rs" ] || die "tests/it has no $file"
    left_out+=(--skip "${file//\//::}::${flavours[(LOCKSTEAD_TURN + i) % 2]}::")
  done
fi
# The lease is far longer than a failover, also beside all the other tests.
part topologies env "LOCKSTEAD_BIN=${LOCKSTEAD_BIN:-${CARGO_TARGET_DIR:-target}/debug/lockstead}" \
  "$dev/test-failover.sh" --quick --loopback --lease 40s "${topologies[@]/%/:kept}"
part scripts cargo test --test differential "${others[@]}" -- --test-threads=7
part servers cargo test --test it -- --test-threads=7 "${left_out[@]}"

status=0
for name in "${parts[@]}"; do
  group tail -n +1 -f -s 0.3 --pid="${part[$name]}" "$tmp/$name.log"
  wait "$pid"
  wait "${part[$name]}" || { status=$?; say "test: $name failed"; }
done
exit "$status"

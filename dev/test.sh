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
#
# If tests fail, the end says how busy the machine was meanwhile, and how to repeat them.
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
"$dev/install.sh" mysql mariadb mydumper mariabackup
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

# machine: microseconds of this machine's time, those in which a task waited for a processor, and those that a hypervisor took.
machine() {
  local waited=0 stolen hz
  [ ! -r /proc/pressure/cpu ] || waited=$(sed -n 's/^some .*total=//p' /proc/pressure/cpu)
  hz=$(getconf CLK_TCK)
  stolen=$(awk -v hz="$hz" '$1 == "cpu" { printf "%.0f", $9 * 1000000 / hz }' /proc/stat)
  printf '%s %s %s\n' "$(date +%s%6N)" "$waited" "$stolen"
}
read -r began waited stolen < <(machine)

# judge LOG...: of a run with failures, how busy the machine was, and what repeats them.
judge() {
  local now busy taken failed
  read -r now busy taken < <(machine)
  now=$((now - began + 1)) busy=$(((busy - waited) * 100 / now))
  taken=$(((taken - stolen) * 100 / now / $(nproc)))
  mapfile -t failed < <(sed -n 's/^test \([^ ]*\) *\.\.\. FAILED$/\1/p' "$@" | sort -u)
  [ ${#failed[@]} -gt 0 ] || return 0
  say "test: ${#failed[@]} failed. Tasks waited for a processor in $busy % of the time, a hypervisor took $taken %."
  if [ "$busy" -ge 90 ] || [ "$taken" -ge 10 ]; then
    say 'test: this machine was too slow: what failed may have failed by its limits of time. Repeat it when less runs here:'
  else
    say 'test: repeat them alone:'
  fi
  say "  dev/test.sh ${failed[*]}"
}

# Most of these tests wait most of the time, so there are more at once than cores.
if [ $# -gt 0 ] || [ -n "${LOCKSTEAD_TEST_ARGS:-}" ]; then
  status=0
  group cargo test "${what[@]}" -- --test-threads=12 "$@" > >(tee "$tmp/run.log")
  wait "$pid" || status=$?
  [ "$status" -eq 0 ] || judge "$tmp/run.log"
  exit "$status"
fi

# Tests without a server come first, since they compute, and some of them compare times.
group cargo test --lib --bins --test tidy
wait "$pid"
group cargo test --package lockstead-model
wait "$pid"

# Then the rest at once, in parts, whose output follows part by part.
parts=(topologies others scripts servers)
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
# Random changes of state still find rare differences: `make storm` looks for them.
left_out=(--skip state_storm)
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
part others cargo test "${others[@]}" -- --test-threads=2
part scripts cargo test --test differential -- --test-threads=7
part servers cargo test --test it -- --test-threads=9 "${left_out[@]}"

status=0
for name in "${parts[@]}"; do
  group tail -n +1 -f -s 0.3 --pid="${part[$name]}" "$tmp/$name.log"
  wait "$pid"
  wait "${part[$name]}" || { status=$?; say "test: $name failed"; }
done
[ "$status" -eq 0 ] || judge "$tmp"/*.log
exit "$status"

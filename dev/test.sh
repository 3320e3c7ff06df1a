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
# Without arguments, three parts of the tests run at once, and their output follows part by part.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

read -ra what <<<"${LOCKSTEAD_TEST_ARGS:---lib --bins --tests}"
"$dev/install.sh" mysql mariadb
# Before the servers are started: what does not compile needs none.
group cargo test --no-run "${what[@]}"
wait "$pid"

# server FLAVOUR VARIABLE: starts one unless VARIABLE names the user's own.
server() {
  local URL
  [ -z "${!2:-}" ] || return 0
  say "test: starting $1"
  "$dev/server.sh" start "$1" "$tmp/$1"
  # shellcheck disable=SC1090
  . "$tmp/$1/server.env"
  export "$2=$URL"
}
server mysql LOCKSTEAD_TEST_MYSQL
server mariadb LOCKSTEAD_TEST_MARIADB
export LOCKSTEAD_DEV_DIR=$dev

# Most tests wait most of the time, so there are more at once than cores. A part of the tests is one
# run of the runner; all parts are run at once, in this order.
if [ $# -gt 0 ] || [ -n "${LOCKSTEAD_TEST_ARGS:-}" ]; then
  group cargo test "${what[@]}" -- --test-threads=12 "$@"
  wait "$pid"
  exit
fi

parts=(units scripts servers)
declare -A part
# part NAME ARGUMENT...: starts a part.
part() {
  local name=$1
  shift
  group cargo test "$@" >"$tmp/$name.log" 2>&1
  part[$name]=$pid
}
others=()
for file in tests/*.rs tests/*/main.rs; do
  name=${file#tests/} name=${name%.rs} name=${name%/main}
  case $name in it | differential) ;; *) others+=(--test "$name") ;; esac
done
part units --lib --bins "${others[@]}"
part scripts --test differential -- --test-threads=6
part servers --test it -- --test-threads=8

status=0
for name in "${parts[@]}"; do
  group tail -n +1 -f -s 0.3 --pid="${part[$name]}" "$tmp/$name.log"
  wait "$pid"
  wait "${part[$name]}" || { status=$?; say "test: $name failed"; }
done
exit "$status"

#!/usr/bin/env bash
# All tests, against a private MySQL and a private MariaDB:
#
#   dev/test.sh [argument of the test runner...]    e.g. dev/test.sh waits
#
# LOCKSTEAD_TEST_MYSQL and LOCKSTEAD_TEST_MARIADB, as mysql://root:password@host:port/,
# name servers to use instead. Tests that kill a server start their own by
# $LOCKSTEAD_DEV_DIR/server.sh. LOCKSTEAD_TEST_ARGS are arguments of cargo test that choose
# what is built and run. Exits with the test runner's status.
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

# Most tests wait most of the time, so there are more at once than cores.
group cargo test "${what[@]}" -- --test-threads=12 "$@"
wait "$pid"

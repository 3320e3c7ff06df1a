#!/usr/bin/env bash
# A private server with a proxy before it, to try things, until Ctrl-C:
#
#   dev/run.sh [mysql|mariadb]
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
trap 'exit 0' INT # the way to end it

flavour=${1:-mysql}
start_server "$flavour"
port=$(free_port 6033) http_port=$(free_port 6080)
mode=coexist log=/dev/stderr start_proxy A "$port" "$http_port"

cat <<TEXT

Lockstead, before a private $flavour on port $PORT. Connect as the application:
  ${CLIENT%% *} -h 127.0.0.1 -P $port -u app -papp app
and lock as usual:
  SELECT GET_LOCK('x', 10);
See who holds what, straight on the server:
  $CLIENT -e 'SELECT * FROM lockstead.held_locks'
Metrics and health:
  curl http://127.0.0.1:$http_port/metrics
  curl http://127.0.0.1:$http_port/readyz
Ctrl-C ends and removes it all.

TEXT
wait "$pid" || die "the proxy ended with status $?"

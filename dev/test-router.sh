#!/usr/bin/env bash
# Lockstead in front of MySQL Router, which shares connections to a private MySQL (connection_sharing): do locks
# make Router keep a connection for each client, and are they still held?
#
#   dev/test-router.sh
#
# Router alone: each client that holds the server's own lock keeps a connection.
# Lockstead in mode durable, each session with a connection to Router: nobody keeps a connection to the server. All of
# them are killed there, and all locks are held still.
# Lockstead in mode coexist refuses to start, and says why: a lock is proved by the id of its connection. Before
# Router's other port, which lends no connections, it starts.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/crowd.sh
. "$(dirname "$0")/crowd.sh"

crowd=20

# start_router: with a pool that is larger than the crowd. Sets $router, which lends connections, and $plain.
start_router() {
  "$dev/install.sh" router
  router=$(free_port 0) plain=$(free_port 0)
  mkdir "$tmp/router"
  cat >"$tmp/router/router.conf" <<CONF
[DEFAULT]
logging_folder=$tmp/router
runtime_folder=$tmp/router
data_folder=$tmp/router
[logger]
level=WARNING
[io]
threads=2
[connection_pool]
max_idle_server_connections=64
[routing:server]
bind_address=127.0.0.1
bind_port=$router
destinations=127.0.0.1:$PORT
routing_strategy=first-available
protocol=classic
client_ssl_mode=PREFERRED
client_ssl_cert=$tmp/server/tls/server-cert.pem
client_ssl_key=$tmp/server/tls/server-key.pem
server_ssl_mode=PREFERRED
server_ssl_verify=DISABLED
connection_sharing=1
connection_sharing_delay=0.05
[routing:plain]
bind_address=127.0.0.1
bind_port=$plain
destinations=127.0.0.1:$PORT
routing_strategy=first-available
protocol=classic
client_ssl_mode=PASSTHROUGH
server_ssl_mode=AS_CLIENT
connection_sharing=0
CONF
  local deadline=$((SECONDS + 30))
  # The run-time wrappers of dev/install.sh.
  group "${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}/bin/mysqlrouter" -c "$tmp/router/router.conf" \
    >"$tmp/router/output" 2>&1
  until "${CLIENT%% *}" --defaults-file="$tmp/app.cnf" -P "$router" -e 'DO 1' >/dev/null 2>&1; do
    kill -0 "$pid" 2>/dev/null || die "Router ended: $(cat "$tmp/router/output")"
    [ $SECONDS -lt $deadline ] || die 'Router lets nobody in after 30 s'
    sleep 0.1
  done
}

# through NAME ROUTER OPTION...: a proxy before that port of Router; its lock tables are at the server itself. Sets $port
# and $proxy.
through() {
  local http
  port=$(free_port 0) http=$(free_port 0)
  backend=127.0.0.1:$2 start_proxy "$1" "$port" "$http" --backend-tls required "${@:3}"
  proxy=$pid
}

# ends: the proxy does, in order.
ends() {
  kill "$proxy"
  wait "$proxy" || die "the proxy ended with status $?"
}

# refuses MODE: neither start nor check is content with Router's connections.
refuses() {
  local said program place
  place=(--mode "$1" --backend "127.0.0.1:$router" --backend-tls required --state-dir off
    --store "mysql://lockstead:secret@127.0.0.1:$PORT/lockstead")
  for program in 'check' 'serve --listen 127.0.0.1:0'; do
    # shellcheck disable=SC2086
    if said=$("$bin" $program "${place[@]}" 2>&1); then die "lockstead $program should refuse: $said"; fi
    said=$(grep 'proves each lock by the id' <<<"$said") || die "lockstead $program does not say why it refuses"
    say "  lockstead ${program%% *}: $said"
  done
}

connections() {
  sql -N -e "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'"
}

# kept: each client keeps a connection, also when it does nothing.
kept() {
  local now
  # Longer than connection_sharing_delay.
  sleep 1
  now=$(connections)
  ((now == crowd)) || die "each of $crowd clients should keep a connection, but there are $now"
  say "  $crowd clients with a lock have $now connections to the server"
}

# killed: all connections of the clients are killed at the server, and are gone.
killed() {
  local id deadline=$((SECONDS + 20)) count=0
  while read -r id; do
    # It may have gone by itself.
    sql -e "KILL $id" 2>/dev/null || true
    count=$((count + 1))
  done < <(sql -N -e "SELECT id FROM information_schema.processlist WHERE user = 'app'")
  until [ "$(connections)" = 0 ]; do
    [ $SECONDS -lt $deadline ] || die 'killed connections are still there'
    sleep 0.1
  done
  say "  $crowd clients have $count connections to the server: all are killed"
}

# shared: no client keeps one: they outlive the end of all.
shared() {
  sleep 1
  killed
}

# held_by_all: every lock has its row, and no other client gets it, whichever of Router's connections he is on.
held_by_all() {
  local rows
  rows=$(sql -N -e "SELECT COUNT(*) FROM lockstead.held_locks WHERE name LIKE 'job %'")
  [ "$rows" = "$crowd" ] || die "lockstead.held_locks should have $crowd rows, but has $rows"
  crowd_asks "SELECT GET_LOCK('job %m', 0)"
  crowd_answers 0
  crowd_asks "SELECT IS_FREE_LOCK('job %n')"
  crowd_answers 0
}

take() {
  crowd_enters "$1" "$crowd" "$tmp/app.cnf"
  crowd_asks "SELECT GET_LOCK('job %n', 10)"
  crowd_answers 1
}

give_back() {
  crowd_asks "SELECT RELEASE_LOCK('job %n')"
  crowd_answers 1
  crowd_leaves
  killed
}

start_server mysql
start_router

say "$crowd clients at Router alone, each with a lock of the server's own"
take "$router"
kept
give_back

say 'through Lockstead in mode durable to Router'
through durable "$router"
take "$port"
shared
held_by_all
shared
give_back
ends

say 'Lockstead in mode coexist to Router'
refuses coexist

say "through Lockstead in mode coexist to Router's port without connection_sharing"
mode=coexist through coexist "$plain"
take "$port"
kept
held_by_all
kept
give_back
ends
say 'All as it should be.'

#!/usr/bin/env bash
# What Lockstead does, against a private server, each step checked:
#
#   dev/demo.sh [mysql|mariadb]
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/crowd.sh
. "$(dirname "$0")/crowd.sh"

# --- sessions: the servers' own client, fed line by line through a pipe --------

declare -A in out client # of each session: two file descriptors, a process id

# session NAME PORT: logs in as the application, through the proxy on PORT.
session() {
  local fd
  mkfifo "$tmp/$1.in" "$tmp/$1.out"
  # Both ends held open: nobody waits for the other side to open its end.
  exec {fd}<>"$tmp/$1.in"
  in[$1]=$fd
  exec {fd}<>"$tmp/$1.out"
  out[$1]=$fd
  group "${CLIENT%% *}" --defaults-file="$tmp/app.cnf" -P "$2" -n -N -B <"$tmp/$1.in" >"$tmp/$1.out" 2>&1
  client[$1]=$pid
}

# ask NAME SQL
ask() {
  say "  $1> $2"
  printf '%s;\n' "$2" >&"${in[$1]}"
}

# answer NAME SECONDS VALUE: the next line that the client prints, in time.
answer() {
  local got
  read -r -t "$2" -u "${out[$1]}" got || die "session $1 has no answer after $2 s"
  [ "$got" = "$3" ] || die "session $1 should have got $3, but got: $got"
  say "  $1: $got"
}

# waits NAME PORT: no answer for a second, and the proxy on PORT says why.
waits() {
  local got
  ! read -r -t 1 -u "${out[$1]}" got || die "session $1 should wait, but got: $got"
  [ "$(metric "$2" lockstead_locks_waiting)" = 1 ] || die "the proxy counts no waiting session"
  say "  $1 waits (lockstead_locks_waiting 1)"
}

# waits_at_server NAME: no answer for half a second, and the server's process list says why.
waits_at_server() {
  local got
  ! read -r -t 0.5 -u "${out[$1]}" got || die "session $1 should wait, but got: $got"
  got=$(sql -N -e "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock'")
  [ "$got" = 1 ] || die "the server should show one session that waits, but shows $got"
  say "  $1 waits (User lock, in the server's process list)"
}

# crowd_connections: ids of the crowd's connections at the server.
crowd_connections() {
  sql -N -e "SELECT id FROM information_schema.processlist WHERE user = 'crowd'"
}

# slay PID
slay() {
  disown "$1" # or bash would report it
  kill -KILL "$1"
}

now() { printf '%s\n' $((${EPOCHREALTIME//[!0-9]/} / 1000)); }

# took FROM LEAST MOST: sets $ms, the milliseconds since FROM.
took() {
  ms=$(($(now) - $1))
  ((ms >= $2 && ms <= $3)) || die "that took $ms ms, not $2 to $3"
}

step=0
step() {
  step=$((step + 1))
  printf '\n%s. %s\n' "$step" "$*"
}

# held: shows the held locks; sets $token, that of the only one.
held() {
  sql -t -e 'SELECT name, token, proxy, proxy_state AS state, connection_id, owner FROM lockstead.held_locks'
  local name
  read -r name token < <(sql -N -e 'SELECT name, token FROM lockstead.held_locks')
  [ "$name" = nightly ] || die "lockstead.held_locks should show the lock"
}

# --- the story ------------------------------------------------------------------

flavour=${1:-mysql}
if [ "$flavour" = mysql ]; then
  start_server mysql
else
  # Proxies find the shared connections of a dead proxy there.
  start_server "$flavour" --performance-schema=ON
fi
# MySQL lists its own locks without it.
[ "$flavour" = mysql ] || sql -e "INSTALL SONAME 'metadata_lock_info'"
sql -e "CREATE PROCEDURE app.take() SELECT GET_LOCK('nightly', 0)"
a=$(free_port 0) a_http=$(free_port 0) b=$(free_port 0) b_http=$(free_port 0)
mode=coexist lease=30s start_proxy A "$a" "$a_http"
proxy_a=$pid
mode=coexist lease=30s start_proxy B "$b" "$b_http"
proxy_b=$pid
say "A private $flavour $(sql -N -e 'SELECT VERSION()') on port $PORT; before it the proxies A (port $a) and B"
say "(port $b), in mode coexist, with a lease of 30 s. The sessions are plain $flavour clients."

step "amy locks through proxy A, and it is a row on the server. dan connects directly to the server, and does not get it."
session amy "$a"
session dan "$PORT"
ask amy "SELECT GET_LOCK('nightly', 10)"
answer amy 10 1
held
ask dan "SELECT GET_LOCK('nightly', 0)"
answer dan 10 0

step "dan waits; amy releases it, dan has it, and now amy does not get it."
ask dan "SELECT GET_LOCK('nightly', 30)"
waits_at_server dan
ask amy "SELECT RELEASE_LOCK('nightly')"
answer amy 10 1
answer dan 10 1
ask amy "SELECT GET_LOCK('nightly', 0)"
answer amy 10 0
ask dan "SELECT RELEASE_LOCK('nightly')"
answer dan 10 1

step "A stored procedure takes it for amy: a row again, and dan does not get it."
ask amy "CALL take()"
answer amy 10 1
held
ask dan "SELECT GET_LOCK('nightly', 0)"
answer dan 10 0

step "ben, at proxy B, waits for amy's lock. Then proxy A is killed (kill -9): no lease is waited for."
session ben "$b"
ask ben "SELECT GET_LOCK('nightly', 30)"
waits_at_server ben
slay "$proxy_a"
from=$(now)
answer ben 10 1
took "$from" 0 2000
say "  ben has the lock $ms ms after the kill:"
held

step "All clients come through Lockstead now: both proxies are started again, in mode durable, with a lease of 3 s."
kill "$proxy_b"
wait "$proxy_b" || die "proxy B ended with status $?"
start_proxy A "$a" "$a_http"
proxy_a=$pid
start_proxy B "$b" "$b_http"
proxy_b=$pid

step "ann takes a lock through proxy A, and it is a row on the server."
session ann "$a"
ask ann "SELECT GET_LOCK('nightly', 10)"
answer ann 10 1
held

step "bob wants it too, and waits."
session bob "$a"
ask bob "SELECT GET_LOCK('nightly', 30)"
waits bob "$a_http"

step "ann releases it: bob has it."
from=$(now)
ask ann "SELECT RELEASE_LOCK('nightly')"
answer ann 10 1
answer bob 10 1
took "$from" 0 1000
say "  handed over in $ms ms"

step "bob's client is killed (kill -9): the lock is free, and carol takes it."
session carol "$a"
slay "${client[bob]}"
from=$(now)
ask carol "SELECT GET_LOCK('nightly', 10)"
answer carol 10 1
took "$from" 0 1000
say "  free and taken in $ms ms"

step "dave, at proxy B, waits for carol's lock. Then proxy A is killed (kill -9)."
held
before=$token
session dave "$b"
ask dave "SELECT GET_LOCK('nightly', 30)"
waits dave "$b_http"
slay "$proxy_a"
from=$(now)
answer dave 30 1
# Less than a lease by what had passed since the last renewal, at most; more by
# the margin for clocks that differ, and by ending A's sessions at the server.
took "$from" 2000 6000
say "  proxy A's lease ran out, and dave has the lock $ms ms after the kill, with a greater token:"
held
[ "$token" -gt "$before" ] || die "the token should have grown beyond $before"

step "What proxy B counted:"
metrics=$(http "$b_http" /metrics | grep -E '^lockstead_(takeovers_total|locks_held|lease_good|lease_age_seconds|lock_calls_total\{.*get_lock.*)' -i | grep -v '_calls_total.* 0$') ||
  die "no such metrics"
say "$metrics" | sed 's/^/  /'
grep -qx 'lockstead_takeovers_total 1' <<<"$metrics" || die "the takeover was not counted"

step "Proxy A is started again, with a lease of 30 s, and killed again, with erin's lock."
lease=30s start_proxy A "$a" "$a_http"
proxy_a=$pid
session erin "$a"
ask erin "SELECT GET_LOCK('report', 10)"
answer erin 15 1
slay "$proxy_a"
from=$(now)
lease=30s start_proxy A "$a" "$a_http"
proxy_a=$pid
session frank "$a"
ask frank "SELECT GET_LOCK('report', 30)"
answer frank 30 1
took "$from" 0 15000
say "  the restarted proxy knows that its predecessor is gone: frank has the lock $ms ms after the kill"
kill "$proxy_a"
wait "$proxy_a" || die "proxy A ended with status $?"

crowd=200
step "Proxy C shares connections (pooling = \"transaction\"), at most 4: $crowd clients log in through it, and each takes a lock."
sql -e "CREATE USER crowd@'127.0.0.%' IDENTIFIED BY 'crowd'; GRANT ALL ON app.* TO crowd@'127.0.0.%'"
[ "$flavour" = mysql ] || sql -e "GRANT SELECT ON performance_schema.session_connect_attrs TO lockstead@'127.0.0.%';
  GRANT SELECT ON mysql.global_priv TO lockstead@'127.0.0.%'"
sed 's/=app$/=crowd/; s/^database=.*/database=app/' "$tmp/app.cnf" >"$tmp/crowd.cnf"
c=$(free_port 0) c_http=$(free_port 0)
lease=30s start_proxy C "$c" "$c_http" --pooling transaction --pool-size 4 --idle-keep 100ms
proxy_c=$pid
from=$(now)
crowd_enters "$c" $crowd "$tmp/crowd.cnf"
crowd_asks "SELECT GET_LOCK('job %n', 10)"
crowd_answers 1
say "  in $(($(now) - from)) ms"

step "The server has at most 4 connections of theirs, and a held lock keeps none. All of them are killed at the server."
deadline=$((SECONDS + 20))
until [ "$(metric "$c_http" lockstead_pool_connections)" = "$(metric "$c_http" lockstead_pool_free_connections)" ]; do
  [ $SECONDS -lt $deadline ] || die "clients that do nothing should have given their connections back"
  sleep 0.1
done
mapfile -t ids < <(crowd_connections)
((${#ids[@]} >= 1 && ${#ids[@]} <= 4)) || die "the server should have 1 to 4 connections of the crowd, but has ${#ids[@]}"
[ "$(metric "$c_http" lockstead_sessions)" = "$crowd" ] || die "proxy C should have $crowd sessions"
say "  lockstead_sessions $crowd, lockstead_pool_connections ${#ids[@]}; KILL ${ids[*]}"
for id in "${ids[@]}"; do sql -e "KILL $id"; done
until ! crowd_connections | grep -qxF -f <(printf '%s\n' "${ids[@]}"); do
  [ $SECONDS -lt $deadline ] || die "the server has not ended the connections"
  sleep 0.1
done

step "All $crowd locks are still held, each by its client, and the clients go on."
rows=$(sql -N -e "SELECT COUNT(*) FROM lockstead.held_locks WHERE name LIKE 'job %'")
[ "$rows" = "$crowd" ] || die "lockstead.held_locks should have $crowd rows, but has $rows"
say "  lockstead.held_locks: $rows rows"
crowd_asks "SELECT CONNECTION_ID(), IS_USED_LOCK('job %m')"
for ((n = 0; n < crowd; n++)); do
  m=$(((n + 1) % crowd))
  holder=${said[m]%%$'\t'*}
  [ "${said[n]##*$'\t'}" = "$holder" ] || die "job $m should be held by $holder, but client $n got: ${said[n]}"
done
say "  each sees the holder of its neighbour's lock, such as ${said[0]##*$'\t'} of job 1"
ask dave "SELECT IS_USED_LOCK('job 1')"
answer dave 10 "${said[1]%%$'\t'*}"
crowd_asks "SELECT RELEASE_LOCK('job %n')"
crowd_answers 1
kill "$proxy_c"
wait "$proxy_c" || die "proxy C ended with status $?"

step "Proxy B is told to end (SIGTERM): it gives back the lock and its lease."
from=$(now)
kill "$proxy_b"
wait "$proxy_b" || die "proxy B ended with status $?"
took "$from" 0 5000
for table in proxies held_locks; do
  rows=$(sql -N -e "SELECT COUNT(*) FROM lockstead.$table")
  [ "$rows" = 0 ] || die "lockstead.$table should be empty, but has rows: $rows"
  say "  lockstead.$table: 0 rows"
done
say "  ended in $ms ms"

printf '\nAll as it should be.\n'

#!/usr/bin/env bash
# HAProxy and keepalived before Lockstead, with config/haproxy.cfg and config/keepalived.conf:
#
#   dev/test-balancers.sh [haproxy] [keepalived] [address]     (no argument: all)
#
# haproxy     two proxies before one private MySQL, behind a real HAProxy: clients' addresses
#             arrive, a lock taken through one proxy is seen through the other, and who is stopped,
#             killed or grants nothing is taken out
# keepalived  its configuration is judged by keepalived itself
# address     two keepalived in network namespaces, each beside an HTTP server that says what /readyz
#             says: the address moves to who is ready, and not back. Only root may make namespaces
#
# Missing programs of Debian are installed if this runs as root.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

# client PORT SQL: one statement from an address of its own, which is not one of the balancer's.
client() {
  "${CLIENT%% *}" --defaults-file="$tmp/app.cnf" -P "$1" --bind-address=127.0.0.5 -N -B -e "$2"
}

# holder PORT NAME: a session that takes a lock and keeps it. Returns when it has it, sets $pid.
holder() {
  local deadline=$((SECONDS + 20))
  group client "$1" "SELECT GET_LOCK('$2', 10); SELECT SLEEP(300)" >/dev/null 2>&1
  until [ -n "$(held "$2" owner)" ]; do
    [ $SECONDS -lt $deadline ] || die "no session got the lock $2"
    sleep 0.05
  done
}

# held NAME COLUMN
held() { sql -N -e "SELECT $2 FROM lockstead.held_locks WHERE name='$1'"; }

# state BACKEND SERVER: UP or DOWN, as HAProxy counts.
state() {
  http "$stats" '/;csv' | tr -d '\r' | awk -F, -v b="$1" -v s="$2" '$1 == b && $2 == s { print $18 }'
}

# until_state BACKEND SERVER STATE
until_state() {
  local deadline=$((SECONDS + 30)) now
  # HAProxy says "UP 1/2" while it is not yet sure.
  until now=$(state "$1" "$2") && [ "$now" = "$3" ]; do
    [ $SECONDS -lt $deadline ] || die "HAProxy says that $2 in $1 is '$now', not $3"
    sleep 0.1
  done
  say "  HAProxy: $2 in $1 is $3"
}

# start_haproxy: the configuration unchanged, but for addresses.
start_haproxy() {
  "$dev/install.sh" haproxy
  # The run-time wrappers of dev/install.sh.
  local haproxy=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}/bin/haproxy
  front=$(free_port 0) stats=$(free_port 0)
  # The checks of both proxies go to their own HTTP ports; files may be few here.
  sed -e "s/10\.0\.0\.10:3306/127.0.0.1:$front/" -e "s/127\.0\.0\.1:8404/127.0.0.1:$stats/" \
    -e "s/ check port 6080/ check/" -e "s/maxconn 20000/maxconn 1000/" \
    -e "s/10\.0\.0\.11:6033/127.0.0.1:$a port $a_http/" -e "s/10\.0\.0\.12:6033/127.0.0.1:$b port $b_http/" \
    config/haproxy.cfg >"$tmp/haproxy.cfg"
  ! grep -n '10\.0\.0\.' "$tmp/haproxy.cfg" || die 'addresses of config/haproxy.cfg were not replaced'
  "$haproxy" -c -f "$tmp/haproxy.cfg" >"$tmp/haproxy.check" 2>&1 || die "$(cat "$tmp/haproxy.check")"
  ! grep -i warning "$tmp/haproxy.check" || die 'config/haproxy.cfg has warnings'
  group "$haproxy" -db -f "$tmp/haproxy.cfg" >"$tmp/haproxy.log" 2>&1
  until http "$stats" / | grep -q '200 OK'; do
    kill -0 "$pid" 2>/dev/null || die "HAProxy ended: $(cat "$tmp/haproxy.log")"
    sleep 0.05
  done
}

test_haproxy() {
  local proxy_b name port
  start_server mysql
  a=$(free_port 0) a_http=$(free_port 0) b=$(free_port 0) b_http=$(free_port 0)
  # Tables that name another server are to stop the grants; by default a new epoch would begin.
  start_proxy A "$a" "$a_http" --proxy-protocol 127.0.0.1 --on-failover adopt
  start_proxy B "$b" "$b_http" --proxy-protocol 127.0.0.1 --on-failover adopt
  proxy_b=$pid
  start_haproxy
  for name in lockstead1 lockstead2; do until_state lockstead "$name" UP; done

  say 'a lock is one lock through both proxies, and its owner the client, not the balancer'
  holder "$front" one
  [ "$(held one owner)" = app@127.0.0.5 ] || die "the owner should be app@127.0.0.5, but is $(held one owner)"
  for port in "$front" "$a" "$b"; do
    [ "$(client "$port" "SELECT GET_LOCK('one', 0), IS_USED_LOCK('one')")" = $'0\t'"$(held one connection_id)" ] ||
      die "the lock should be held, seen through port $port"
  done
  end "$pid"
  [[ $(client "$front" "SHOW STATUS LIKE 'Ssl_cipher'") == Ssl_cipher$'\t'?* ]] || die 'the TLS of a client did not arrive'

  say 'a stopped proxy is taken out, and comes back'
  kill -STOP "$proxy_b"
  until_state lockstead lockstead2 DOWN
  [ "$(client "$front" "SELECT GET_LOCK('still', 10)")" = 1 ] || die 'no lock through the other proxy'
  kill -CONT "$proxy_b"
  until_state lockstead lockstead2 UP

  say 'while no proxy grants locks, statements without them go through'
  sql -e 'CREATE TABLE app.ident AS SELECT ident FROM lockstead.meta; UPDATE lockstead.meta SET ident = "another"'
  for name in lockstead1 lockstead2; do until_state lockstead "$name" DOWN; done
  http "$a_http" /readyz | grep -q '503' || die "proxy A should not be ready"
  [ "$(client "$front" 'SELECT 2')" = 2 ] || die 'a statement without locks should go through'
  sql -e 'UPDATE lockstead.meta SET ident = (SELECT ident FROM app.ident)'
  for name in lockstead1 lockstead2; do until_state lockstead "$name" UP; done

  say 'a proxy that is killed turns no client away, is taken out, and its lock passes on'
  holder "$b" gone
  disown "$proxy_b"
  kill -KILL "$proxy_b"
  # Before a check has noticed, too.
  for name in 1 2 3; do [ "$(client "$front" "SELECT $name")" = "$name" ] || die 'a client was turned away'; done
  until_state lockstead lockstead2 DOWN
  [ "$(client "$front" "SELECT GET_LOCK('gone', 30)")" = 1 ] || die 'the lock of the killed proxy did not pass on'
}

test_keepalived() {
  local keepalived
  need keepalived keepalived
  need curl curl
  keepalived=$(command -v keepalived)
  [ -x /usr/bin/curl ] || die 'config/keepalived.conf calls /usr/bin/curl: install curl'
  # Version 2.2 ends itself by SIGTERM at the end of a test if scripts have another user than root.
  sed 's/script_user nobody/script_user root/' config/keepalived.conf >"$tmp/better.conf"
  verdict() { "$keepalived" --log-console --config-test --use-file="$1" >"$tmp/keepalived" 2>&1; }
  verdict "$tmp/better.conf" || die "keepalived refuses config/keepalived.conf: $(cat "$tmp/keepalived")"
  sed 's/track_script {/track_skript {/' "$tmp/better.conf" >"$tmp/worse.conf"
  ! verdict "$tmp/worse.conf" || die 'keepalived takes everything: its verdict proves nothing'
  say 'keepalived takes config/keepalived.conf'
}

# An HTTP server at 127.0.0.1:6080 that is ready while a file is there.
readiness='
import http.server, os, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" and os.path.exists(sys.argv[1]) else 503)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 6080), Page).serve_forever()'

inside() { ip netns exec "lockstead$$-$1" "${@:2}"; }

# network: two namespaces, linked.
network() {
  local n
  for n in 1 2; do ip netns add "lockstead$$-$n"; done
  ip link add "v$$-1" netns "lockstead$$-1" type veth peer name "v$$-2" netns "lockstead$$-2"
  for n in 1 2; do
    inside "$n" ip link set lo up
    inside "$n" ip addr add "10.0.0.1$n/24" dev "v$$-$n"
    inside "$n" ip link set "v$$-$n" up
  done
}

# machine NUMBER: the HTTP server and keepalived.
machine() {
  touch "$tmp/ready$1"
  group inside "$1" python3 -c "$readiness" "$tmp/ready$1" 2>"$tmp/readiness$1.log"
  sed "s/eth0/v$$-$1/" config/keepalived.conf >"$tmp/keepalived$1.conf"
  group inside "$1" keepalived --dont-fork --log-console --pid="$tmp/pid$1" --vrrp_pid="$tmp/vrrp$1" \
    --use-file="$tmp/keepalived$1.conf" >"$tmp/keepalived$1.log" 2>&1
}

# address_at NUMBER: waits until the address is there, and nowhere else.
address_at() {
  local deadline=$((SECONDS + 30)) now n
  while :; do
    now=
    for n in 1 2; do ! inside "$n" ip -4 addr show | grep -q ' 10\.0\.0\.10/' || now+=$n; done
    [ "$now" != "$1" ] || break
    [ $SECONDS -lt $deadline ] || die "the address should be at machine $1, but is at '$now'"
    sleep 0.1
  done
  say "  the address is at machine $1"
}

# stays_at NUMBER: through several checks and adverts.
stays_at() {
  sleep 6
  address_at "$1"
}

test_address() {
  [ "$(id -u)" -eq 0 ] || die 'address: only root may make network namespaces'
  need ip iproute2
  need keepalived keepalived
  need curl curl
  need python3 python3
  trap 'status=$?; set +e; end_namespaces; (exit "$status"); leave' EXIT
  network
  machine 1
  address_at 1
  machine 2
  stays_at 1
  say 'the machine with the address is not ready'
  rm "$tmp/ready1"
  address_at 2
  say 'it is ready again'
  touch "$tmp/ready1"
  stays_at 2
  say 'none is ready'
  rm "$tmp/ready1" "$tmp/ready2"
  stays_at 2
  say 'the first one is ready'
  touch "$tmp/ready1"
  address_at 1
}

end_namespaces() {
  local n
  for ((n = ${#groups[@]} - 1; n >= 0; n--)); do end "${groups[n]}"; done
  for n in 1 2; do ip netns del "lockstead$$-$n" 2>/dev/null || true; done
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(haproxy keepalived address)
for part in "${parts[@]}"; do
  case $part in
    haproxy | keepalived | address) "test_$part" ;;
    *) die "unknown part '$part'; take haproxy, keepalived, address" ;;
  esac
done
say 'All as it should be.'

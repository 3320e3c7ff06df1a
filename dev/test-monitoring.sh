#!/usr/bin/env bash
# What a DBA deploys to watch Lockstead, with a real Prometheus:
#
#   dev/test-monitoring.sh [mysql|mariadb]
#
# Metrics follow Prometheus' conventions and are all in docs/monitoring.md; alerts pass their tests;
# dashboards fit Grafana's types; every query has data while clients contend for locks at two proxies (and a
# third one observes); then the server fails, and the alerts go off. LOCKSTEAD_BIN is a proxy that is
# built already.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

grafana=13.2.3 typescript=5.9.3 # of the packages that dashboards are checked with
cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
tests=$root/tests/monitoring

need python3 python3
need node nodejs
need npm npm

# --- what needs nothing that runs ---------------------------------------------------

say "Alerts, by their own tests:"
"$dev/install.sh" prometheus
promtool=$cache/bin/promtool
"$promtool" check config config/prometheus.yml
"$promtool" test rules config/alerts_test.yml

say "Dashboards, by the script that writes them and by Grafana's types:"
grafana/generate.py --check
types=$cache/grafana-schema-$grafana-$typescript
if [ ! -e "$types/.ready" ]; then
  npm install --silent --no-audit --no-fund --prefix "$types" "@grafana/schema@$grafana" "typescript@$typescript"
  touch "$types/.ready"
fi
mkdir "$tmp/types"
ln -s "$types/node_modules" "$tmp/types/node_modules"
cp "$tests/dashboard.ts" "$tmp/types/"
for board in grafana/dashboards/*.json; do
  {
    echo "import type { Checked } from './dashboard';"
    echo 'export const checked: Checked ='
    cat "$board"
  } >"$tmp/types/$(basename "$board" .json).ts"
done
(cd "$tmp/types" && node node_modules/typescript/bin/tsc --noEmit --strict --skipLibCheck \
  --target es2022 --module esnext --moduleResolution bundler ./*.ts)
say "  $(find grafana/dashboards -name '*.json' | wc -l) fit"

# --- proxies under load --------------------------------------------------------------

start_server "${1:-mysql}"
lease=9s # a busy machine is not to put it into jeopardy
# A and B keep locks, B in a cluster with a name that lists another server, which does not answer; C observes. A has a certificate, which has metrics.
a=$(free_port 0) a_http=$(free_port 0)
start_proxy A "$a" "$a_http" --metrics-locks 'hot,kept,cold*' \
  --tls-cert "$tmp/server/tls/server-cert.pem" --tls-key "$tmp/server/tls/server-key.pem"
b=$(free_port 0) b_http=$(free_port 0) b_replica=$(free_port 0)
cat >"$tmp/b.toml" <<TOML
http = "127.0.0.1:$b_http"
metrics_locks = ["hot", "cold*"]
[[cluster]]
name = "shop"
mode = "durable"
lease = "$lease"
state_dir = "$tmp/state-B"
backend = ["127.0.0.1:$PORT", "127.0.0.1:1"]
store = "mysql://lockstead:secret@/lockstead"
[[listener]]
cluster = "shop"
listen = "127.0.0.1:$b"
[[listener]]
cluster = "shop"
listen = "127.0.0.1:$b_replica"
role = "replica"
TOML
group "$bin" serve --config "$tmp/b.toml" >>"$tmp/proxy-B.log" 2>&1
c=$(free_port 0) c_http=$(free_port 0)
start_proxy C "$c" "$c_http" --mode observe
proxy_c=$pid
deadline=$((SECONDS + 20))
until http "$b_http" /readyz | grep -q '^HTTP/1.. 200'; do
  [ $SECONDS -lt $deadline ] || die "proxy B grants no locks after 20 s"
  sleep 0.1
done

prometheus=$(free_port 0)
sed -e 's/: 15s/: 1s/' -e "s|alerts.yml|$root/config/alerts.yml|" \
  -e "s/- 127.0.0.1:6080/[127.0.0.1:$a_http, 127.0.0.1:$b_http, 127.0.0.1:$c_http]/" \
  config/prometheus.yml >"$tmp/prometheus.yml"
"$promtool" check config "$tmp/prometheus.yml" >/dev/null
group "$cache/bin/prometheus" --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/prometheus" \
  --web.listen-address="127.0.0.1:$prometheus" >"$tmp/prometheus.log" 2>&1

# locks: what a client does, for ever; the pipe holds it back.
locks() {
  while :; do
    echo "SELECT GET_LOCK('hot', 5); SELECT SLEEP(0.02); SELECT IS_USED_LOCK('hot'); SELECT RELEASE_LOCK('hot');"
    echo "SELECT GET_LOCK('cold$RANDOM', 0); SELECT RELEASE_ALL_LOCKS();"
  done
}
# client PORT
client() {
  # shellcheck disable=SC2086
  locks | ${CLIENT%% *} --defaults-file="$tmp/app.cnf" -P "$1" -n >/dev/null
}
for port in "$a" "$a" "$b" "$b" "$c" "$c"; do group client "$port" 2>>"$tmp/clients.log"; done
# Holds its lock for as long as this lasts.
group "${CLIENT%% *}" --defaults-file="$tmp/app.cnf" -P "$a" \
  -e "SELECT GET_LOCK('kept', 1); SELECT SLEEP(600)" >/dev/null 2>&1
say "Two clients at each of three proxies, and Prometheus; their metrics:"
# Locks have series of their own from their first grant on, some from their release.
for port in "$a_http" "$b_http"; do
  deadline=$((SECONDS + 30))
  until http "$port" /metrics | grep '^lockstead_named_lock_hold_seconds_total' >/dev/null; do
    [ $SECONDS -lt $deadline ] || die "no lock was released after 30 s"
    sleep 0.1
  done
done
pages=()
for port in "$a_http" "$b_http" "$c_http"; do
  http "$port" /metrics | sed '1,/^\r*$/d' >"$tmp/metrics-$port"
  "$promtool" check metrics <"$tmp/metrics-$port"
  pages+=("$tmp/metrics-$port")
done
"$tests/structure.py" "${pages[@]}"
say "  follow the conventions, and are what docs/monitoring.md names"
"$tests/queries.py" "127.0.0.1:$prometheus" load

# --- a fault ---------------------------------------------------------------------------

say "The server hangs until leases run out, then it is killed, and the proxy that observes:"
# Sessions of a server that dies end with it; those of one that hangs are fenced.
kill -STOP "$PID"
deadline=$((SECONDS + 30))
until [ "$(metric "$a_http" lockstead_fenced_sessions_total)" -gt 0 ]; do
  [ $SECONDS -lt $deadline ] || die "no session is fenced after 30 s"
  sleep 0.2
done
"$dev/server.sh" kill "$tmp/server"
disown "$proxy_c" # or bash would report it
kill -KILL "$proxy_c"
for _ in 1 2 3; do
  "${CLIENT%% *}" --defaults-file="$tmp/app.cnf" -P "$a" -e 'SELECT 1' >/dev/null 2>&1 || true
  sleep 1
done
"$tests/queries.py" "127.0.0.1:$prometheus" fault
say "All as it should be, in $SECONDS s."

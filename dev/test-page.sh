#!/usr/bin/env bash
# The status page in a real Chromium, at proxies under load, and in faults:
#
#   dev/test-page.sh [mysql|mariadb] [pictures]
#
# Pictures of it are left in target/page. With `pictures` nothing is tested, but those in docs/page are
# written again, of two proxies at work; docs/monitoring.md shows them. LOCKSTEAD_BIN is a proxy that is
# built already.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/browser.sh
. "$dev/browser.sh"

case ${2:-} in
  '') wish_a=0 wish_b=0 ;;
  pictures) wish_a=6033 wish_b=6034 ;; # as in the documents
  *) die "unknown word '$2'; take pictures" ;;
esac
need_browser
start_server "${1:-mysql}"
lease=9s # a busy machine is not to put it into jeopardy
a=$(free_port "$wish_a") a_http=$(free_port 0)
start_proxy A "$a" "$a_http"
pid_a=$pid
disown "$pid_a" # it is killed, and bash would report that
b=$(free_port "$wish_b") b_http=$(free_port 0)
start_proxy B "$b" "$b_http"

if [ "${2:-}" = pictures ]; then
  for who in orders billing; do
    echo "CREATE USER $who@'127.0.0.%' IDENTIFIED BY 'app'; GRANT ALL ON app.* TO $who@'127.0.0.%';"
  done | sql
  say "Pictures of the status page, before a private ${1:-mysql}:"
  A_PORT=$a A_HTTP=$a_http B_PORT=$b DOCS=$root/docs "$browser_python" tests/page/documented.py
  say "They are written, in $SECONDS s."
  exit
fi

# C has two clusters, one of which observes.
c=$(free_port 0) d=$(free_port 0) c_http=$(free_port 0)
cat >"$tmp/c.toml" <<TOML
http = "127.0.0.1:$c_http"
admin = "off"
[[cluster]]
name = "shop"
mode = "durable"
lease = "$lease"
state_dir = "$tmp/state-C"
backend = "127.0.0.1:$PORT"
store = "mysql://lockstead:secret@127.0.0.1:$PORT/lockstead"
[[cluster]]
name = "watched"
mode = "observe"
state_dir = "$tmp/state-D"
backend = "127.0.0.1:$PORT"
[[listener]]
cluster = "shop"
listen = "127.0.0.1:$c"
[[listener]]
cluster = "watched"
listen = "127.0.0.1:$d"
TOML
group "$bin" serve --config "$tmp/c.toml" >>"$tmp/proxy-C.log" 2>&1
deadline=$((SECONDS + 30))
until http "$c_http" /readyz | grep -q '^HTTP/1.. 200'; do
  kill -0 "$pid" 2>/dev/null || die "proxy C ended while starting"
  [ $SECONDS -lt $deadline ] || die "proxy C is not ready after 30 s"
  sleep 0.1
done

say "The status page, before a private ${1:-mysql}:"
mkdir -p target/page
FLAVOUR=${1:-mysql} A_PORT=$a A_HTTP=$a_http A_PID=$pid_a A_ADMIN=unix:$tmp/state-A/admin.sock B_PORT=$b B_HTTP=$b_http C_PORT=$c \
  C_HTTP=$c_http BACKEND=127.0.0.1:$PORT SERVER=$dev/server.sh SERVER_DIR=$tmp/server LOCKSTEAD=$bin \
  PICTURES=$root/target/page "$browser_python" tests/page/main.py
say "All as it should be, in $SECONDS s; pictures are in target/page."

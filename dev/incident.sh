#!/usr/bin/env bash
# Plays an incident before a private server with two proxies, and writes what people saw of it, step by
# step, into docs/incident.md and docs/incident/*.png. Each step is checked.
#
#   dev/incident.sh [mysql|mariadb]
#
# LOCKSTEAD_BIN is a proxy that is built already.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/browser.sh
. "$dev/browser.sh"

need_browser
need curl curl
start_server "${1:-mysql}"
for who in orders billing; do
  echo "CREATE USER $who@'127.0.0.%' IDENTIFIED BY 'app'; GRANT ALL ON app.* TO $who@'127.0.0.%';"
done | sql
# A lease that is shorter than usual, so that the story is.
lease=12s
a=$(free_port 6033) a_http=$(free_port 6080)
start_proxy A "$a" "$a_http"
pid_a=$pid
b=$(free_port 6034) b_http=$(free_port 6081)
start_proxy B "$b" "$b_http"
pid_b=$pid

mkdir "$tmp/programs"
ln -s "$(realpath "$bin")" "$tmp/programs/lockstead"
ln -s "${CLIENT%% *}" "$tmp/programs/mysql"
say "An incident, before a private ${1:-mysql}:"
PATH=$tmp/programs:$PATH PYTHONPATH=$root/tests/page A_PORT=$a A_HTTP=$a_http A_STATE=$tmp/state-A A_LOG=$tmp/proxy-A.log \
  A_PID=$pid_a B_PORT=$b B_HTTP=$b_http B_STATE=$tmp/state-B B_LOG=$tmp/proxy-B.log B_PID=$pid_b \
  SERVER_VERSION=$(sql -N -e 'SELECT VERSION()') LEASE=${lease%s} DOCS=$root/docs "$browser_python" dev/incident/story.py
say "docs/incident.md is written, in $SECONDS s."

#!/usr/bin/env bash
# Measures Lockstead beside HAProxy, MySQL Router and the server itself:
#
#   dev/bench.sh [--flavour mysql|mariadb|both] [--rounds N] [--seconds S] [--quick]
#                [points|tls|idle|locks|hot|handover|cost|windows|all]...
#
#   points    sysbench's point selects (text protocol) at 1, 16, 64 and 256 threads:
#             queries a second, and the proxy's processor time for a query
#   tls       the same with TLS up to the proxy and none behind it. HAProxy cannot end
#             TLS inside MySQL's protocol: it gets a tunnel, made by another one, and
#             only the processor time of the one that ends it is compared
#   idle      memory of a proxy for an idle session, with 5,000 of them; statements
#             that an idle proxy sends, without locks and with 10,000 held, and
#             the time of a lease renewal
#   locks     pairs of lock and unlock, each client its own name, with 1, 64 and
#             1,024 clients: the server's own GET_LOCK, the same through HAProxy, a
#             row inserted and deleted ("plain"), and GET_LOCK through Lockstead
#   hot       one name that 16 clients want
#   handover  a lock that a client of one proxy releases and a client of another
#             one waits for
#   cost      statements, writes and bytes of binary log for a pair, at the server
#   windows   times of the status page, its status and /metrics with 2,000 sessions, 1,000 held
#             locks and 500 waits; lock pairs of 16 clients while five browsers look, and alone
#
# All variants of a measurement take turns (A B C A B C ...), so what else goes on
# in the machine hits them alike. The figures are medians of N rounds (5), in points
# and locks of up to 7 when the quartiles do not decide about a target. --quick is a
# smoke test: its figures mean little. Results: tables with the targets, and everything
# in bench-results/DATE.json. TLS is off everywhere else; the servers sync at every commit.
# docs/performance.md explains the figures. LOCKSTEAD_BENCH_DIR is where the servers'
# data goes (/var/tmp), LOCKSTEAD_BENCH_PROFILE the cargo profile (release).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
profile=${LOCKSTEAD_BENCH_PROFILE:-release}

# Equal for all proxies.
threads=2
thread_counts=(1 16 64 256)
sessions=5000
crowd=1024
holders=100
locks_each=100
idle_seconds=20
handovers=60
most_rounds=7
audience=(--clients 1000 --locks 1 --waiters 500 --beside 484)
window_rounds=10
looks=300

say() { printf 'bench: %s\n' "$*" >&2; }
die() { printf 'bench: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }

# --- what to do ---------------------------------------------------------------

all=(points tls idle locks hot handover cost windows)
flavours=(mysql mariadb)
rounds=5
seconds=5
sections=()
while [ $# -gt 0 ]; do
  case $1 in
  --flavour)
    case ${2:-} in
    mysql | mariadb) flavours=("$2") ;;
    both) ;;
    *) usage ;;
    esac
    shift
    ;;
  --rounds | --seconds)
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage
    if [ "$1" = --rounds ]; then rounds=$2; else seconds=$2; fi
    shift
    ;;
  --quick)
    rounds=1 seconds=1 most_rounds=1 sessions=500 crowd=256 holders=20 idle_seconds=5 handovers=5
    audience=(--clients 100 --locks 1 --waiters 50 --beside 34) window_rounds=2 looks=20
    ;;
  points | tls | idle | locks | hot | handover | cost | windows) sections+=("$1") ;;
  all) sections+=("${all[@]}") ;;
  *) usage ;;
  esac
  shift
done
[ ${#sections[@]} -gt 0 ] || sections=("${all[@]}")
[ "$most_rounds" -ge "$rounds" ] || most_rounds=$rounds

wants() { [[ " ${sections[*]} " = *" $1 "* ]]; }
has_flavour() { [[ " ${flavours[*]} " = *" $1 "* ]]; }

# Sessions need two files each in a proxy, and one in the server.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
files=$(ulimit -n)
# needs_files SECTION FILES
needs_files() {
  if wants "$1" && [ "$files" != unlimited ] && [ "$files" -lt "$2" ]; then
    die "$1 needs $2 open files in a process, the limit is $files: raise it (ulimit -Hn), or leave $1 out"
  fi
}
needs_files idle $((sessions * 2 + 1000))
needs_files locks $((crowd * 2 + 1000))
needs_files windows 6000

# --- programs -----------------------------------------------------------------

needed=("${flavours[@]}" haproxy)
if wants points || wants tls; then
  needed+=(sysbench)
  ! has_flavour mysql || needed+=(router)
fi
dev/install.sh "${needed[@]}" >&2

say "building"
build=$(cargo build --profile "$profile" --bin lockstead --bench lockpairs --message-format=json)
built() { sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' <<<"$build" | grep -E "/$1(-[0-9a-f]+)?\$" | tail -n 1; }
lockstead=$(built lockstead)
lockpairs=$(built lockpairs)

# Not in /tmp, which may be memory: then a commit would cost nothing.
work=$(mktemp -d "${LOCKSTEAD_BENCH_DIR:-/var/tmp}/lockstead-bench.XXXXXX")
samples=$work/samples
: >"$samples"
declare -A proxy_pid=() proxy_port=() proxy_http=()

finish() {
  local status=$? pid
  trap - EXIT
  trap '' HUP INT TERM
  for pid in ${proxy_pid[@]+"${proxy_pid[@]}"}; do kill "$pid" 2>/dev/null || true; done
  # Idle sessions end with their input.
  exec 7>&-
  wait
  local dir
  for dir in "$work"/server-*; do
    [ ! -d "$dir" ] || dev/server.sh stop "$dir" || true
  done
  if [ "$status" -ne 0 ]; then
    tail -n 5 "$work"/*.log >&2 2>/dev/null || true
  fi
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck source=dev/bench/setup.sh
. dev/bench/setup.sh
# shellcheck source=dev/bench/measure.sh
. dev/bench/measure.sh
# shellcheck source=dev/bench/points.sh
. dev/bench/points.sh
# shellcheck source=dev/bench/idle.sh
. dev/bench/idle.sh
# shellcheck source=dev/bench/locks.sh
. dev/bench/locks.sh
# shellcheck source=dev/bench/handover.sh
. dev/bench/handover.sh
# shellcheck source=dev/bench/cost.sh
. dev/bench/cost.sh
# shellcheck source=dev/bench/windows.sh
. dev/bench/windows.sh
# shellcheck source=dev/bench/report.sh
. dev/bench/report.sh

load=$(cut -d ' ' -f 1 /proc/loadavg)
if awk -v load="$load" 'BEGIN { exit !(load > 0.5) }'; then
  say "the machine is not idle (load $load): the figures will be less certain"
fi
for flavour in "${flavours[@]}"; do
  start_server "$flavour"
  for section in "${all[@]}"; do
    ! wants "$section" || "measure_$section" "$flavour"
  done
  stop_server "$flavour"
done

printf 'threads of each proxy: %d (HAProxy nbthread, Router io threads, lockstead --workers)\n' "$threads"
printf 'processors of the machine, shared by load, proxy and server: %d\n' "$(nproc)"
report
write_json "$load"

#!/usr/bin/env bash
# Large test suites that nobody here wrote, at a server and through the proxy before a
# server like it, case by case:
#
#   dev/test-suites.sh [PATTERN...]       e.g. dev/test-suites.sh 'go/mysql/*' '*/tls/*'
#
# Without a pattern, all but the suite sql, which takes an hour by itself ('*' is all).
# A case is SUITE/FLAVOUR/WAY/NAME; WAY is plain, tls (on the client's side), zip or ps. The suites
# are in tests/suites/, one a file; what they run is fetched into
# ${LOCKSTEAD_CACHE:-~/.cache/lockstead}/suites. A case whose masked output or status is
# not the same on both sides is run again, both sides; if then none of the outcomes
# through the proxy was seen at the server, the two differ. tests/suites/known.txt names
# those that may. Exits with 1 for any other. LOCKSTEAD_BIN is a proxy that is built
# already, SUITES_OUT a folder for the outputs, SUITES_TRIES how often a case is run.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/suites/client.sh
. tests/suites/client.sh
# shellcheck source=tests/suites/go.sh
. tests/suites/go.sh
# shellcheck source=tests/suites/rust.sh
. tests/suites/rust.sh
# shellcheck source=tests/suites/sql.sh
. tests/suites/sql.sh

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
mkdir -p "$cache/suites" "${SUITES_OUT:=$tmp/out}"
cache=$(cd "$cache" && pwd -P)
out=$(cd "$SUITES_OUT" && pwd -P)
tries=${SUITES_TRIES:-5}
patterns=("$@")
[ $# -gt 0 ] || patterns=('client/*' 'go/*' 'rust/*')

# --- which -------------------------------------------------------------------------

# wanted NAME: by the patterns. With a second word, whether anything in it can be.
wanted() {
  local pattern part
  for pattern in "${patterns[@]}"; do
    if [ $# -gt 1 ]; then
      # A star at the end stands for all that is left.
      part=$(cut -d/ -f-3 <<<"$pattern")
      [[ $pattern != */*/* ]] || pattern=$part
      # shellcheck disable=SC2053 # it is a pattern
      [[ $1 = $pattern || $1/ = $pattern ]] && return
    else
      # shellcheck disable=SC2053
      [[ $1 = $pattern ]] && return
    fi
  done
  return 1
}

# known NAME: sets $whose and $reason, from known.txt, which says what they mean.
known() {
  local pattern
  while read -r pattern whose reason; do
    case $pattern in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2053
    [[ $1 != $pattern ]] || return 0
  done <tests/suites/known.txt
  return 1
}

# --- one case ------------------------------------------------------------------------

declare -A port # of each side, and of each side's server
declare -A client_of # the administrator's

# within PROGRAM...: for a minute at most.
within() { timeout --kill-after=5 60 "$@"; }

# side SUITE FLAVOUR WAY NAME SIDE FILE: the case's masked output and status in FILE.
side() {
  local suite=$1 side=$5 file=$6 status=0
  shift
  rm -rf "$tmp/work-$side" # of the case before
  mkdir -p "$tmp/work-$side"/{log,tmp}
  (
    cd "$tmp/work-$side"
    ulimit -c 0
    "${suite}_run" "$1" "$2" "$3" "$side"
  ) >"$file.raw" 2>&1 </dev/null || status=$?
  # The suite says so, or timeout does.
  [ "$status" -ne 125 ] || die "no case can be run any more at the side '$side': $(tail -n 1 "$file.raw")"
  printf 'status %s\n' "$status" >>"$file.raw"
  "${suite}_mask" <"$file.raw" |
    sed -E -e "s/\\b(${port[$side]}|${port[server-$side]})\\b/PORT/g" -e "s,$tmp/[a-z]+-$side,DIR,g" >"$file"
}

# judge SUITE FLAVOUR WAY NAME: sets $verdict: passed, failed (alike), unsteady or
# differs.
judge() {
  local file=$out/$1/$2/$3/${4//[^a-zA-Z0-9_.-]/_} try one other
  mkdir -p "${file%/*}"
  rm -f "$file".*
  for ((try = 1; try <= tries; try++)); do
    side "$@" direct "$file.direct.$try" &
    side "$@" proxied "$file.proxied.$try" || die "the case could not be run"
    wait $! || die "the case could not be run"
    for one in "$file".direct.?; do
      for other in "$file".proxied.?; do
        cmp -s "$one" "$other" || continue
        verdict=unsteady
        [ "$try" -gt 1 ] || verdict=failed
        grep -qx 'status 0' "$one" && [ "$try" -eq 1 ] && verdict=passed
        [ "$verdict" = unsteady ] || rm -f "$file".*.raw
        return 0
      done
    done
  done
  verdict=differs
}

# same_end FILE: were there outcomes with the same status?
same_end() {
  local ends
  ends=$(comm -12 <(tail -qn 1 "$1".direct.? | sort -u) <(tail -qn 1 "$1".proxied.? | sort -u))
  [ -n "$ends" ]
}

# --- one run: a suite, a flavour, a way ----------------------------------------------

# servers FLAVOUR SUITE: two alike, and a proxy before one of them.
servers() {
  local side options
  ended
  read -r -d '' -a options < <("$2_options" "$1") || true
  for side in direct proxied; do
    "$dev/server.sh" start "$1" "$tmp/server-$side" ${options[@]+"${options[@]}"} --sync-binlog=0 --innodb-flush-log-at-trx-commit=0
    # shellcheck disable=SC1090
    . "$tmp/server-$side/server.env"
    port[$side]=$PORT port[server-$side]=$PORT client_of[$side]=$CLIENT
    # shellcheck disable=SC2153 # of server.env
    accounts "$FLAVOUR" | sql --batch
    sql -e 'CREATE DATABASE test'
    # What the proxy would make, to have it on both sides.
    "$bin" schema install --backend "127.0.0.1:$PORT" --store "mysql://lockstead:secret@127.0.0.1:$PORT/lockstead" >/dev/null
    "$2_prepare" "$1" "$tmp/server-$side"
  done
  port[proxied]=$(free_port 0)
  start_proxy suites "${port[proxied]}" "$(free_port 0)" "${tls[@]}"
  proxy=$pid
}

# ended: what servers started.
proxy=
ended() {
  [ -n "$proxy" ] || return 0
  end "$proxy"
  proxy=
  local side
  for side in direct proxied; do
    "$dev/server.sh" kill "$tmp/server-$side"
    rm -rf "$tmp/server-$side"
  done
  rm -rf "$tmp/state-suites"
}

declare -A count
differing=()

# run SUITE FLAVOUR WAY
run() {
  local names name whose reason verdict file line cases=0
  mapfile -t names < <("$1_cases" "$2" "$3" | sort -u)
  count=([passed]=0 [failed]=0 [unsteady]=0 [known]=0 [differs]=0)
  for name in "${names[@]}"; do
    wanted "$1/$2/$3/$name" || continue
    cases=$((cases + 1))
    judge "$1" "$2" "$3" "$name"
    case $verdict in
    unsteady) say "  unsteady: $name" ;;
    differs)
      file=$out/$1/$2/$3/${name//[^a-zA-Z0-9_.-]/_}
      if known "$1/$2/$3/$name" && { [ "$whose" != output ] || same_end "$file"; }; then
        verdict=known
        say "  known: $name ($whose: $reason)"
      else
        say "  differs: $name"
        diff "$file.direct.1" "$file.proxied.1" | head -n "${SUITES_LINES:-20}" | cut -c -200 | sed 's/^/    /' || true
        differing+=("$1/$2/$3/$name")
      fi
      ;;
    *) ! known "$1/$2/$3/$name" || [[ $reason = *sometimes* ]] || say "  known.txt names it, but it does not differ: $name" ;;
    esac
    count[$verdict]=$((count[$verdict] + 1))
  done
  printf -v line '%-8s %-11s %-6s %6d %8d %8d %9d %7d %8d' "$1" "$2" "$3" "$cases" \
    "${count[passed]}" "${count[failed]}" "${count[unsteady]}" "${count[known]}" "${count[differs]}"
  summary+=("$line")
  say "$line"
}

bin=${LOCKSTEAD_BIN:-}
if [ -z "$bin" ]; then
  cargo build --release --bin lockstead
  # shellcheck disable=SC2031 # suites set it for themselves alone
  bin=${CARGO_TARGET_DIR:-target}/release/lockstead
fi
tls=()
if "$bin" serve --help | grep -q -e '--tls-cert '; then
  "$dev/certificates.sh" "$tmp/tls"
  tls=(--tls-cert "$tmp/tls/server-cert.pem" --tls-key "$tmp/tls/server-key.pem")
else
  say 'This proxy does not know --tls-cert: the way tls is left out.'
fi

printf -v head '%-8s %-11s %-6s %6s %8s %8s %9s %7s %8s' suite flavour way cases passed failed unsteady known differs
summary=()
for suite in client go rust sql; do
  now=
  mapfile -t ways < <("${suite}_ways")
  for flavour_way in "${ways[@]}"; do
    read -r flavour way <<<"$flavour_way"
    [ "$way" != tls ] || [ ${#tls[@]} -gt 0 ] || continue
    wanted "$suite/$flavour/$way" any || continue
    if [ "$now" != "$flavour" ]; then
      now=$flavour
      "${suite}_fetch" "$flavour"
      servers "$flavour" "$suite"
    fi
    say "$suite/$flavour/$way"
    run "$suite" "$flavour" "$way"
  done
done
ended

[ ${#summary[@]} -gt 0 ] || die "no suite has cases like these"
printf '\n%s\n' "$head"
printf '%s\n' "${summary[@]}"
[ ${#differing[@]} -eq 0 ] || die "${#differing[@]} differ: ${differing[*]}"
say 'All alike but for what is known.'

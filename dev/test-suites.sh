#!/usr/bin/env bash
# Large test suites that nobody here wrote, at a server and through the proxy before a
# server like it, case by case:
#
#   dev/test-suites.sh [PATTERN...]       e.g. dev/test-suites.sh 'go/mysql/*' '*/tls/*'
#
# Without a pattern, all but the suite sql, which takes an hour by itself ('*' is all).
# A case is SUITE/FLAVOUR/WAY/NAME; WAY is plain, tls (on the client's side), zip or ps. Of a proxy in mode coexist, it
# is WAY+coexist; of one whose sessions share their connections, WAY+pooled: 'php/*+pooled/*'. A proxy that is built
# for tests then takes its connection from a session whenever it may. The suites
# are in tests/suites/, one a file; what they run is fetched into
# ${LOCKSTEAD_CACHE:-~/.cache/lockstead}/suites. A case whose masked output or status is
# not the same on both sides is run again, both sides; if then none of the outcomes
# through the proxy was seen at the server, the two differ. tests/suites/known.txt names
# those that may. Exits with 1 for any other; and for what would be alike without having
# been tested: a program, a server or the proxy that is not there, or most cases of a run
# failing on both sides. LOCKSTEAD_BIN is a proxy that is built already, SUITES_OUT a
# folder for the outputs, SUITES_TRIES how often a case is run, SUITES_SECONDS how long a
# file of the suite sql may take (60; a busy machine needs more), SUITES_MEMORY how many
# MiB a process may have: servers beyond it are started again, the proxy must not reach it.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/suites/client.sh
. tests/suites/client.sh
# shellcheck source=tests/suites/go.sh
. tests/suites/go.sh
# shellcheck source=tests/suites/rust.sh
. tests/suites/rust.sh
# shellcheck source=tests/suites/php.sh
. tests/suites/php.sh
# shellcheck source=tests/suites/perl.sh
. tests/suites/perl.sh
# shellcheck source=tests/suites/sql.sh
. tests/suites/sql.sh

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
mkdir -p "$cache/suites" "${SUITES_OUT:=$tmp/out}"
cache=$(cd "$cache" && pwd -P)
out=$(cd "$SUITES_OUT" && pwd -P)
tries=${SUITES_TRIES:-5}
most=${SUITES_MEMORY:-4096}
patterns=("$@")
[ $# -gt 0 ] || patterns=('client/*' 'go/*' 'rust/*' 'php/*' 'perl/*')

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
declare -A process # of each side's server, and of the proxy

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
    # Files of the same name are another at each side.
    export TMPDIR=$PWD/tmp
    ulimit -c 0
    "${suite}_run" "$1" "${2%+*}" "$3" "$side"
  ) >"$file.raw" 2>&1 </dev/null || status=$?
  # The suite says so, or timeout does.
  [ "$status" -ne 125 ] || die "no case can be run any more at the side '$side': $(tail -n 1 "$file.raw")"
  # By the shell or the loader.
  case $status in 126 | 127) die "the program of ${suite}/$1/$2 is missing or cannot be run: $(tail -n 1 "$file.raw")" ;; esac
  printf 'status %s\n' "$status" >>"$file.raw"
  "${suite}_mask" <"$file.raw" |
    sed -E -e "s/\\b(${port[$side]}|${port[server-$side]})\\b/PORT/g" -e "s,$tmp/[a-z]+-$side,DIR,g" >"$file"
}

# alive CASE: dies unless the servers and the proxy run and, without the word passed for
# CASE's verdict, answer. A dead one makes cases fail alike. It may take a while, since a
# case can use up a server's connections.
alive() {
  local name=$1 side dead deadline=$((SECONDS + ${SUITES_PATIENCE:-30}))
  while :; do
    for side in direct proxied proxy; do
      kill -0 "${process[$side]}" 2>/dev/null || die "$(who "$side") died at the case $name"
    done
    [ "${2:-}" != passed ] || return 0
    dead=
    for side in direct proxied proxy; do
      answers "$side" || dead=$side
      [ -z "$dead" ] || break
    done
    [ -n "$dead" ] || return 0
    [ $SECONDS -lt $deadline ] || die "$(who "$dead") does not answer any more after the case $name"
    sleep 0.5
  done
}

who() {
  case $1 in
  direct) echo 'the server of the direct side' ;;
  proxied) echo 'the server behind the proxy' ;;
  *) echo 'the proxy' ;;
  esac
}

# answers direct|proxied|proxy: a server to a statement; the proxy too, and is ready.
answers() {
  local off=--skip-ssl how=() ready=
  # shellcheck disable=SC2153 # of server.env
  [ "$FLAVOUR" != mysql ] || off=--ssl-mode=DISABLED
  if [ "$1" = proxy ]; then
    # Its own certificate is not the server's.
    how=("$off" -P "${port[proxied]}")
    # One that hangs takes the connection and says nothing.
    read -r -t 5 ready < <(http "${port[http]}" /readyz) || true
    [[ $ready = HTTP/1.?\ 200* ]] || return
  fi
  # shellcheck disable=SC2086
  timeout 5 ${client_of[${1/proxy/proxied}]} ${how[@]+"${how[@]}"} -e 'DO 1' >/dev/null 2>&1 </dev/null
}

# too_large: has a server grown beyond $most? The proxy must not.
too_large() {
  local side large=1 mib
  for side in direct proxied proxy; do
    mib=$(memory "$side" VmRSS)
    [ "${mib:-0}" -gt "$most" ] || continue
    [ "$side" != proxy ] || die "the proxy has grown to $mib MiB"
    say "  $(who "$side") has grown to $mib MiB: they are started again"
    large=0
  done
  return $large
}

# memory SIDE FIELD: of /proc/*/status, in MiB.
memory() { awk -v field="$2:" '$1 == field { print int($2 / 1024) }' "/proc/${process[$1]}/status"; }

# judge SUITE FLAVOUR WAY NAME: sets $verdict: passed, failed (alike), skipped, unsteady
# or differs. A known one is run twice at most: some end by their time limit alone.
judge() {
  local file=$out/$1/$2/$3/${4//[^a-zA-Z0-9_.-]/_} try one other whose reason last=$tries
  mkdir -p "${file%/*}"
  rm -f "$file".*
  ! known "$1/$2/$3/$4" || [ "$tries" -lt 2 ] || last=2
  for ((try = 1; try <= last; try++)); do
    side "$@" direct "$file.direct.$try" &
    side "$@" proxied "$file.proxied.$try" || die "the case could not be run"
    wait $! || die "the case could not be run"
    verdict=
    ! grep -qx 'status 0' "$file.direct.$try" || ! grep -qx 'status 0' "$file.proxied.$try" || verdict=passed
    alive "$1/$2/$3/$4" "$verdict"
    for one in "$file".direct.?; do
      for other in "$file".proxied.?; do
        cmp -s "$one" "$other" || continue
        verdict=unsteady
        [ "$try" -gt 1 ] || verdict=$(end_of "$one")
        [ "$verdict" = unsteady ] || rm -f "$file".*.raw
        return 0
      done
    done
  done
  verdict=differs
}

# end_of FILE: what the status at its end means. 77 is a suite's word for a case that did
# nothing.
end_of() {
  case $(tail -n 1 "$1") in
  'status 0') echo passed ;;
  'status 77') echo skipped ;;
  *) echo failed ;;
  esac
}

# same_end FILE: were there outcomes with the same status?
same_end() {
  local ends
  ends=$(comm -12 <(tail -qn 1 "$1".direct.? | sort -u) <(tail -qn 1 "$1".proxied.? | sort -u))
  [ -n "$ends" ]
}

# --- one run: a suite, a flavour, a way ----------------------------------------------

# versions SUITE FLAVOUR: of what is run, since the distribution's present ones are taken.
versions() {
  local server tests
  server=$(cat "$cache/$2/.ready")
  say "$1: server $2 $server"
  case $1 in client | sql) tests=$(cat "$cache/suites/$2/.ready") ;; *) return 0 ;; esac
  say "$1: its tests $tests"
  tests=${tests#*:}
  [[ $server = *"${tests%%[-+]*}"* ]] ||
    say "$1: the tests are not of this server's version; to install both again, remove $2 and suites/$2 from the cache"
}

# servers FLAVOUR SUITE MODE: two alike, and a proxy in this mode before one of them.
servers() {
  local side options how=() mode=durable
  ended
  read -r -d '' -a options < <("$2_options" "$1") || true
  [ "$3" != coexist ] || mode=coexist
  [ "$3/$1" = pooled/mysql ] || [ "$3" != pooled ] || options+=(--performance-schema=ON --plugin-load-add=metadata_lock_info)
  for side in direct proxied; do
    "$dev/server.sh" start "$1" "$tmp/server-$side" ${options[@]+"${options[@]}"} --sync-binlog=0 --innodb-flush-log-at-trx-commit=0
    # shellcheck disable=SC1090
    . "$tmp/server-$side/server.env"
    # shellcheck disable=SC2153 # of server.env
    process[$side]=$PID
    port[$side]=$PORT port[server-$side]=$PORT client_of[$side]=$CLIENT
    # shellcheck disable=SC2153 # of server.env
    accounts "$FLAVOUR" | sql --batch
    [ "$3" != pooled ] || pooling | sql --batch
    sql -e 'CREATE DATABASE test'
    # The proxy's tables, so that both sides have them.
    "$bin" schema install --backend "127.0.0.1:$PORT" --store "mysql://lockstead:secret@127.0.0.1:$PORT/lockstead" >/dev/null
    "$2_prepare" "$1" "$tmp/server-$side"
    # A client that asks for @@socket would go past the proxy.
    rm "$tmp/server-$side/socket"
  done
  port[proxied]=$(free_port 0) port[http]=$(free_port 0)
  if [ "$3" = pooled ]; then
    how=(--pooling transaction --pool-size 100)
    # Empty, the password is known from every login.
    [ "$2" = sql ] || how+=(-c "$tmp/pooled.toml")
    (umask 077 && printf '[[users]]\nname = "root"\npassword = "rootpw"\n' >"$tmp/pooled.toml")
    ! "$bin" serve --test-shuffle --help >/dev/null 2>&1 || how+=(--test-shuffle)
  fi
  start_proxy suites "${port[proxied]}" "${port[http]}" "${tls[@]}" ${how[@]+"${how[@]}"}
  proxy=$pid process[proxy]=$pid
}

# pooling: what the proxy's account needs besides for sessions that share their connections (`lockstead grants`).
pooling() {
  local to="lockstead@'127.0.0.%'" what
  if [ "$FLAVOUR" = mysql ]; then
    echo "GRANT SHOW_ROUTINE, TRIGGER, SELECT, SHOW VIEW ON *.* TO $to;"
  else
    echo "GRANT TRIGGER, SELECT, SHOW VIEW ON *.* TO $to;"
  fi
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
hollow=() # runs that show nothing

# modes SUITE: in which it is run, besides durable.
modes() { ! declare -F "$1_modes" >/dev/null || "$1_modes"; }

# run SUITE FLAVOUR WAY
run() {
  local names name whose reason verdict file line mode=durable cases=0
  [[ $3 != *+* ]] || mode=${3#*+}
  names=$("$1_cases" "$2" "${3%+*}" "$mode" | sort -u) || die "the cases of $1/$2/$3 cannot be listed"
  [ -n "$names" ] || die "$1/$2/$3 has no cases at all"
  mapfile -t names <<<"$names"
  alive 'before the first' # what they need is there
  count=([passed]=0 [failed]=0 [skipped]=0 [unsteady]=0 [known]=0 [differs]=0)
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
    ! too_large || servers "$2" "$1" "$mode"
  done
  # shellcheck disable=SC2059
  printf -v line "$columns" "$1" "$2" "$3" "$cases" "${count[passed]}" "${count[failed]}" "${count[skipped]}" \
    "${count[unsteady]}" "${count[known]}" "${count[differs]}" "$(memory direct VmHWM)" "$(memory proxied VmHWM)" "$(memory proxy VmHWM)"
  summary+=("$line") total=$((total + cases))
  [ $(((count[failed] + count[skipped]) * 2)) -le "$cases" ] ||
    hollow+=("$1/$2/$3: of $cases cases ${count[failed]} failed on both sides, ${count[skipped]} did nothing")
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

# The last three are the most MiB that the processes have had.
columns='%-8s %-11s %-13s %6s %7s %7s %8s %9s %6s %8s %7s %7s %6s'
# shellcheck disable=SC2059
printf -v head "$columns" suite flavour way cases passed failed skipped unsteady known differs direct behind proxy
summary=() total=0
for suite in client go rust php perl sql; do
  now=
  # Ways in one mode stand together, since each mode wants servers of its own.
  mapfile -t ways < <(
    while read -r flavour; do
      for mode in durable $(modes "$suite"); do
        "${suite}_ways" | sed -n "s/^$flavour .*/&+$mode/p"
      done
    done < <("${suite}_ways" | cut -d' ' -f1 | uniq)
  )
  for flavour_way in "${ways[@]}"; do
    read -r flavour way <<<"${flavour_way%+durable}"
    mode=${flavour_way##*+}
    [ "${way%+*}" != tls ] || [ ${#tls[@]} -gt 0 ] || continue
    wanted "$suite/$flavour/$way" any || continue
    if [ "$now" != "$flavour $mode" ]; then
      now="$flavour $mode"
      "${suite}_fetch" "$flavour"
      versions "$suite" "$flavour"
      servers "$flavour" "$suite" "$mode"
    fi
    say "$suite/$flavour/$way"
    run "$suite" "$flavour" "$way"
  done
done
ended

[ "$total" -gt 0 ] || die "no suite has cases like these"
printf '\n%s\n' "$head"
printf '%s\n' "${summary[@]}"
[ ${#hollow[@]} -eq 0 ] || die "most cases did not pass on either side, which shows nothing: $(printf '%s; ' "${hollow[@]}")"
[ ${#differing[@]} -eq 0 ] || die "${#differing[@]} differ: ${differing[*]}"
say 'All alike but for what is known.'

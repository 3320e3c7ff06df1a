#!/usr/bin/env bash
# A lock that is held through a failover, on the topologies of dev/topology.sh, with two proxies whose lists of
# servers are in opposite order:
#
#   dev/test-failover.sh [--quick] [--loopback] [--lease TIME] [--timeline] [--figures FILE] [NAME[:STEP]...]
#
# agree   the proxies stay with one writer, in one epoch, for 60 s
# crash   SIGKILL of the writer
# kept    the same, without the time until new locks are granted: only that the lock is held on, and the rival is told so
# switch  planned
# prepared  planned, after `lockstead drain-primary` at both proxies: clients that write all the time get no error
# eventual  group_replication_consistency=EVENTUAL is refused, and counts no more when it is set back
# cut     the writer is cut off from the others, with a proxy that has no other server, and the lock is held there;
#         cut-in: only what others send to it is lost; cut-out: only what it sends to them
# silent  the writer says nothing any more, to the others and to clients, and no connection to it ends
# outcomes  the writer is cut off while transactions are committed: an application that gets an OK finds its row, one that gets the error
#         of a rollback does not, and the others get one that says that it is unknown
# backlog  SIGKILL of the writer, while the others have still to apply 5,000 transactions
#
# At a SIGKILL another client holds a lock, which works without pauses and is in a state that its login did not leave: it
# keeps both. A client of one proxy has the lock, a rival of the other one tries to get it all the time: it must never get it while the first one
# has it, and gets it after the release. The figures are of this machine. --timeline
# adds the log of the holder's proxy, --figures a line to a file for each planned switch and each SIGKILL: seconds until writes, and from then on
# until the rival's first answer, the holder's, and another lock. The program is built unless LOCKSTEAD_BIN names one.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=dev/topology/clients.sh
. "$dev/topology/clients.sh"
# shellcheck source=dev/topology/proxies.sh
. "$dev/topology/proxies.sh"
# shellcheck source=dev/topology/applications.sh
. "$dev/topology/applications.sh"

folder=$tmp/topology
row=0 # of clients.sh
lease=15s

# Proxy 4 has the holder's session, proxy 5 the rival's.
start_proxies() {
  local all=("${@:2}")
  accounts "$FLAVOUR" | grep lockstead | administrate
  [ "$FLAVOUR" = mysql ] || administrate <<<"GRANT SELECT ON performance_schema.session_connect_attrs TO lockstead@'127.0.0.%';
    GRANT SELECT ON mysql.global_priv TO lockstead@'127.0.0.%'"
  administrate <<<'CREATE DATABASE rig; CREATE TABLE rig.taken (id INT AUTO_INCREMENT PRIMARY KEY, node INT)'
  all=(--pooling transaction --pool-wait 60s --lease "$lease")
  app_options
  start_before 4 "$1" "${all[@]}"
  until_ready 4
  start_before 5 "$(backends 3 2 1)" "${all[@]}"
  until_ready 5
  for proxy in 4 5; do
    # A server that knows the password asks no client for it.
    administrate <<<'FLUSH PRIVILEGES'
    app "$proxy" 'DO 0' || die "no session: $(cat "$tmp/app-$proxy.err")"
    is_writer "$proxy" "$WRITER_NODE" || [ "$2" = any ] || die "proxy $proxy should follow node $WRITER_NODE"
  done
}

rival() {
  local answer
  while :; do
    answer=$(limit=8 as=-rival app 5 "SELECT GET_LOCK('k', 0)") || answer='no answer'
    printf '%s %s\n' "$(now)" "$answer" >>"$tmp/rival"
    sleep 0.2
  done
}

# Asks for other locks until it gets one.
newcomer() {
  until [ "$(limit=8 as=-new app 5 "SELECT GET_LOCK('other', 0)" || true)" = 1 ]; do sleep 0.2; done
  now >"$tmp/granted"
}

mine() { tell holder "SELECT IF(IS_USED_LOCK('k') = CONNECTION_ID(), 'mine', 'not mine');"; }

# The rival's first answer after TIME; with ANSWER, its first such answer.
answered() { awk -v t="$1" -v a="${2:-.}" '$1 > t && $2 != "no" && $2 ~ a { print $1; exit }' "$tmp/rival"; }

# resumed TIME: when writes went on after it. Where all nodes take them, at the end of the longest time without one, which is over
# when the holder goes on.
resumed() {
  case $name in
  gr-multi | galera) ;;
  *)
    taken_after "$1"
    return
    ;;
  esac
  taken_after "$held" >/dev/null
  { printf '%s\n' "$1"; cat "$tmp"/taken-* 2>/dev/null || true; } | sort -n |
    awk -v t="$1" '$1 >= t { if (last && $1 - last > most) { most = $1 - last; end = $1 } last = $1 } END { print end }'
}

# waited SECONDS WHAT COMMAND...: until it prints something.
waited() {
  local deadline=$((SECONDS + $1)) what=$2 out
  shift 2
  until out=$("$@") && [ -n "$out" ]; do
    [ $SECONDS -lt $deadline ] || die "$what: not in time; the rival: $(tail -n 3 "$tmp/rival")"
    sleep 0.1
  done
  printf '%s\n' "$out"
}

begin_contest() {
  local n
  rm -f "$tmp"/{rival,granted,taken-*} "$folder/lost-at"
  : >"$tmp/rival"
  session holder 4
  [ "$(tell holder "SELECT GET_LOCK('k', 5);")" = 1 ] || die "no lock: $(cat "$tmp/holder.out")"
  group rival
  for n in 1 2 3; do [ "$n" = "$WRITER_NODE" ] || group keep_knocking "$n"; done
  waited 20 'the rival is refused' answered 0 >/dev/null
}

# keep WHAT COMMAND...: the command gives the topology another writer; the lock stays.
keep() {
  local what=$1 began first held at
  shift
  begin_contest
  [ "$what" != SIGKILL ] || begin_busy
  group newcomer_after
  pass_on "$@"
  waited 90 'another lock is granted' cat_granted >/dev/null
  first=$(resumed "$began")
  at=$(waited 30 'the rival is answered again' answered "$first")
  still_mine
  [ "$what" != SIGKILL ] || still_busy
  say "  $what: writes after $(since "$began" "$first"); from then on: the rival's first answer $(since "$first" "$at"), the holder's $(since "$first" "$held"), another lock $(since "$first" "$(cat "$tmp/granted")"); mode $(mode)"
  [ -z "$figures" ] || printf '%s\t%s\t%s\t%s\n' "$(seconds "$began" "$first")" "$(seconds "$first" "$at")" \
    "$(seconds "$first" "$held")" "$(seconds "$first" "$(cat "$tmp/granted")")" >>"$figures"
  [ -z "$timeline" ] || tell_timeline "$began"
  [ "$(tell holder "SELECT RELEASE_LOCK('k');")" = 1 ] || die 'no release'
  waited 20 'the rival gets the lock after its release' answered 0 '^1' >/dev/null
  [ "$(of 5 lockstead_epoch)" = "$(of 4 lockstead_epoch)" ] || die 'one epoch'
  follow_theirs
  end_clients 2
}

# pass_on COMMAND...: the command gives the topology another writer, and the holder goes on. Sets $began and $held.
pass_on() {
  local epoch deadline
  epoch=$(of 4 lockstead_epoch)
  began=$(now)
  "$@"
  [ ! -e "$folder/lost-at" ] || began=$(cat "$folder/lost-at")
  deadline=$((SECONDS + 90))
  until [ "$(mine)" = mine ] && [ "$(of 4 lockstead_epoch)" != "$epoch" ]; do
    [ $SECONDS -lt $deadline ] || die "$what: the holder does not go on: $(tail -n 3 "$tmp/holder.out"; ended)"
    sleep 0.1
  done
  held=$(now)
}

still_mine() {
  [ -z "$(answered 0 '^1')" ] || die "$what: the rival has got the lock"
  [ "$(mine)" = mine ] || die "$what: the lock should be held still"
}

# A client that sets its character set, holds a lock, has an insert id, and then goes on and on.
busy() {
  local c=CLIENT4
  c=${!c}
  {
    printf '%s\n' 'SET NAMES latin1;' "SELECT GET_LOCK('busy', 5);" 'INSERT INTO rig.taken (node) VALUES (0);' 'SELECT LAST_INSERT_ID();'
    while [ ! -e "$tmp/busy-over" ]; do printf '%s\n' 'SELECT 7;' && sleep 0.01; done
    printf '%s\n' "SELECT IF(IS_USED_LOCK('busy') = CONNECTION_ID(), @@character_set_client, 'not mine');" 'SELECT LAST_INSERT_ID();'
  } | "${c%% *}" --defaults-file="$tmp/app-4.cnf" --force --unbuffered --skip-reconnect -N -B >"$tmp/busy.out" 2>"$tmp/busy.err"
}

begin_busy() {
  rm -f "$tmp/busy-over"
  : >"$tmp/busy.out"
  group busy
  waited 20 'a client is busy' sed -n '5p' "$tmp/busy.out" >/dev/null
}

# What the holder's proxy says of sessions that it has ended.
ended() { grep -E 'a session (ends|is closed)' "$tmp/proxy-$name-4.log" || tail -n 5 "$tmp/proxy-$name-4.log"; }

# The busy client has its lock and its state, and has got one error at most.
still_busy() {
  local id
  id=$(sed -n 2p "$tmp/busy.out")
  : >"$tmp/busy-over"
  waited 30 'the busy client has worked on' grep -E 'latin1|not mine' "$tmp/busy.out" >/dev/null || true
  waited 5 'its insert id' awk '/latin1/ { getline; print }' "$tmp/busy.out" >/dev/null || true
  [ "$(tail -n 2 "$tmp/busy.out" | paste -s -d ' ')" = "latin1 $id" ] ||
    die "$what: the busy client has lost its lock or its state: $(tail -n 3 "$tmp/busy.out" "$tmp/busy.err"; ended)"
  [ "$(grep -c '^ERROR' "$tmp/busy.err")" -le 1 ] || die "$what: the busy client has heard: $(cat "$tmp/busy.err")"
  say "  $what: the busy client has its lock and its state; it has heard: $(grep -o '^ERROR [0-9]*' "$tmp/busy.err" || echo nothing)"
}

test_kept() {
  local what='SIGKILL, the lock is kept' began held at
  begin_contest
  begin_busy
  pass_on topology crash
  at=$(waited 60 'the rival is refused again' answered "$held" '^0')
  still_mine
  still_busy
  say "  $what: the holder goes on after $(since "$began" "$held"), the rival is refused after $(since "$began" "$at"); mode $(mode)"
  end_clients 2
}

# silence: no node and no client hears the writer, and its machine takes what they send.
silence() {
  local from=$WRITER_NODE
  topology cut
  kill -STOP "$(cat "$folder/node$from/pid")"
  topology failover
}

# Sessions at the silent server go on at the next one, the busy one too, whose statement is under way there.
test_silent() {
  local what=silence began held at from=$WRITER_NODE
  begin_contest
  begin_busy
  pass_on silence
  at=$(waited 60 'the rival is refused again' answered "$held" '^0')
  still_mine
  still_busy
  say "  $what: the holder goes on after $(since "$began" "$held"), the rival is refused after $(since "$began" "$at"); mode $(mode)"
  kill -CONT "$(cat "$folder/node$from/pid")"
  topology heal
  topology rejoin --node "$from"
  still_mine
  end_clients 2
}

# Both proxies follow one writer. Where all nodes take writes, it is the topology's from now on.
follow_theirs() {
  local n
  for n in 1 2 3; do ! is_writer 4 "$n" || break; done
  is_writer 5 "$n" || die "both should follow node $n"
  case $name in
  gr-multi | galera)
    printf '%s\n' "$n" >"$folder/writer"
    WRITER_NODE=$n
    ;;
  *) [ "$n" = "$WRITER_NODE" ] || die "both should follow node $WRITER_NODE" ;;
  esac
}

# tell_timeline TIME: what proxy 4 has logged since.
tell_timeline() {
  local at rest
  while read -r at rest; do
    awk -v a="$1" -v b="$(date -d "$at" +%s.%N)" -v rest="$rest" 'BEGIN { if (b >= a) printf "    %6.2f s  %s\n", b - a, rest }'
  done <"$tmp/proxy-$name-4.log"
}

cat_granted() { cat "$tmp/granted" 2>/dev/null; }
mode() { if [ "$(of 4 lockstead_failover_lossless)" = 1 ]; then echo lossless; else echo grace; fi; }

# When the epoch is another one: before, any lock is granted.
newcomer_after() {
  local epoch
  epoch=$(of 5 lockstead_epoch)
  until [ "$(of 5 lockstead_epoch)" != "$epoch" ]; do sleep 0.1; done
  newcomer
}

test_agree() {
  local epoch until
  epoch=$(of 4 lockstead_epoch) until=$((SECONDS + 60))
  while [ $SECONDS -lt $until ]; do
    for proxy in 4 5; do
      [ "$(of "$proxy" lockstead_epoch)" = "$epoch" ] || die "the epoch should stay $epoch"
      is_writer "$proxy" "$WRITER_NODE" || die "proxy $proxy should stay with node $WRITER_NODE"
    done
    sleep 1
  done
  say "  agree: epoch $epoch for 60 s; changes of the writer: $(of 4 lockstead_writer_changes_total) and $(of 5 lockstead_writer_changes_total)"
}

test_eventual() {
  local n
  for n in 1 2 3; do set_consistency "$n" EVENTUAL; done
  waited 20 'the proxy refuses EVENTUAL' refuses_eventual >/dev/null
  for n in 1 2 3; do set_consistency "$n" DEFAULT; done
  until_ready 4
  until_ready 5
  say '  eventual: refused, and taken again'
}

set_consistency() {
  local c=CLIENT$1
  # shellcheck disable=SC2086 # a program and its option
  timeout 20 ${!c} <<<"SET GLOBAL group_replication_consistency = $2"
}

# shellcheck disable=SC2154 # of proxies.sh
refuses_eventual() { http "$pages4" /readyz | grep -m 1 'group_replication_consistency=EVENTUAL'; }

# shows_mode: `lockstead check` says what a failover can lose.
shows_mode() {
  local want=grace
  case $name in gr-* | galera | semisync-*) want=lossless ;; esac
  "$bin" check --mode durable --backend "$(backends 1 2 3)" --store mysql://lockstead:secret@/lockstead --listen 127.0.0.1:0 \
    >"$tmp/check.out" || true
  grep -q "^failover  *$want:" "$tmp/check.out" || die "check should say $want: $(cat "$tmp/check.out")"
}

# The holder may go on until its lease ends. The rival has the lock after that only.
test_cut() {
  local began last='' first from=$WRITER_NODE answer
  begin_contest
  began=$(now)
  topology cut ${1+--way "$1"}
  until first=$(answered "$began" '^1') && [ -n "$first" ]; do
    answer=$(mine)
    [ "$answer" != mine ] || last=$(now)
    [ "$(awk -v a="$began" -v b="$(now)" 'BEGIN { print int(b - a) }')" -lt 120 ] || die "the rival never gets the lock: $(tail -n 2 "$tmp/rival")"
  done
  answer=$(mine)
  [ "$answer" != mine ] || die 'two holders'
  awk -v a="$last" -v b="$first" 'BEGIN { exit a < b ? 0 : 1 }' || die "two holders: $last, $first"
  say "  cut${1+, way $1}: the holder was last answered after $(since "$began" "$last"), the rival got the lock after $(since "$began" "$first"); the holder then: $answer"
  topology failover
  topology heal
  topology rejoin --node "$from"
  [ "$(mine)" != mine ] || die 'two holders after the heal'
  end_clients 2
}

# applies_nothing NODE: until told so.
applies_nothing() {
  local c=CLIENT$1
  # shellcheck disable=SC2086 # a program and its option
  { echo 'FLUSH TABLES WITH READ LOCK;' && until [ -e "$tmp/applies" ]; do sleep 0.1; done && echo 'UNLOCK TABLES;'; } | ${!c} >/dev/null
}

crash_with_backlog() {
  local n
  rm -f "$tmp/applies"
  administrate <<<'CREATE TABLE IF NOT EXISTS rig.w (id INT PRIMARY KEY); DELETE FROM rig.w'
  sleep 1
  for n in 1 2 3; do [ "$n" = "$WRITER_NODE" ] || group applies_nothing "$n"; done
  sleep 1
  for ((n = 0; n < 5000; n++)); do printf 'INSERT INTO rig.w VALUES (%s);\n' "$n"; done | limit=90 administrate
  # When the next one becomes the writer, it has applied nothing yet.
  group apply_later
  topology crash
}

apply_later() { sleep 6 && : >"$tmp/applies"; }

test_one() {
  local steps
  name=${1%%:*}
  steps=${1#"$name"}
  steps=${steps//:/ }
  [ -n "$steps" ] || steps='switch crash'
  say "$name, lease $lease${options[*]+ ${options[*]}}"
  topology up ${options[@]+"${options[@]}"}
  case $steps in
  *cut*) start_proxies "$(backends 1),127.0.0.1:1" one ;;
  *) start_proxies "$(backends 1 2 3)" one ;;
  esac
  shows_mode
  for step in $steps; do
    case $step in
    eventual) test_eventual ;;
    agree) test_agree ;;
    prepared) test_prepared ;;
    switch) keep 'planned switch' topology switch ;;
    crash) keep SIGKILL topology crash ;;
    kept) test_kept ;;
    cut) test_cut ;;
    cut-in) test_cut in ;;
    cut-out) test_cut out ;;
    outcomes) test_outcomes ;;
    silent) test_silent ;;
    backlog) keep 'SIGKILL with a backlog' crash_with_backlog ;;
    *) die "unknown step '$step'" ;;
    esac
  done
  for pid in "${groups[@]}"; do end "$pid"; done
  groups=()
  topology down
}

options=() names=() timeline='' figures=''
while [ $# -gt 0 ]; do
  case $1 in
  --timeline) timeline=yes ;;
  --lease) lease=$2 && shift ;;
  --figures) figures=$2 && shift ;;
  --*) options+=("$1") ;;
  *) names+=("$1") ;;
  esac
  shift
done
[ ${#names[@]} -gt 0 ] || names=(async-mysql:prepared:switch:crash async-mariadb:prepared:switch:crash gr-single:prepared:switch:crash gr-single:eventual gr-single:outcomes:backlog gr-multi:agree:switch:crash galera:agree:switch:crash gr-single:cut galera:cut gr-single:silent galera:silent)
set_stage
for one in "${names[@]}"; do test_one "$one"; done
say 'All as it should be.'

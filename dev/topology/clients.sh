# shellcheck shell=bash
# Clients of a topology that is tested: load, and sessions that are open while something happens;
# sourced by dev/test-topology.sh after dev/common.sh.
#
# In the schema rig, table w has the numbered rows of the load, and taken what other nodes took.

declare -A sessions=() # descriptors by name

# What writes to a client that has ended shall not end this.
trap '' PIPE

now() { date +%s.%N; }

seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b - a }'; }

# since FROM TO: seconds.
since() { printf '%s s' "$(seconds "$1" "$2")"; }

# short: of errors, their number.
short() { sed -E 's/^ERROR ([0-9]+).*/error \1/'; }

# app_options: how an application connects to each node.
app_options() {
  local n
  for n in 1 2 3; do
    sed -e 's/^user=.*/user=app/' -e 's/^password=.*/password=app/' "$folder/node$n/client.cnf" >"$tmp/app-$n.cnf"
  done
}

# app N SQL: one connection of an application. The error is in $tmp/app-N.err.
app() {
  local c=CLIENT$1
  c=${!c}
  timeout -k 1 "${limit:-5}" "${c%% *}" --defaults-file="$tmp/app-$1.cnf" --connect-timeout=5 -N -B -e "$2" 2>"$tmp/app-$1${as:-}.err"
}

# keep_writing N: numbered rows, one after the other. Those that were acknowledged go to $tmp/acknowledged
# with the time, the first answer that is none to $tmp/refused.
keep_writing() {
  local i=$((row + 1000)) # after those of others at the same time
  while :; do
    i=$((i + 1))
    if as=-load limit=30 app "$1" "INSERT INTO rig.w VALUES ($i)"; then
      printf '%s %s\n' "$(now)" "$i" >>"$tmp/acknowledged"
    elif [ ! -s "$tmp/refused" ]; then
      { grep -m 1 '^ERROR' "$tmp/app-$1-load.err" || echo 'no answer'; } | short >"$tmp/refused"
    fi
    sleep 0.05
  done
}

# keep_knocking N: writes at a node that need not take them. When it did goes to $tmp/taken-N.
keep_knocking() {
  while :; do
    if as=-knock limit=60 app "$1" "INSERT INTO rig.taken (node) VALUES ($1)"; then now >>"$tmp/taken-$1"; fi
    sleep 0.1 # starting clients is work for the machine
  done
}

# load N: keeps writing there; returns when it is under way.
load() {
  local deadline=$((SECONDS + 20))
  rm -f "$tmp"/{acknowledged,refused,taken-*}
  : >"$tmp/acknowledged"
  group keep_writing "$1"
  until [ "$(wc -l <"$tmp/acknowledged")" -ge 5 ]; do
    [ $SECONDS -lt $deadline ] || die "the writer takes no writes: $(cat "$tmp/app-$1-load.err")"
    sleep 0.02
  done
}

# knock N...: at each of them.
knock() {
  local n
  for n in "$@"; do group keep_knocking "$n"; done
}

# taken_after TIME: when a node first took a write after it. Waits for it.
taken_after() {
  local deadline=$((SECONDS + 60)) first
  until first=$(cat "$tmp"/taken-* 2>/dev/null | sort -n | awk -v t="$1" '$1 > t { print; exit }') && [ -n "$first" ]; do
    [ $SECONDS -lt $deadline ] || die 'no node takes writes'
    sleep 0.05
  done
  printf '%s\n' "$first"
}

# longest_stall TIME: the longest time after it without a write, of the node with the longest.
longest_stall() {
  local file
  for file in "$tmp"/taken-*; do
    { printf '%s\n' "$1"; cat "$file"; } | sort -n |
      awk -v t="$1" '$1 >= t { if (last && $1 - last > most) most = $1 - last; last = $1 } END { printf "%.2f s\n", most }'
  done | sort -n | tail -n 1
}

last_acknowledged() { tail -n 1 "$tmp/acknowledged" | command cut -d ' ' -f 1; }

# lost_at N: how many acknowledged rows the node has not.
lost_at() {
  app "$1" 'SELECT id FROM rig.w' | sort >"$tmp/there"
  command cut -d ' ' -f 2 "$tmp/acknowledged" | sort | comm -23 - "$tmp/there" | wc -l
}

# end_clients COUNT: all load and sessions, but so many groups, which were started first.
end_clients() {
  local i fd keep=$1
  for ((i = ${#groups[@]} - 1; i >= keep; i--)); do end "${groups[i]}"; done
  groups=("${groups[@]:0:keep}")
  for fd in "${sessions[@]}"; do exec {fd}>&-; done
  sessions=()
  row=$((row + 10000))
}

# session NAME N: a client that stays connected, and goes on after errors.
session() {
  local c=CLIENT$2 fd
  c=${!c}
  rm -f "$tmp/$1.in"
  mkfifo "$tmp/$1.in"
  # For reading too, or this would wait for the other end.
  exec {fd}<>"$tmp/$1.in"
  group "${c%% *}" --defaults-file="$tmp/app-$2.cnf" --force --unbuffered --skip-reconnect -N -B <"$tmp/$1.in" >"$tmp/$1.out" 2>&1
  sessions[$1]=$fd
}

# tell NAME SQL: the first line of the answer, in short.
tell() {
  wc -l <"$tmp/$1.out" >"$tmp/$1.before"
  printf '%s\n' "$2" >&"${sessions[$1]}" || true
  hear "$1" 4
}

# hear NAME SECONDS: the same, where the answer was long in coming.
hear() {
  local deadline=$((SECONDS + $2)) before line
  before=$(cat "$tmp/$1.before")
  # MariaDB's client repeats a statement with an error, between lines, before the error. No
  # answer here begins like a statement.
  until line=$(tail -n +$((before + 1)) "$tmp/$1.out" | grep -m 1 -E '^(ERROR |[a-z0-9])'); do
    if [ $SECONDS -ge $deadline ]; then
      echo hangs
      return
    fi
    sleep 0.02
  done
  short <<<"$line"
}

# open_sessions N: idle ones, one with an open transaction, one with a lock of the server's own.
open_sessions() {
  local kind
  for kind in reader idle open holder; do session "$kind" "$1"; done
  for kind in reader idle; do
    [ "$(tell "$kind" "SELECT 'here';")" = here ] || die "no session: $(cat "$tmp/$kind.out")"
  done
  [ "$(tell open "BEGIN; INSERT INTO rig.taken (node) VALUES (0); SELECT 'begun';")" = begun ] || die 'no transaction'
  [ "$(tell holder "SELECT GET_LOCK('rig', 0);")" = 1 ] || die 'no lock'
}

# report_sessions N: what they get, and whether node N grants the lock to another one.
report_sessions() {
  local write commit lock other
  say "    read, in a session without work: $(tell reader "SELECT 'ok' FROM (SELECT COUNT(*) FROM rig.w) x;")"
  write=$(tell idle "INSERT INTO rig.taken (node) VALUES (4); SELECT 'ok';")
  commit=$(tell open "COMMIT; SELECT 'ok';")
  lock=$(tell holder "SELECT IF(IS_USED_LOCK('rig') = CONNECTION_ID(), 'held still', 'gone');")
  other=$(app "$1" "SELECT GET_LOCK('rig', 0)") || other=$(short <"$tmp/app-$1.err")
  say "    write: $write; COMMIT of an open transaction: $commit"
  say "    a native lock: $lock; GET_LOCK of another session at the new writer: $other"
}

# shellcheck shell=bash
# What idle sessions and idle proxies cost, for bench.sh, which sources this.

measure_idle() {
  memory "$1"
  at_rest "$1"
}

# open_sessions PROXY OPTION...: returns when they are open and have their locks.
# Sets $sessions_pid.
open_sessions() {
  local proxy=$1
  shift
  mkfifo "$work/end"
  "$lockpairs" idle --port "${proxy_port[$proxy]}" "$@" <"$work/end" >"$work/idle.log" 2>&1 &
  sessions_pid=$!
  exec 7>"$work/end"
  rm "$work/end"
  until grep -q sessions "$work/idle.log"; do
    kill -0 "$sessions_pid" 2>/dev/null || die "the idle sessions could not be opened"
    sleep 0.2
  done
}

close_sessions() {
  exec 7>&-
  wait "$sessions_pid" || die "a session or a lock was lost while it was idle"
}

# One process each, freshly started: memory depends on what a process did before.
memory() {
  local flavour=$1 variant before after
  for variant in haproxy lockstead; do
    say "$flavour: $sessions idle sessions through $variant"
    start_proxy "$variant"
    sleep 1
    before=$(rss_kib "${proxy_pid[$variant]}")
    open_sessions "$variant" --clients "$sessions"
    sleep 2
    after=$(rss_kib "${proxy_pid[$variant]}")
    close_sessions
    stop_proxy "$variant"
    add idle "$flavour" "$sessions" "$variant" kib_per_session \
      "$(calc "($after - $before) / $sessions")"
  done
}

# snapshot: the time, statements so far, renewals so far and the seconds they took.
snapshot() {
  local statements
  read -r statements _ < <(counters)
  printf '%s %s %s %s\n' "$(date +%s.%N)" "$statements" \
    "$(metric lockstead lockstead_lease_renewal_seconds_count)" \
    "$(metric lockstead lockstead_lease_renewal_seconds_sum)"
}

# rest FLAVOUR LOCKS OWN: watches for a while. OWN: statements of a snapshot.
rest() {
  local t1 s1 n1 r1 t2 s2 n2 r2
  # What was done before has its echo: connections that are opened again, rows that are compared.
  sleep 3
  read -r t1 s1 n1 r1 < <(snapshot)
  sleep "$idle_seconds"
  read -r t2 s2 n2 r2 < <(snapshot)
  [ "$n2" -gt "$n1" ] || die "no lease was renewed in $idle_seconds s"
  add rest "$1" "$2" lockstead statements_per_second "$(calc "($s2 - $s1 - $3) / ($t2 - $t1)")"
  add rest "$1" "$2" lockstead renewal_us "$(calc "($r2 - $r1) * 1e6 / ($n2 - $n1)")"
}

# What a proxy sends by itself, and the time of a renewal, without locks and with many.
at_rest() {
  local flavour=$1 round own
  own=$(own_statements)
  start_proxy lockstead
  for ((round = 1; round <= (rounds < 2 ? rounds : 2); round++)); do
    say "$flavour: a proxy at rest, round $round"
    rest "$flavour" 0 "$own"
    open_sessions lockstead --clients "$holders" --locks "$locks_each"
    rest "$flavour" $((holders * locks_each)) "$own"
    close_sessions
  done
  stop_proxy lockstead
}

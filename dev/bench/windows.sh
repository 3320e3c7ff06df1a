# shellcheck shell=bash
# The status page and metrics with much to show, and what lock calls pay for being watched, for
# bench.sh, which sources this.

# looked NAME PATH PAUSE: times of requests one after the other, each PAUSE seconds behind the last.
looked() {
  local times
  times=$(python3 dev/bench/windows.py times "${proxy_http[lockstead]}" "$2" "$looks" "$3") ||
    die "$2 is not answered"
  add windows "$flavour" 16 "$1" p50_us "${times% *}"
  add windows "$flavour" 16 "$1" p99_us "${times#* }"
}

# watched_pairs VARIANT: pairs through Lockstead, kept under that name. Sets $p50.
watched_pairs() {
  pairs - "$flavour" 16 lockstead
  p50=$(of_load p50_us)
  add windows "$flavour" 16 "$1" p50_us "$p50"
  add windows "$flavour" 16 "$1" p99_us "$(of_load p99_us)"
}

measure_windows() {
  local flavour=$1 round alone p50 eyes
  command -v python3 >/dev/null || die "python3 is missing"
  start_proxy lockstead
  open_sessions lockstead "${audience[@]}"
  say "$flavour: the windows"
  looked page / 0
  # A status is made once a second: who asks at once gets the same again.
  looked kept /api/v1/status 0
  looks=$((looks / 5)) looked anew /api/v1/status 1.05
  looked metrics /metrics 0
  for ((round = 1; round <= window_rounds; round++)); do
    say "$flavour: lock pairs, alone and watched, round $round"
    watched_pairs alone
    alone=$p50
    python3 dev/bench/windows.py watch "${proxy_http[lockstead]}" 5 2>"$work/watch.log" &
    eyes=$!
    watched_pairs watched
    kill "$eyes" 2>/dev/null || die "nobody looked: $(cat "$work/watch.log")"
    wait "$eyes" || true
    add windows "$flavour" 16 watched of_alone "$(calc "$p50 / $alone")"
  done
  close_sessions
  stop_proxy lockstead
}

#!/usr/bin/env bash
# Measures Lockstead beside HAProxy, MySQL Router and the server itself:
#
#   dev/bench.sh [--flavour mysql|mariadb|both] [--rounds N] [--seconds S] [--quick]
#                [points|idle|locks|all]...
#
#   points  sysbench's point selects (text protocol) at 1, 16, 64 and 256 threads:
#           queries a second, and the proxy's processor time for a query
#   idle    memory of a proxy for an idle session, with 5,000 of them
#   locks   pairs of lock and unlock: the server's own GET_LOCK, the same through
#           HAProxy, a row inserted and deleted, and GET_LOCK through Lockstead
#
# All variants of a measurement take turns (A B C A B C ...), so what else goes on
# in the machine hits them alike. The figures are medians of N rounds (5), of up to
# 11 when the quartiles do not decide about a target. --quick is a smoke test: its
# figures mean little. Results: a table with the targets, and everything in
# bench-results/DATE.json. TLS is off everywhere; the servers sync at every commit.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}

# Equal for all proxies.
threads=2
thread_counts=(1 16 64 256)
sessions=5000
most_rounds=11

say() { printf 'bench: %s\n' "$*" >&2; }
die() { printf 'bench: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }

# --- what to do ---------------------------------------------------------------

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
  --quick) rounds=1 seconds=1 most_rounds=1 sessions=500 ;;
  points | idle | locks) sections+=("$1") ;;
  all) sections+=(points idle locks) ;;
  *) usage ;;
  esac
  shift
done
[ ${#sections[@]} -gt 0 ] || sections=(points idle locks)
[ "$most_rounds" -ge "$rounds" ] || most_rounds=$rounds

wants() { [[ " ${sections[*]} " = *" $1 "* ]]; }
has_flavour() { [[ " ${flavours[*]} " = *" $1 "* ]]; }

# Sessions need two files each in a proxy.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
files=$(ulimit -n)
if wants idle && [ "$files" != unlimited ] && [ "$files" -lt $((sessions * 2 + 1000)) ]; then
  die "idle needs $((sessions * 2 + 1000)) open files in a process, the limit is $files: raise it (ulimit -Hn), or leave idle out"
fi

# --- programs -----------------------------------------------------------------

needed=("${flavours[@]}" haproxy)
if wants points; then
  needed+=(sysbench)
  ! has_flavour mysql || needed+=(router)
fi
dev/install.sh "${needed[@]}" >&2

say "building"
build=$(cargo build --release --bin lockstead --bench lockpairs --message-format=json)
built() { sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' <<<"$build" | grep -E "/$1(-[0-9a-f]+)?\$" | tail -n 1; }
lockstead=$(built lockstead)
lockpairs=$(built lockpairs)

# Not in /tmp, which may be memory: then a commit would cost nothing.
work=$(mktemp -d "${LOCKSTEAD_BENCH_DIR:-/var/tmp}/lockstead-bench.XXXXXX")
samples=$work/samples
: >"$samples"
declare -A proxy_pid=() proxy_port=()

finish() {
  local status=$? pid
  trap - EXIT
  trap '' HUP INT TERM
  for pid in ${proxy_pid[@]+"${proxy_pid[@]}"}; do kill "$pid" 2>/dev/null || true; done
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

free_port() {
  local port
  while :; do
    # Below the range that outgoing connections get theirs from.
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf '%s\n' "$port"
}

# --- servers and proxies ------------------------------------------------------

# start_server FLAVOUR: sets $client and $server_port, and makes the accounts and tables.
start_server() {
  local dir=$work/server-$1 how
  say "$1: starting the server"
  mkdir "$dir"
  dev/server.sh start "$1" "$dir" >&2
  # shellcheck disable=SC1091
  . "$dir/server.env"
  # shellcheck disable=SC2153 # set by that file
  client=$CLIENT server_port=$PORT
  how="IDENTIFIED WITH caching_sha2_password BY"
  [ "$1" = mysql ] || how="IDENTIFIED BY"
  {
    echo "CREATE DATABASE bench; CREATE DATABASE lockstead;"
    echo "CREATE USER bench@'127.0.0.%' $how 'bench', lockstead@'127.0.0.%' $how 'secret';"
    echo "GRANT ALL ON bench.* TO bench@'127.0.0.%';"
    echo "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW ON lockstead.* TO lockstead@'127.0.0.%';"
    if [ "$1" = mysql ]; then
      echo "GRANT SELECT ON performance_schema.* TO lockstead@'127.0.0.%';"
      echo "GRANT PROCESS, CONNECTION_ADMIN ON *.* TO lockstead@'127.0.0.%';"
    else
      echo "GRANT PROCESS, CONNECTION ADMIN ON *.* TO lockstead@'127.0.0.%';"
    fi
    echo "CREATE TABLE bench.plain_locks (name VARCHAR(64) NOT NULL PRIMARY KEY,"
    echo "  owner BIGINT UNSIGNED NOT NULL, since DATETIME(3) NOT NULL) ENGINE=InnoDB;"
  } | $client
  warm bench bench
  warm lockstead secret
  $client -N -e "SELECT @@version" >"$work/$1.version"
}

# warm USER PASSWORD: the first login of an account without TLS has to ask for the server's key;
# then the server knows the hash, and clients that cannot ask are let in.
warm() { $client --user="$1" --password="$2" -e 'DO 1' 2>/dev/null; }

stop_server() {
  dev/server.sh stop "$work/server-$1"
  rm -rf "$work/server-$1"
}

# launch NAME COMMAND...: a proxy on ${proxy_port[NAME]}.
launch() {
  local name=$1 deadline=$((SECONDS + 60))
  shift
  "$@" >"$work/$name.log" 2>&1 &
  proxy_pid[$name]=$!
  until $client --user=bench --password=bench --port="${proxy_port[$name]}" -e 'DO 1' \
    >"$work/answer" 2>&1; do
    kill -0 "${proxy_pid[$name]}" 2>/dev/null || die "$name ended while starting"
    [ $SECONDS -lt $deadline ] || die "$name lets nobody in: $(cat "$work/answer")"
    sleep 0.1
  done
}

start_proxy() {
  local port
  port=$(free_port)
  proxy_port[$1]=$port
  case $1 in
  haproxy)
    cat >"$work/haproxy.cfg" <<CONF
global
  nbthread $threads
  maxconn $((sessions + 1000))
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen server
  bind 127.0.0.1:$port
  server db 127.0.0.1:$server_port
CONF
    launch haproxy "$cache/bin/haproxy" -db -f "$work/haproxy.cfg"
    ;;
  router)
    mkdir -p "$work/router"
    # PASSTHROUGH: the router forwards bytes and does not look into the protocol, its fastest way.
    cat >"$work/router/router.conf" <<CONF
[DEFAULT]
logging_folder=$work/router
runtime_folder=$work/router
data_folder=$work/router
max_total_connections=4096
[logger]
level=WARNING
[io]
threads=$threads
[routing:server]
bind_address=127.0.0.1
bind_port=$port
destinations=127.0.0.1:$server_port
routing_strategy=first-available
protocol=classic
client_ssl_mode=PASSTHROUGH
server_ssl_mode=AS_CLIENT
connection_sharing=0
max_connections=4096
max_connect_errors=4294967295
CONF
    launch router "$cache/bin/mysqlrouter" -c "$work/router/router.conf"
    ;;
  lockstead)
    launch lockstead "$lockstead" serve --listen "127.0.0.1:$port" --state-dir off \
      --backend "127.0.0.1:$server_port" \
      --store "mysql://lockstead:secret@127.0.0.1:$server_port/lockstead" \
      --http off --lease 30s --workers "$threads" --create-schema
    # It lets clients in before it grants locks: at a start it may wait for other proxies.
    local granted
    granted=$($client -N --user=bench --password=bench --port="$port" \
      -e "SELECT GET_LOCK('bench-ready', 60)" 2>/dev/null) || granted=error
    [ "$granted" = 1 ] || die "lockstead grants no lock: $granted"
    ;;
  esac
}

stop_proxy() {
  kill "${proxy_pid[$1]}" 2>/dev/null || true
  wait "${proxy_pid[$1]}" 2>/dev/null || true
  unset "proxy_pid[$1]"
}

# --- measuring ----------------------------------------------------------------

# add SECTION FLAVOUR CLIENTS VARIANT METRIC VALUE
add() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" >>"$samples"; }

port_of() { if [ "$1" = direct ]; then echo "$server_port"; else echo "${proxy_port[$1]}"; fi; }

ticks=$(getconf CLK_TCK)
# Processor time of a process and all its threads so far, user and system, in ticks.
processor() {
  local stat
  stat=$(cat "/proc/$1/stat")
  # The name in brackets may have blanks; the 14th and 15th field are the 12th and 13th behind it.
  awk '{ print $12 + $13 }' <<<"${stat##*) }"
}

rss_kib() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"; }

# undecided SECTION FLAVOUR CLIENTS METRIC A B TARGET: whether the quartiles of A, and of B times
# the target, overlap.
undecided() {
  awk -F'\t' -v key="$1/$2/$3/$4" -v a="$5" -v b="$6" -v target="$7" "$statistics"'
    $1 "/" $2 "/" $3 "/" $5 == key && $4 == a { x[++n] = $6 }
    $1 "/" $2 "/" $3 "/" $5 == key && $4 == b { y[++m] = $6 * target }
    END {
      sort(x, n); sort(y, m)
      exit !(n && m && at(x, n, .25) <= at(y, m, .75) && at(y, m, .25) <= at(x, n, .75))
    }' "$samples"
}

# shellcheck disable=SC2016 # $ is awk's
statistics='
  function sort(v, n,   i, j, t) {
    for (i = 2; i <= n; i++) {
      t = v[i]
      for (j = i - 1; j > 0 && v[j] > t; j--) v[j + 1] = v[j]
      v[j + 1] = t
    }
  }
  function at(v, n, part,   place, low) {
    place = 1 + (n - 1) * part; low = int(place)
    return low < n ? v[low] + (v[low + 1] - v[low]) * (place - low) : v[n]
  }
'

sysbench_on() {
  "$cache/bin/sysbench" oltp_point_select --db-driver=mysql --mysql-host=127.0.0.1 \
    --mysql-port="$1" --mysql-user=bench --mysql-password=bench --mysql-db=bench \
    --mysql-ssl=off --tables=1 --table-size=10000 --db-ps-mode=disable "${@:2}"
}

# point FLAVOUR THREADS VARIANT
point() {
  local port before=0 after=0
  port=$(port_of "$3")
  [ "$3" = direct ] || before=$(processor "${proxy_pid[$3]}")
  sysbench_on "$port" --threads="$2" --time="$seconds" --report-interval=0 run >"$work/sysbench.log" 2>&1 ||
    die "sysbench failed: $(grep -m 3 FATAL "$work/sysbench.log")"
  [ "$3" = direct ] || after=$(processor "${proxy_pid[$3]}")
  # "queries:   123456 (24690.12 per sec.)"
  local queries rate
  read -r queries rate < <(sed -n 's/^ *queries: *\([0-9]*\) *(\([0-9.]*\) per sec.*/\1 \2/p' "$work/sysbench.log")
  add points "$1" "$2" "$3" per_second "$rate"
  [ "$3" = direct ] ||
    add points "$1" "$2" "$3" processor_us "$(awk -v t=$((after - before)) -v q="$queries" -v hz="$ticks" 'BEGIN { printf "%.3f", t * 1e6 / hz / q }')"
}

measure_points() {
  local flavour=$1 n round variant variants=(direct haproxy lockstead)
  [ "$flavour" = mariadb ] || variants+=(router)
  sysbench_on "$server_port" prepare >"$work/sysbench.log" 2>&1 || die "sysbench cannot make its table"
  for variant in "${variants[@]}"; do
    [ "$variant" = direct ] || start_proxy "$variant"
  done
  # Once unmeasured: caches fill, pages are touched.
  for variant in "${variants[@]}"; do
    sysbench_on "$(port_of "$variant")" --threads=16 --time=1 run >/dev/null 2>&1 || die "sysbench cannot work through $variant"
  done
  for n in "${thread_counts[@]}"; do
    for ((round = 1; round <= most_rounds; round++)); do
      say "$flavour: points, $n threads, round $round"
      for variant in "${variants[@]}"; do point "$flavour" "$n" "$variant"; done
      [ "$round" -ge "$rounds" ] || continue
      [ "$n" -ne 256 ] || break # has no target
      undecided points "$flavour" "$n" per_second lockstead haproxy 0.95 ||
        undecided points "$flavour" "$n" processor_us lockstead haproxy 1.15 || break
    done
  done
  for variant in "${!proxy_pid[@]}"; do stop_proxy "$variant"; done
}

# One process each, freshly started: memory depends on what a process did before.
measure_idle() {
  local flavour=$1 variant before after pid
  for variant in haproxy lockstead; do
    say "$flavour: $sessions idle sessions through $variant"
    start_proxy "$variant"
    sleep 1
    before=$(rss_kib "${proxy_pid[$variant]}")
    mkfifo "$work/end"
    "$lockpairs" idle --port "${proxy_port[$variant]}" --clients "$sessions" <"$work/end" >"$work/idle.log" 2>&1 &
    pid=$!
    exec 7>"$work/end"
    until grep -q sessions "$work/idle.log"; do
      kill -0 "$pid" 2>/dev/null || die "the idle sessions could not be opened"
      sleep 0.2
    done
    sleep 2
    after=$(rss_kib "${proxy_pid[$variant]}")
    exec 7>&-
    wait "$pid" || die "a session was lost while it was idle"
    rm "$work/end"
    stop_proxy "$variant"
    add idle "$flavour" "$sessions" "$variant" kib_per_session \
      "$(awk -v kib=$((after - before)) -v n="$sessions" 'BEGIN { printf "%.2f", kib / n }')"
  done
}

# pairs FLAVOUR CLIENTS VARIANT
pairs() {
  local mode=native port metric value
  case $3 in
  native) port=$server_port ;;
  plain) port=$server_port mode=plain ;;
  *) port=${proxy_port[$3]} ;;
  esac
  "$lockpairs" "$mode" --port "$port" --clients "$2" --seconds "$seconds" >"$work/lockpairs.log" 2>&1 ||
    die "the load failed: $(cat "$work/lockpairs.log")"
  for metric in pairs_per_second mean_us p50_us p99_us max_us driver_us_per_pair; do
    value=$(sed -n "s/.*\"$metric\":\([0-9.e+]*\).*/\1/p" "$work/lockpairs.log")
    [ -z "$value" ] || add locks "$1" "$2" "$3" "$metric" "$value"
  done
}

measure_locks() {
  local flavour=$1 n round variant factor metric
  start_proxy haproxy
  start_proxy lockstead
  for n in 1 64; do
    if [ "$n" -eq 1 ]; then
      metric=p50_us factor=1.6
      [ "$flavour" = mysql ] || factor=2.2
    else
      metric=pairs_per_second factor=2.0
      [ "$flavour" = mysql ] || factor=1.0
    fi
    for ((round = 1; round <= most_rounds; round++)); do
      say "$flavour: locks, $n clients, round $round"
      for variant in native haproxy plain lockstead; do pairs "$flavour" "$n" "$variant"; done
      [ "$round" -ge "$rounds" ] || continue
      undecided locks "$flavour" "$n" "$metric" lockstead plain "$factor" || break
    done
  done
  stop_proxy haproxy
  stop_proxy lockstead
}

# --- results --------------------------------------------------------------------

# The table, from the samples; the targets and medians as JSON members into $work/summary.
report() {
  awk -F'\t' -v summary="$work/summary" "$statistics"'
    {
      key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
      value[key, ++count[key]] = $6
      if (count[key] == 1) keys[++total] = key
      if (!(($1, $2) in seen)) { seen[$1, $2] = 1; groups[++ngroups] = $1 SUBSEP $2 }
      if (!(($1, $2, $3) in seen)) { seen[$1, $2, $3] = 1; sizes[$1, $2] = sizes[$1, $2] " " $3 }
      if (!(($1, $2, "v", $4) in seen)) { seen[$1, $2, "v", $4] = 1; variants[$1, $2] = variants[$1, $2] " " $4 }
    }
    function median(s, f, n, v, m) { return med[s, f, n, v, m] }
    function ratio(s, f, n, m, a, b) { return median(s, f, n, b, m) ? median(s, f, n, a, m) / median(s, f, n, b, m) : 0 }
    function judge(what, value, sign, target,   met, text) {
      target += 0 # a number, or awk would compare texts
      met = sign == ">=" ? value >= target : sign == ">" ? value > target : value <= target
      text = sprintf("%-62s %8.2f   %-2s %5.2f   %s", what, value, sign, target, (met ? "met" : "MISSED"))
      verdicts[++nverdicts] = text
      gsub(/"/, "", what)
      targets = targets (targets ? ",\n" : "") sprintf("    {\"target\": \"%s\", \"value\": %.4f, \"must_be\": \"%s %.2f\", \"met\": %s}", what, value, sign, target, met ? "true" : "false")
    }
    END {
      for (i = 1; i <= total; i++) {
        n = count[keys[i]]
        for (j = 1; j <= n; j++) v[j] = value[keys[i], j]
        sort(v, n)
        med[keys[i]] = at(v, n, .5)
        split(keys[i], k, SUBSEP)
        medians = medians (medians ? ",\n" : "") sprintf("    {\"section\": \"%s\", \"flavour\": \"%s\", \"clients\": %d, \"variant\": \"%s\", \"metric\": \"%s\", \"rounds\": %d, \"quartile1\": %.3f, \"median\": %.3f, \"quartile3\": %.3f}", k[1], k[2], k[3], k[4], k[5], n, at(v, n, .25), at(v, n, .5), at(v, n, .75))
      }
      for (g = 1; g <= ngroups; g++) {
        split(groups[g], k, SUBSEP); s = k[1]; f = k[2]
        nsizes = split(sizes[s, f], size, " "); nvariants = split(variants[s, f], variant, " ")
        printf "\n%s, %s\n", s, f
        if (s == "points") printf "  %-8s %-10s %12s %16s %10s\n", "threads", "", "queries/s", "proxy us/query", "of HAProxy"
        if (s == "locks") printf "  %-8s %-10s %12s %10s %10s %10s\n", "clients", "", "pairs/s", "p50 us", "p99 us", "of plain"
        if (s == "idle") printf "  %-8s %-10s %12s\n", "sessions", "", "KiB each"
        for (i = 1; i <= nsizes; i++) for (j = 1; j <= nvariants; j++) {
          n = size[i]; w = variant[j]
          if (s == "points") printf "  %-8s %-10s %12.0f %16s %10.3f\n", n, w, median(s, f, n, w, "per_second"), w == "direct" ? "" : sprintf("%.2f", median(s, f, n, w, "processor_us")), ratio(s, f, n, "per_second", w, "haproxy")
          if (s == "locks") printf "  %-8s %-10s %12.0f %10.0f %10.0f %10.3f\n", n, w, median(s, f, n, w, "pairs_per_second"), median(s, f, n, w, "p50_us"), median(s, f, n, w, "p99_us"), ratio(s, f, n, "pairs_per_second", w, "plain")
          if (s == "idle") printf "  %-8s %-10s %12.2f\n", n, w, median(s, f, n, w, "kib_per_session")
        }
        if (s == "points") for (i = 1; i <= nsizes; i++) {
          n = size[i]; name = f ": point selects, " n " threads, "
          if (n != 256) {
            judge(name "rate Lockstead/HAProxy", ratio(s, f, n, "per_second", "lockstead", "haproxy"), ">=", "0.95")
            judge(name "processor Lockstead/HAProxy", ratio(s, f, n, "processor_us", "lockstead", "haproxy"), "<=", "1.15")
          }
          if ((s, f, "v", "router") in seen) judge(name "rate Lockstead/Router", ratio(s, f, n, "per_second", "lockstead", "router"), ">", "1.00")
        }
        if (s == "idle") for (i = 1; i <= nsizes; i++) judge(f ": KiB for an idle session, of " size[i], median(s, f, size[i], "lockstead", "kib_per_session"), "<=", "12")
        if (s == "locks") {
          judge(f ": time of a pair, 1 client, Lockstead/plain", ratio(s, f, 1, "p50_us", "lockstead", "plain"), "<=", f == "mysql" ? "1.6" : "2.2")
          judge(f ": pairs/s, 64 clients, Lockstead/plain", ratio(s, f, 64, "pairs_per_second", "lockstead", "plain"), ">=", f == "mysql" ? "2.0" : "1.0")
        }
      }
      printf "\n%-62s %8s   %8s\n", "targets", "measured", "wanted"
      for (i = 1; i <= nverdicts; i++) print verdicts[i]
      printf "  \"targets\": [\n%s\n  ],\n  \"medians\": [\n%s\n  ],\n", targets, medians >summary
    }' "$samples"
}

write_json() {
  local file flavour
  mkdir -p bench-results
  file=bench-results/$(date -u +%Y-%m-%dT%H%M%SZ).json
  {
    echo '{'
    printf '  "date": "%s",\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    printf '  "commit": "%s",\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)"
    printf '  "machine": {"processors": %d, "model": "%s", "kernel": "%s", "load_before": %s},\n' "$(nproc)" \
      "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -dc '[:alnum:] ().@_-')" "$(uname -r)" "$load"
    printf '  "settings": {"rounds": %d, "most_rounds": %d, "seconds": %d, "proxy_threads": %d},\n' \
      "$rounds" "$most_rounds" "$seconds" "$threads"
    printf '  "versions": {"haproxy": "%s", "lockstead": "%s"' \
      "$("$cache/bin/haproxy" -v | sed -n '1s/^HAProxy version \([^ ]*\).*/\1/p')" "$("$lockstead" --version)"
    for flavour in "${flavours[@]}"; do printf ', "%s": "%s"' "$flavour" "$(cat "$work/$flavour.version")"; done
    printf '},\n'
    cat "$work/summary"
    echo '  "samples": ['
    awk -F'\t' '{ printf "%s    [\"%s\", \"%s\", %d, \"%s\", \"%s\", %s]", (NR > 1 ? ",\n" : ""), $1, $2, $3, $4, $5, $6 } END { print "" }' "$samples"
    printf '  ]\n}\n'
  } >"$work/result.json"
  mv "$work/result.json" "$file"
  printf '\nall figures: %s\n' "$file"
}

load=$(cut -d ' ' -f 1 /proc/loadavg)
if awk -v load="$load" 'BEGIN { exit !(load > 0.5) }'; then
  say "the machine is not idle (load $load): the figures will be less certain"
fi
for flavour in "${flavours[@]}"; do
  start_server "$flavour"
  for section in points idle locks; do
    ! wants "$section" || "measure_$section" "$flavour"
  done
  stop_server "$flavour"
done

printf 'threads of each proxy: %d (HAProxy nbthread, Router io threads, lockstead --workers)\n' "$threads"
printf 'processors of the machine, shared by load, proxy and server: %d\n' "$(nproc)"
report
write_json

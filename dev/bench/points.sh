# shellcheck shell=bash
# Point selects, for bench.sh, which sources this.

# sysbench looks for certificates where it runs, under names of its own.
sysbench_with_tls() {
  (cd "$work/sysbench-tls" && ssl=on sysbench_on "$@")
}

sysbench_on() {
  "$cache/bin/sysbench" oltp_point_select --db-driver=mysql --mysql-host=127.0.0.1 \
    --mysql-port="$1" --mysql-user=bench --mysql-password=bench --mysql-db=bench \
    "--mysql-ssl=${ssl:-off}" --tables=1 --table-size=10000 --db-ps-mode=disable "${@:2}"
}

# point FLAVOUR THREADS VARIANT [SECTION]
point() {
  local port before=0 after=0 section=${4:-points} run=sysbench_on
  port=$(port_of "$3")
  # Before HAProxy, another one speaks TLS in the client's place.
  [ "$section" = points ] || [ "$3" = haproxy ] || run=sysbench_with_tls
  [ "$section$3" != tlshaproxy ] || port=${proxy_port[tunnel]}
  [ "$3" = direct ] || before=$(processor "${proxy_pid[$3]}")
  "$run" "$port" --threads="$2" --time="$seconds" --report-interval=0 run >"$work/sysbench.log" 2>&1 ||
    die "sysbench failed: $(grep -m 3 FATAL "$work/sysbench.log")"
  [ "$3" = direct ] || after=$(processor "${proxy_pid[$3]}")
  # "queries:   123456 (24690.12 per sec.)"
  local queries rate
  read -r queries rate < <(sed -n 's/^ *queries: *\([0-9]*\) *(\([0-9.]*\) per sec.*/\1 \2/p' "$work/sysbench.log")
  add "$section" "$1" "$2" "$3" per_second "$rate"
  [ "$3" = direct ] ||
    add "$section" "$1" "$2" "$3" processor_us "$(awk -v t=$((after - before)) -v q="$queries" -v hz="$ticks" 'BEGIN { printf "%.3f", t * 1e6 / hz / q }')"
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
      undecided points "$flavour" per_second "$n" lockstead "$n" haproxy 0.95 ||
        undecided points "$flavour" processor_us "$n" lockstead "$n" haproxy 1.15 || break
    done
  done
  for variant in "${!proxy_pid[@]}"; do stop_proxy "$variant"; done
}

measure_tls() {
  local flavour=$1 n round variant variants=(direct haproxy lockstead)
  mkdir -p "$work/sysbench-tls"
  local tls=$work/server-$flavour/tls file
  for file in client-cert client-key; do cp "$tls/$file.pem" "$work/sysbench-tls/"; done
  cp "$tls/ca.pem" "$work/sysbench-tls/cacert.pem"
  cat "$tls/server-cert.pem" "$tls/server-key.pem" >"$work/haproxy.pem"
  sysbench_on "$server_port" prepare >"$work/sysbench.log" 2>&1 || true # or the table is there
  with_tls=$tls start_proxy haproxy
  with_tls=$tls start_proxy lockstead
  start_tunnel
  # Once unmeasured, as above.
  sysbench_with_tls "$(port_of lockstead)" --threads=16 --time=1 run >"$work/sysbench.log" 2>&1 || die "sysbench cannot work with TLS: $(grep -m 3 FATAL "$work/sysbench.log")"
  sysbench_on "${proxy_port[tunnel]}" --threads=16 --time=1 run >"$work/sysbench.log" 2>&1 || die "sysbench cannot work through the tunnel"
  for n in 1 16 64; do
    for ((round = 1; round <= rounds; round++)); do
      say "$flavour: TLS, $n threads, round $round"
      for variant in "${variants[@]}"; do point "$flavour" "$n" "$variant" tls; done
    done
  done
  for variant in "${!proxy_pid[@]}"; do stop_proxy "$variant"; done
}

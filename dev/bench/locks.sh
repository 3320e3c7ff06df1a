# shellcheck shell=bash
# Pairs of lock and unlock, for bench.sh, which sources this.

# pairs SECTION FLAVOUR CLIENTS VARIANT [OPTION...]: a run of the load. Its figures are not kept for
# SECTION -. Sets $pairs, their number.
pairs() {
  local section=$1 flavour=$2 clients=$3 variant=$4 mode=native port name value
  shift 4
  case $variant in
  native) port=$server_port ;;
  plain*) port=$server_port mode=plain ;;
  *) port=${proxy_port[$variant]} ;;
  esac
  "$lockpairs" "$mode" --port "$port" --clients "$clients" --seconds "$seconds" "$@" \
    >"$work/lockpairs.log" 2>&1 || die "the load failed: $(cat "$work/lockpairs.log")"
  for name in pairs_per_second mean_us p50_us p99_us max_us statement_p50_us driver_us_per_pair; do
    value=$(of_load "$name")
    [ -z "$value" ] || [ "$section" = - ] || add "$section" "$flavour" "$clients" "$variant" "$name" "$value"
  done
  pairs=$(of_load pairs)
}

# of_load NAME: a figure that the load printed.
of_load() { sed -n "s/.*\"$1\":\([0-9.e+]*\).*/\1/p" "$work/lockpairs.log"; }

measure_locks() {
  start_proxy haproxy
  start_proxy lockstead
  one_client "$1"
  many_clients "$1"
  stop_proxy haproxy
  stop_proxy lockstead
}

one_client() {
  local flavour=$1 round variant factor=1.6
  [ "$flavour" = mysql ] || factor=2.2
  for ((round = 1; round <= most_rounds; round++)); do
    say "$flavour: locks, 1 client, round $round"
    for variant in native haproxy plain lockstead; do pairs locks "$flavour" 1 "$variant"; done
    [ "$round" -ge "$rounds" ] || continue
    undecided locks "$flavour" p50_us 1 lockstead 1 plain "$factor" || break
  done
}

# Both numbers of clients take turns too: they are compared.
many_clients() {
  local flavour=$1 round n variant factor=3
  [ "$flavour" = mysql ] || factor=1.3
  for ((round = 1; round <= most_rounds; round++)); do
    say "$flavour: locks, 64 and $crowd clients, round $round"
    for n in 64 "$crowd"; do
      for variant in native haproxy plain lockstead; do pairs locks "$flavour" "$n" "$variant"; done
    done
    [ "$round" -ge "$rounds" ] || continue
    undecided locks "$flavour" pairs_per_second 64 lockstead 64 plain "$factor" ||
      undecided locks "$flavour" pairs_per_second 64 lockstead 64 haproxy 0.5 ||
      undecided locks "$flavour" pairs_per_second "$crowd" lockstead 64 lockstead 0.8 || break
  done
}

# One name that all want. The plain scheme has no way to wait; what it does for one client alone
# is beside it.
measure_hot() {
  local flavour=$1 round
  start_proxy lockstead
  for ((round = 1; round <= rounds; round++)); do
    say "$flavour: one hot name, round $round"
    pairs hot "$flavour" 16 native --hot
    pairs hot "$flavour" 1 plain
    pairs hot "$flavour" 16 lockstead --hot
  done
  stop_proxy lockstead
}

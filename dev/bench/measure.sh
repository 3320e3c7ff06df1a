# shellcheck shell=bash
# What the measurements of bench.sh share; sourced there.

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

# undecided SECTION FLAVOUR METRIC CLIENTS A CLIENTS B TARGET: whether the quartiles of A, and of B
# times the target, overlap.
undecided() {
  awk -F'\t' -v of="$1/$2/$3" -v a="$4/$5" -v b="$6/$7" -v target="$8" \
    -f dev/bench/statistics.awk -f dev/bench/undecided.awk "$samples"
}

# http PORT PATH: status line, headers and body. curl may be missing.
http() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
    cat <&3
  ) 2>/dev/null
}

# metric PROXY NAME: the value, with {labels} if there are any.
metric() { http "${proxy_http[$1]}" /metrics | awk -v name="$2" '$1 == name { print $2 }'; }

# calc EXPRESSION: of numbers.
calc() { awk "BEGIN { printf \"%.4f\", $1 }"; }

# counters: what the server counted so far: statements (pings and the like included), writes, bytes
# of binary log. To count is a statement too: see own_statements.
counters() {
  $client -N -e 'SHOW GLOBAL STATUS; SHOW BINARY LOGS' | awk '
    $1 == "Questions" || $1 == "Com_admin_commands" { statements += $2 }
    $1 ~ /^Com_(insert|insert_select|update|update_multi|delete|delete_multi|replace|replace_select)$/ { writes += $2 }
    $1 ~ /^binlog\./ { bytes += $2 }
    END { printf "%.0f %.0f %.0f\n", statements, writes, bytes }'
}

# own_statements: those of one call of counters. Nobody else may be connected.
own_statements() {
  local before after
  read -r before _ < <(counters)
  read -r after _ < <(counters)
  echo $((after - before))
}

# shellcheck shell=bash
# What the server does for a pair, for bench.sh, which sources this.

measure_cost() {
  local flavour=$1 round n variant own s1 w1 b1 s2 w2 b2
  own=$(own_statements)
  start_proxy lockstead
  # Once uncounted: rows come to be, statements are prepared.
  pairs - "$flavour" 64 lockstead
  for ((round = 1; round <= (rounds < 3 ? rounds : 3); round++)); do
    say "$flavour: cost of a pair, round $round"
    for n in 1 64; do
      for variant in native plain lockstead; do
        read -r s1 w1 b1 < <(counters)
        pairs cost "$flavour" "$n" "$variant"
        read -r s2 w2 b2 < <(counters)
        add cost "$flavour" "$n" "$variant" statements "$(calc "($s2 - $s1 - $own) / $pairs")"
        add cost "$flavour" "$n" "$variant" writes "$(calc "($w2 - $w1) / $pairs")"
        add cost "$flavour" "$n" "$variant" binlog_bytes "$(calc "($b2 - $b1) / $pairs")"
      done
    done
  done
  stop_proxy lockstead
}

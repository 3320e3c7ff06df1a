# shellcheck shell=bash
# Tables, targets and the file of all figures, for bench.sh, which sources this.

# The tables, from the samples; the targets and medians as JSON members into $work/summary.
report() {
  awk -F'\t' -v summary="$work/summary" -f dev/bench/statistics.awk -f dev/bench/report.awk "$samples"
}

# write_json LOAD: everything, with the load of the machine before.
write_json() {
  local file flavour
  mkdir -p bench-results
  file=bench-results/$(date -u +%Y-%m-%dT%H%M%SZ).json
  {
    echo '{'
    printf '  "date": "%s",\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    printf '  "commit": "%s",\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)"
    printf '  "machine": {"processors": %d, "model": "%s", "kernel": "%s", "load_before": %s},\n' "$(nproc)" \
      "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -dc '[:alnum:] ().@_-')" "$(uname -r)" "$1"
    printf '  "settings": {"rounds": %d, "most_rounds": %d, "seconds": %d, "proxy_threads": %d, "profile": "%s"},\n' \
      "$rounds" "$most_rounds" "$seconds" "$threads" "$profile"
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

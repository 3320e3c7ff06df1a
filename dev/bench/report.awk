# Tables and targets of bench.sh, from its samples: section, flavour, clients, variant, metric, value.

{
  key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
  value[key, ++count[key]] = $6
  if (count[key] == 1) keys[++total] = key
  if (!(($1, $2) in seen)) { seen[$1, $2] = 1; groups[++ngroups] = $1 SUBSEP $2 }
  if (!(($1, $2, $3) in seen)) { seen[$1, $2, $3] = 1; sizes[$1, $2] = sizes[$1, $2] " " $3 }
  if (!(($1, $2, "v", $4) in seen)) { seen[$1, $2, "v", $4] = 1; variants[$1, $2] = variants[$1, $2] " " $4 }
}

END {
  for (i = 1; i <= total; i++) quantiles(keys[i])
  for (g = 1; g <= ngroups; g++) {
    split(groups[g], k, SUBSEP); section = k[1]; flavour = k[2]
    nsizes = split(sizes[section, flavour], size, " ")
    nvariants = split(variants[section, flavour], variant, " ")
    head()
    for (i = 1; i <= nsizes; i++) for (j = 1; j <= nvariants; j++)
      if (has(size[i], variant[j])) row(size[i], variant[j])
    targets_of()
  }
  printf "\n%-66s %8s   %8s\n", "targets", "measured", "wanted"
  for (i = 1; i <= nverdicts; i++) print verdicts[i]
  printf "  \"targets\": [\n%s\n  ],\n  \"medians\": [\n%s\n  ],\n", targets, medians >summary
}

function quantiles(key,   n, j, v, k) {
  n = count[key]
  for (j = 1; j <= n; j++) v[j] = value[key, j]
  sort(v, n)
  med[key] = at(v, n, .5)
  p99[key] = at(v, n, .99)
  split(key, k, SUBSEP)
  medians = medians (medians ? ",\n" : "") sprintf("    {\"section\": \"%s\", \"flavour\": \"%s\", \"clients\": %d, \"variant\": \"%s\", \"metric\": \"%s\", \"samples\": %d, \"quartile1\": %.3f, \"median\": %.3f, \"quartile3\": %.3f, \"p99\": %.3f}", k[1], k[2], k[3], k[4], k[5], n, at(v, n, .25), med[key], at(v, n, .75), p99[key])
}

# Of the present section and flavour.
function of(n, variant, metric) { return section SUBSEP flavour SUBSEP n SUBSEP variant SUBSEP metric }
function median(n, variant, metric) { return of(n, variant, metric) in med ? med[of(n, variant, metric)] : 0 }
function ratio(metric, n, a, m, b) { return median(m, b, metric) ? median(n, a, metric) / median(m, b, metric) : 0 }
function has(n, variant,   i, k) {
  for (i = 1; i <= total; i++) {
    split(keys[i], k, SUBSEP)
    if (k[1] == section && k[2] == flavour && k[3] == n && k[4] == variant) return 1
  }
  return 0
}

function head() {
  printf "\n%s, %s\n", section == "rest" ? "a proxy at rest" : section, flavour
  if (section == "points" || section == "tls") printf "  %-8s %-10s %12s %16s %10s\n", "threads", "", "queries/s", "proxy us/query", "of HAProxy"
  if (section == "idle") printf "  %-8s %-10s %12s\n", "sessions", "", "KiB each"
  if (section == "rest") printf "  %-8s %-10s %12s %12s\n", "locks", "", "statements/s", "renewal us"
  if (section == "locks") printf "  %-8s %-10s %12s %10s %10s %10s %10s %10s\n", "clients", "", "pairs/s", "p50 us", "p99 us", "of plain", "of HAProxy", "load us"
  if (section == "windows") printf "  %-8s %-10s %10s %10s %10s\n", "us", "", "p50", "p99", "of alone"
  if (section == "hot") printf "  %-8s %-10s %12s %10s %10s\n", "clients", "", "pairs/s", "p50 us", "p99 us"
  if (section == "handover") printf "  %-8s %-10s %10s %10s %10s %10s %10s %10s\n", "us", "", "reply p50", "reply p99", "send p50", "send p99", "woken", "commit p50"
  if (section == "cost") printf "  %-8s %-10s %12s %12s %12s %12s\n", "clients", "", "statements", "writes", "binlog bytes", "pairs/s"
}

function row(n, w) {
  printf "  %-8s %-10s ", n, w
  if (section == "points" || section == "tls") printf "%12.0f %16s %10.3f\n", median(n, w, "per_second"), w == "direct" ? "" : sprintf("%.2f", median(n, w, "processor_us")), ratio("per_second", n, w, n, "haproxy")
  if (section == "idle") printf "%12.2f\n", median(n, w, "kib_per_session")
  if (section == "rest") printf "%12.2f %12.0f\n", median(n, w, "statements_per_second"), median(n, w, "renewal_us")
  if (section == "locks") printf "%12.0f %10.0f %10.0f %10.3f %10.3f %10.1f\n", median(n, w, "pairs_per_second"), median(n, w, "p50_us"), median(n, w, "p99_us"), ratio("pairs_per_second", n, w, n, "plain"), ratio("pairs_per_second", n, w, n, "haproxy"), median(n, w, "driver_us_per_pair")
  if (section == "windows") printf "%10.0f %10.0f %10s\n", median(n, w, "p50_us"), median(n, w, "p99_us"), w == "watched" ? sprintf("%.3f", median(n, w, "of_alone")) : ""
  if (section == "hot") printf "%12.0f %10.0f %10.0f\n", median(n, w, "pairs_per_second"), median(n, w, "p50_us"), median(n, w, "p99_us")
  if (section == "handover" && w ~ /^plain/) printf "%10s %10s %10s %10s %10s %10.0f\n", "", "", "", "", "", median(n, w, "statement_p50_us")
  if (section == "handover" && w !~ /^plain/) printf "%10.0f %10.0f %10.0f %10.0f %10s\n", median(n, w, "after_reply_us"), p99[of(n, w, "after_reply_us")], median(n, w, "after_send_us"), p99[of(n, w, "after_send_us")], w == "lockstead" ? sprintf("%.2f", median(n, w, "woken")) : ""
  if (section == "cost") printf "%12.3f %12.3f %12.0f %12.0f\n", median(n, w, "statements"), median(n, w, "writes"), median(n, w, "binlog_bytes"), median(n, w, "pairs_per_second")
}

function judge(what, value, sign, target,   met) {
  target += 0 # a number, or awk would compare texts
  what = flavour ": " what
  met = sign == ">=" ? value >= target : sign == ">" ? value > target : value <= target
  verdicts[++nverdicts] = sprintf("%-66s %8.2f   %-2s %5.2f   %s", what, value, sign, target, (met ? "met" : "MISSED"))
  targets = targets (targets ? ",\n" : "") sprintf("    {\"target\": \"%s\", \"value\": %.4f, \"must_be\": \"%s %.2f\", \"met\": %s}", what, value, sign, target, met ? "true" : "false")
}

function targets_of(   i, n, name, crowd, commit) {
  if (section == "points") for (i = 1; i <= nsizes; i++) {
    n = size[i]; name = "point selects, " n " threads, "
    if (n != 256) {
      judge(name "rate Lockstead/HAProxy", ratio("per_second", n, "lockstead", n, "haproxy"), ">=", 0.95)
      judge(name "processor Lockstead/HAProxy", ratio("processor_us", n, "lockstead", n, "haproxy"), "<=", 1.15)
    }
    if (has(n, "router")) judge(name "rate Lockstead/Router", ratio("per_second", n, "lockstead", n, "router"), ">", 1)
  }
  if (section == "tls") for (i = 1; i <= nsizes; i++)
    judge("TLS, " size[i] " threads, processor Lockstead/HAProxy", ratio("processor_us", size[i], "lockstead", size[i], "haproxy"), "<=", 1.15)
  if (section == "idle") for (i = 1; i <= nsizes; i++)
    judge("KiB for an idle session, of " size[i], median(size[i], "lockstead", "kib_per_session"), "<=", 12)
  if (section == "rest") {
    for (i = 1; i <= nsizes; i++)
      judge("statements/s of a proxy at rest, " size[i] " locks held", median(size[i], "lockstead", "statements_per_second"), "<=", 3)
    judge("time of a renewal, " size[nsizes] " locks held/none", ratio("renewal_us", size[nsizes], "lockstead", size[1], "lockstead"), "<=", 1.5)
  }
  if (section == "locks") {
    crowd = size[nsizes]
    judge("time of a pair, 1 client, Lockstead/plain", ratio("p50_us", 1, "lockstead", 1, "plain"), "<=", flavour == "mysql" ? 1.6 : 2.2)
    judge("pairs/s, 64 clients, Lockstead/plain", ratio("pairs_per_second", 64, "lockstead", 64, "plain"), ">=", flavour == "mysql" ? 3 : 1.3)
    judge("pairs/s, 64 clients, Lockstead/HAProxy with native locks", ratio("pairs_per_second", 64, "lockstead", 64, "haproxy"), ">=", 0.5)
    judge("pairs/s of Lockstead, " crowd " clients/64", ratio("pairs_per_second", crowd, "lockstead", 64, "lockstead"), ">=", 0.8)
  }
  if (section == "hot")
    judge("grants/s of a hot name, 16 clients/plain, 1 client, no contention", ratio("pairs_per_second", 16, "lockstead", 1, "plain"), ">=", 1)
  if (section == "windows") {
    judge("ms of the page, p99", median(size[1], "page", "p99_us") / 1e3, "<=", 200)
    judge("ms of a status that is made anew, p99", median(size[1], "anew", "p99_us") / 1e3, "<=", 200)
    judge("ms of a scrape, p99", median(size[1], "metrics", "p99_us") / 1e3, "<=", 50)
    judge("time of a lock pair, watched/alone", median(size[1], "watched", "of_alone"), "<=", 1.05)
  }
  if (section == "handover") {
    commit = median(1, "plain", "statement_p50_us")
    judge("ms of a hand-over from the release's reply, less one commit", (median(2, "lockstead", "after_reply_us") - commit) / 1e3, "<=", 1)
    judge("ms of a hand-over from the release sent, less one commit", (median(2, "lockstead", "after_send_us") - commit) / 1e3, "<=", 1)
  }
}

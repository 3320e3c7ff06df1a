# shellcheck shell=bash
# A lock that goes from one client to another, for bench.sh, which sources this.

# hand_over FLAVOUR VARIANT PORT OTHER-PORT LEAST-WAIT
hand_over() {
  local after_reply after_send
  "$lockpairs" handover --port "$3" --other-port "$4" --waits "$5" --count "$handovers" \
    >"$work/handover.log" 2>&1 || die "a hand-over failed: $(tail -n 1 "$work/handover.log")"
  while read -r after_reply after_send; do
    add handover "$1" 2 "$2" after_reply_us "$after_reply"
    add handover "$1" 2 "$2" after_send_us "$after_send"
  done <"$work/handover.log"
}

rings() {
  local name='lockstead_rings_total{result="rung"}'
  echo $(($(metric lockstead "$name") + $(metric second "$name")))
}

# Between two proxies, and natively; and the time of one commit, busy and as rarely as here.
measure_handover() {
  local flavour=$1 round before after
  start_proxy lockstead
  start_proxy second
  # Both must have seen the other's lease, or nobody is woken.
  sleep 5
  for ((round = 1; round <= rounds; round++)); do
    say "$flavour: hand-overs, round $round"
    hand_over "$flavour" native "$server_port" "$server_port" 20
    before=$(rings)
    hand_over "$flavour" lockstead "${proxy_port[lockstead]}" "${proxy_port[second]}" 100
    after=$(rings)
    add handover "$flavour" 2 lockstead woken "$(calc "($after - $before) / $handovers")"
    pairs handover "$flavour" 1 plain
    pairs handover "$flavour" 1 plain-rare --pause 40
  done
  stop_proxy second
  stop_proxy lockstead
}

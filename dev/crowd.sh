# shellcheck shell=bash
# A crowd: clients that all do the like, each a process and a session of its own. Sourced after common.sh, not run.
# $tmp, $pid and $CLIENT are set there and by the script itself.
# shellcheck disable=SC2154

declare -a crowd_in crowd_pids said

# crowd_enters PORT COUNT OPTIONS-FILE: so many log in at PORT.
crowd_enters() {
  local n fd
  crowd_in=() crowd_pids=()
  for ((n = 0; n < $2; n++)); do
    rm -f "$tmp/crowd-$n.in" "$tmp/crowd-$n.out"
    mkfifo "$tmp/crowd-$n.in"
    # Both ends held open: nobody waits for the other side to open its end.
    exec {fd}<>"$tmp/crowd-$n.in"
    crowd_in[n]=$fd
    group "${CLIENT%% *}" --defaults-file="$3" -P "$1" -n -N -B <"$tmp/crowd-$n.in" >>"$tmp/crowd-$n.out" 2>&1
    crowd_pids[n]=$pid
  done
}

# crowd_asks SQL: each runs it, with its number for %n and that of its neighbour for %m.
# Sets said, what each has answered, when all have.
crowd_asks() {
  local n sql count=${#crowd_in[@]} deadline=$((SECONDS + 120))
  said=()
  say "  each> $1"
  for ((n = 0; n < count; n++)); do
    sql=${1//%n/$n}
    : >"$tmp/crowd-$n.out"
    printf '%s;\n' "${sql//%m/$(((n + 1) % count))}" >&"${crowd_in[n]}"
  done
  for ((n = 0; n < count; n++)); do
    # A whole line.
    until [ -n "$(tail -c 1 "$tmp/crowd-$n.out" | tr '\n' x)" ]; do
      [ $SECONDS -lt $deadline ] || die "client $n of the crowd has no answer after 120 s"
      sleep 0.05
    done
    said[n]=$(<"$tmp/crowd-$n.out")
  done
}

# crowd_answers VALUE: what all must have answered.
crowd_answers() {
  local n
  for ((n = 0; n < ${#crowd_in[@]}; n++)); do
    [ "${said[n]}" = "$1" ] || die "client $n of the crowd should have got $1, but got: ${said[n]}"
  done
  say "  all ${#crowd_in[@]}: $1"
}

# crowd_leaves: all are ended.
crowd_leaves() {
  local n fd
  for ((n = 0; n < ${#crowd_in[@]}; n++)); do
    fd=${crowd_in[n]}
    end "${crowd_pids[n]}"
    exec {fd}>&-
  done
  crowd_in=() crowd_pids=()
}

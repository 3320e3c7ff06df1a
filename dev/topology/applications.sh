# shellcheck shell=bash
# Applications at work through a failover: steps of dev/test-failover.sh, which sources this after dev/topology/proxies.sh.
#
# Each has some clients that write numbered rows through the proxies, and compares what they got with the rows that are there.

# writes NAME PROXY FROM: a client that writes rows from this number on, one by itself and two in a transaction, until told to
# stop. Its errors are among its answers, beside the server's time after each transaction.
writes() {
  local i=$3
  {
    until [ -e "$tmp/enough" ]; do
      printf '%s\n' "INSERT INTO rig.w VALUES ($((i + 1)));" 'BEGIN;' "INSERT INTO rig.w VALUES ($((i + 2)));" \
        "INSERT INTO rig.w VALUES ($((i + 3)));" 'COMMIT;' "SELECT 'at', TIME_TO_SEC(SYSDATE(6)), SYSDATE(6);"
      i=$((i + 3))
      sleep 0.05
    done
    printf '%s\n' "$((i - $3))" >"$tmp/wrote-$1"
  } | through "$2" >"$tmp/$1.out" 2>&1
}

# through PROXY: a client of an application that goes on after errors.
through() {
  local c=CLIENT$1
  c=${!c}
  "${c%% *}" --defaults-file="$tmp/app-$1.cnf" --force --unbuffered --skip-reconnect -N -B
}

# comes: one client after the other.
comes() {
  until [ -e "$tmp/enough" ]; do
    as=-come limit=60 app 5 "INSERT INTO rig.taken (node) VALUES (5)" || cat "$tmp/app-5-come.err" >>"$tmp/turned-away"
    sleep 0.1
  done
}

# drain PROXY: lets statements wait there until the switch, and returns when no transaction is open.
drain() {
  "$bin" drain-primary --hold 50s --admin "unix:$tmp/state-$name-$1/admin.sock" >"$tmp/ready-$1" 2>&1
}

# No client gets an error, no row is missing, and the lock stays.
test_prepared() {
  local began ready moved client n wrote=0 drains=() clients=(a:4:1000000 b:4:2000000 c:5:3000000 d:5:4000000)
  rm -f "$tmp"/{enough,turned-away,wrote-*}
  : >"$tmp/rival"
  administrate <<<'CREATE TABLE IF NOT EXISTS rig.w (id INT PRIMARY KEY); DELETE FROM rig.w'
  session holder 4
  [ "$(tell holder "SELECT GET_LOCK('k', 5);")" = 1 ] || die "no lock: $(cat "$tmp/holder.out")"
  # shellcheck disable=SC2086 # three words
  for client in "${clients[@]}"; do group writes ${client//:/ }; done
  group comes
  waited 20 'the clients write' has_times >/dev/null
  began=$(now)
  for n in 4 5; do
    drain "$n" &
    drains+=($!)
  done
  for n in "${drains[@]}"; do wait "$n" || die "no quiet moment: $(cat "$tmp"/ready-*)"; done
  ready=$(now)
  topology switch
  waited 60 'statements go on' all_moved >/dev/null
  moved=$(now)
  sleep 3
  : >"$tmp/enough"
  for client in "${clients[@]}"; do
    n=${client%%:*}
    waited 30 'a client ends' cat_wrote "$n" >/dev/null
    wrote=$((wrote + $(cat_wrote "$n")))
  done
  waited 30 'all rows are there' has_rows "$wrote" >/dev/null
  ! grep -h ERROR "$tmp"/{a,b,c,d}.out || die 'no client should get an error'
  [ ! -s "$tmp/turned-away" ] || die "no client should be turned away: $(sort "$tmp/turned-away" | uniq -c)"
  [ "$(mine)" = mine ] || die 'the lock should be held still'
  [ "$(tell holder "SELECT RELEASE_LOCK('k');")" = 1 ] || die 'no release'
  say "  prepared: ready after $(since "$began" "$ready"), statements go on $(since "$ready" "$moved") later; $wrote rows, no error; longest time without an answer $(longest_gap)"
  [ -z "$timeline" ] || tell_timeline "$began"
  # The next step begins after the grace.
  waited 60 'another lock is granted' grants >/dev/null
  follow_theirs
  end_clients 2
}

grants() { [ "$(limit=8 as=-new app 5 "SELECT GET_LOCK('other', 0)" || true)" = 1 ] && echo yes; }
has_times() { grep -m 1 -h ^at "$tmp/d.out" 2>/dev/null; }
cat_wrote() { cat "$tmp/wrote-$1" 2>/dev/null; }
all_moved() {
  [ "$(of 4 'lockstead_switchovers_total{end="moved"}')" != 0 ] && [ "$(of 5 'lockstead_switchovers_total{end="moved"}')" != 0 ] && echo yes
}
has_rows() { [ "$(app 4 'SELECT COUNT(*) FROM rig.w')" = "$1" ] && echo yes; }

# longest_gap: between two transactions of a client, by its server's clock.
longest_gap() {
  awk '/^at/ { if (FILENAME == file && $2 - last > most) most = $2 - last; last = $2; file = FILENAME }
    END { printf "%.1f s\n", most }' "$tmp"/{a,b,c,d}.out
}

# commits NAME PROXY FROM: a client that commits numbered rows, one a transaction, until told to stop. Its answers, and errors, are
# between the numbers.
commits() {
  local i=$3
  until [ -e "$tmp/enough" ]; do
    # One that loses its session comes again.
    until [ -e "$tmp/enough" ]; do
      i=$((i + 1))
      printf '%s\n' "SELECT 'begins', $i;" BEGIN\; "INSERT INTO rig.w VALUES ($i);" 'COMMIT;' "SELECT 'ends', $i;"
      printf '%s\n' "$i" >"$tmp/last-$1"
      sleep 0.02
    done | through "$2" >>"$tmp/$1.out" 2>&1 || true
    i=$(cat "$tmp/last-$1")
    sleep 0.2
  done
}

# judged: of each transaction, its number and what the client was told: committed, rolled-back or unknown.
judged() {
  awk '$1 == "begins" { if (id) print id, "unknown"; id = $2; told = "committed" }
    /^ERROR (2006|2013|1105|4031|1053)/ { if (told == "committed") told = "unknown" }
    /^ERROR/ && !/^ERROR (2006|2013|1105|4031|1053)/ { if (told == "committed") told = "rolled-back" }
    $1 == "ends" && $2 == id { print id, told; id = 0 }
    END { if (id) print id, "unknown" }' "$tmp"/{a,b,c,d,e,f}.out | sort
}

test_outcomes() {
  local client from=$WRITER_NODE wrong counts
  rm -f "$tmp"/{enough,last-*,?.out}
  : >"$tmp/rival"
  administrate <<<'CREATE TABLE IF NOT EXISTS rig.w (id INT PRIMARY KEY); DELETE FROM rig.w'
  # shellcheck disable=SC2086 # three words
  for client in a:4:1000000 b:4:2000000 c:4:3000000 d:5:4000000 e:5:5000000 f:5:6000000; do group commits ${client//:/ }; done
  waited 20 'the clients write' has_ends >/dev/null
  sleep 1
  topology cut
  topology failover
  waited 60 'proxies follow' both_follow_another "$from" >/dev/null
  sleep 2
  topology heal
  topology rejoin --node "$from"
  sleep 2
  : >"$tmp/enough"
  end_clients 2
  judged >"$tmp/judged"
  app 5 'SELECT id FROM rig.w' | sort >"$tmp/there"
  wrong=$(join -a 1 -e - -o 1.1,1.2,2.2 "$tmp/judged" <(sed 's/$/ there/' "$tmp/there") |
    awk '$2 == "committed" && $3 == "-" || $2 == "rolled-back" && $3 == "there"')
  [ -z "$wrong" ] || die "applications were told wrong: $wrong"
  counts=$(join -a 1 -e - -o 1.2,2.2 "$tmp/judged" <(sed 's/$/ there/' "$tmp/there") | sort | uniq -c | awk '{ print $1, $2 ($3 == "there" ? " and there" : "") }' | paste -sd, -)
  say "  outcomes: $counts"
}

has_ends() { grep -l ends "$tmp"/{a,b,c,d,e,f}.out 2>/dev/null | wc -l | grep -x 6; }
both_follow_another() { ! is_writer 4 "$1" && ! is_writer 5 "$1" && [ "$(of 4 lockstead_lease_good)" = 1 ] && [ "$(of 5 lockstead_lease_good)" = 1 ] && echo yes; }

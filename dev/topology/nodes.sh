# shellcheck shell=bash
# The servers of a topology, each by dev/server.sh; sourced by dev/topology.sh.
#
# $folder has:  template  a server that was initialised and stopped: every node begins as a
#                         copy of its data, so that all have the same past
#               node1...  a server each
#               id1...    its server id
#               writer    the number of the node where clients write
#               lost      the number of the writer that was lost last, and lost-at when

nodes='1 2 3'

say() { printf 'topology: %s\n' "$*"; }
die() {
  printf 'topology: %s\n' "$*" >&2
  exit 1
}

# await SECONDS WHAT COMMAND...: until the command succeeds.
await() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $deadline ] || die "$what: not in time"
    sleep 0.05
  done
}

# sql N STATEMENTS: as root; rows without headings. Bounded, since a server that is cut off may
# leave a statement without an answer.
sql() {
  local status=0
  timeout -k 1 "${limit:-60}" "$client" "--defaults-file=$folder/node$1/client.cnf" --connect-timeout=5 -N -B -e "$2" || status=$?
  [ $status -ne 124 ] || printf 'topology: node %s gives no answer within %s s: %s\n' "$1" "${limit:-60}" "$2" >&2
  return $status
}

# ask N STATEMENTS: the same where no answer is an answer too.
ask() { limit=${limit:-5} sql "$@" 2>/dev/null; }

port_of() { sed -n 's/^PORT=//p' "$folder/node$1/server.env"; }

# pid_of N: nothing if it does not run.
pid_of() {
  local pid
  pid=$(cat "$folder/node$1/pid" 2>/dev/null) &&
    grep -qzxF -- "--datadir=$folder/node$1/data" "/proc/$pid/cmdline" 2>/dev/null && printf '%s\n' "$pid"
}

# reachable N: for the other nodes.
reachable() { ! is_cut "$1" && pid_of "$1" >/dev/null; }

writer() { cat "$folder/writer"; }

# others N: the nodes beside it that run and are not cut off.
others() {
  local n
  for n in $nodes; do [ "$n" = "$1" ] || ! reachable "$n" || printf '%s ' "$n"; done
}

# inner_port 1...6: ports for the nodes among themselves, chosen once: above those of
# dev/server.sh, below those that the kernel hands out to outgoing connections.
inner_port() {
  local first port
  while [ ! -s "$folder/inner-port" ]; do
    first=$((32000 + RANDOM % 120 * 6))
    for ((port = first; port < first + 6; port++)); do
      ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue 2
    done
    printf '%s\n' "$first" >"$folder/inner-port"
  done
  printf '%s\n' $(($(cat "$folder/inner-port") + $1 - 1))
}

# small: what a node needs not have. The performance schema grows with the connections.
small=(--innodb-buffer-pool-size=32M --max-connections=500)

# The accounts of a topology: one for the nodes among themselves, and one for an application,
# which cannot write while a server is read-only. root can, on MariaDB.
accounts() {
  echo "SET sql_log_bin = 0;"
  echo "CREATE USER repl@'%' IDENTIFIED BY 'repl';"
  # MariaDB calls the first of them REPLICATION SLAVE, too.
  echo "GRANT REPLICATION SLAVE ON *.* TO repl@'%';"
  [ "$flavour" != mysql ] || echo "GRANT CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO repl@'%';"
  echo "CREATE USER app@'127.0.0.%' IDENTIFIED BY 'app';"
  echo "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON *.* TO app@'127.0.0.%';"
}

make_template() {
  local data=$folder/template/data
  # The logs are copied too.
  if [ "$flavour" = mysql ]; then small+=(--innodb-redo-log-capacity=16M); else small+=(--innodb-log-file-size=16M); fi
  "$dev/server.sh" start "$flavour" "$folder/template" "${small[@]}"
  accounts | "$client" "--defaults-file=$folder/template/client.cnf"
  "$dev/server.sh" stop "$folder/template"
  # The copies shall have other identities, and binary logs from their own beginning.
  rm -f "$data"/auto.cnf "$data"/binlog.*
}

# start_nodes N...: new servers, at the same time. own_options sets $own, the options of a kind.
start_nodes() {
  local n starts=() failed=''
  for n in "$@"; do
    printf '%s\n' "$n" >"$folder/id$n"
    listening "$n"
    own_options "$n"
    LOCKSTEAD_SERVER_DATA=$folder/template/data LOCKSTEAD_SERVER_RUN=$(runner "$n") \
      "$dev/server.sh" start "$flavour" "$folder/node$n" "${small[@]}" "${listen[@]}" "${own[@]}" "--server-id=$n" &
    starts+=($!)
  done
  # All of them, so that none is on its way when the others are removed.
  for n in "${starts[@]}"; do wait "$n" || failed+="$n "; done
  [ -z "$failed" ] || die 'a node did not start'
}

# restart_node N [OPTION...]
restart_node() {
  "$dev/server.sh" restart "$folder/node$1" "--server-id=$(cat "$folder/id$1")" "${@:2}"
}

kill_node() { "$dev/server.sh" kill "$folder/node$1"; }

# refill_node N: its data as at the beginning; what happened since comes from the others. It gets a new server
# id: under its old one it would take its own old transactions, which come back to it,
# for done, and skip them without a word.
refill_node() {
  local n=$1
  kill_node "$n"
  rm -rf "$folder/node$n/data"
  cp -a --reflink=auto "$folder/template/data" "$folder/node$n/data"
  printf '%s\n' $(($(cat "$folder/id$n") + 10)) >"$folder/id$n"
}

write_env() {
  local n
  {
    printf 'TOPOLOGY=%q\nFLAVOUR=%q\n' "$kind" "$flavour"
    for n in $nodes; do
      printf 'NODE%s=%q\n' "$n" "mysql://root:rootpw@127.0.0.1:$(port_of "$n")/"
      printf 'CLIENT%s=%q\n' "$n" "$client --defaults-file=$folder/node$n/client.cnf"
    done
    printf 'WRITER=%q\nWRITER_NODE=%q\n' "mysql://root:rootpw@127.0.0.1:$(port_of "$(writer)")/" "$(writer)"
  } >"$folder/topology.env.new"
  mv "$folder/topology.env.new" "$folder/topology.env"
}

# set_writer N
set_writer() {
  printf '%s\n' "$1" >"$folder/writer"
  write_env
}

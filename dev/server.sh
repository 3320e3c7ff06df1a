#!/usr/bin/env bash
# Private servers for tests and benchmarks; fetch them with dev/install.sh first.
#
#   dev/server.sh start mysql|mariadb|mariadb118 DIR [server option...]
#   dev/server.sh stop DIR      clean shutdown
#   dev/server.sh kill DIR      kill -9
#   dev/server.sh restart DIR [server option...]
#                               after stop or kill: same port, data and options; those
#                               given here hold for this run alone
#
# Everything of a server is in DIR, which start creates: data, tmp, tls, socket, pid
# and error.log. It offers TLS with DIR/tls/server-cert.pem; ca.pem is beside it
# (dev/certificates.sh). Its port on 127.0.0.1 is chosen again at every start. DIR/server.env
# has, as shell assignments: FLAVOUR (mysql or mariadb) HOST PORT SOCKET PID URL CLIENT.
# CLIENT is the command line client with the options it needs, to be used unquoted;
# options may follow: $CLIENT -P 4000 -e 'SELECT 1'.
# The administrative account is root with the password rootpw, for connections
# from 127.0.0.x and through the socket. The servers are equally durable: binary
# log on, and both it and the redo log synced at every commit.
#
# LOCKSTEAD_SERVER_SYNC=off leaves the syncing out, for tests: a server that is killed
# loses nothing by that, since what it wrote is in the system's memory.
#
# LOCKSTEAD_SERVER_TEMPLATES names a folder where the first server of a kind leaves its
# data as they were initialised, and its certificates; the next ones begin with a copy.
#
# For servers that form a cluster (dev/topology.sh): LOCKSTEAD_SERVER_DATA names a data
# folder of a stopped server, of which start takes a copy instead of a new one;
# LOCKSTEAD_SERVER_RUN a program that runs the server, as its arguments, in the same
# process (restart uses it too).
set -euo pipefail

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
patience=${LOCKSTEAD_START_SECONDS:-120}

die() { printf 'server: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '4,9s/^# *//p' "$0" >&2; exit 2; }

# Is process PID the server of $dir? Process ids are used again, and a dead
# process that nobody waited for has an empty command line.
is_ours() {
  grep -qzxF -- "--datadir=$dir/data" "/proc/$1/cmdline" 2>/dev/null
}

running() {
  local pid
  pid=$(cat "$dir/pid" 2>/dev/null) && [ -n "$pid" ] && is_ours "$pid" && printf '%s\n' "$pid"
}

# until_gone PID SECONDS
until_gone() {
  local deadline=$((SECONDS + $2))
  while is_ours "$1"; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.05
  done
}

# A port below the range that the kernel hands out to outgoing connections.
# Somebody may still take it before the server does: see start.
free_port() {
  local port
  while :; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf '%s\n' "$port"
}

# Sets $flavour, $daemon, $client, $root and $share.
find_programs() {
  case $1 in
  mysql) flavour=mysql daemon=$cache/bin/mysqld client=$cache/bin/mysql ;;
  mariadb) flavour=mariadb daemon=$cache/bin/mariadbd client=$cache/bin/mariadb ;;
  mariadb118) flavour=mariadb daemon=$cache/bin/$1/mariadbd client=$cache/bin/$1/mariadb ;;
  *) usage ;;
  esac
  if [ ! -x "$daemon" ] || [ ! -x "$client" ]; then
    die "there is no $1 in $cache; run dev/install.sh $1"
  fi
  root=$cache/$1
  share=$root/usr/share/mariadb # of newer packages of MariaDB
  [ -d "$share/charsets" ] || share=$root/usr/share/mysql
}

# Options that initialisation needs as well: where things are.
base_options() {
  base=(--no-defaults "--basedir=$root/usr" "--datadir=$dir/data" "--tmpdir=$dir/tmp"
    "--plugin-dir=$root/usr/lib/mysql/plugin" "--lc-messages-dir=$share"
    "--character-sets-dir=$share/charsets"
    "--secure-file-priv=$dir/tmp" "--innodb-buffer-pool-size=128M")
  # Servers refuse to run as root unless told to.
  [ "$(id -u)" -ne 0 ] || base+=(--user=root)
}

accounts() {
  local how="IDENTIFIED BY 'rootpw'"
  [ "$1" = mariadb ] || how="IDENTIFIED WITH caching_sha2_password BY 'rootpw'"
  if [ "$1" = mysql ]; then
    echo "ALTER USER root@localhost $how;"
  else
    # Initialisation runs without privileges; the first statement loads them.
    echo "FLUSH PRIVILEGES;"
    echo "CREATE OR REPLACE USER root@localhost $how;"
  fi
  echo "CREATE USER root@'127.0.0.%' $how;"
  echo "GRANT ALL PRIVILEGES ON *.* TO root@localhost WITH GRANT OPTION;"
  echo "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.%' WITH GRANT OPTION;"
}

initialise_mysql() {
  accounts mysql >"$dir/tmp/accounts.sql"
  "$daemon" "${base[@]}" --initialize-insecure "--init-file=$dir/tmp/accounts.sql" \
    "--log-error=$dir/error.log" &
  pid=$! # for failed, which ends it if this script is ended
  wait "$pid" && rm "$dir/tmp/accounts.sql"
}

# What mariadb-install-db does, less its search for the parts of an installation.
initialise_mariadb() {
  local part
  mkdir "$dir/data/mysql"
  {
    echo 'USE mysql;'
    # Asks for accounts without a password, which are then removed.
    echo 'SET @auth_root_socket = NULL;'
    for part in system_tables performance_tables system_tables_data \
      fill_help_tables maria_add_gis_sp_bootstrap sys_schema; do
      # Named mysql_PART, mariadb_PART or PART.
      cat "$share"/{mysql_,mariadb_,}"$part".sql 2>/dev/null || true
    done
    echo "DELETE FROM mysql.global_priv WHERE User IN ('', 'root');"
    echo 'DELETE FROM mysql.proxies_priv;'
    accounts mariadb
  } | "$daemon" "${base[@]}" --bootstrap --max-allowed-packet=8M --net-buffer-length=16K \
    --log-warnings=0 --enforce-storage-engine= >>"$dir/error.log" 2>&1 &
  pid=$!
  wait "$pid"
}

# Sets $options, the server's options but for its port.
server_options() {
  # Both servers want some thousands of files besides the connections.
  ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
  local files connections=6000
  files=$(ulimit -n)
  if [ "$files" != unlimited ] && [ "$files" -lt 9000 ]; then
    connections=$((files > 1500 ? files - 1400 : 100))
  fi
  # Names are resolved (the default), since without that there's no host cache;
  # all accounts here match by address.
  options=("${base[@]}"
    --bind-address=127.0.0.1 "--socket=$dir/socket" "--pid-file=$dir/pid"
    "--log-error=$dir/error.log"
    --server-id=1 --log-bin=binlog --binlog-format=ROW --sync-binlog=1
    --innodb-flush-log-at-trx-commit=1 "--max-connections=$connections" --local-infile=1
    --long-query-time=3600 # a busy machine's slow statement would have another status flag
    "--ssl-ca=$dir/tls/ca.pem" "--ssl-cert=$dir/tls/server-cert.pem"
    "--ssl-key=$dir/tls/server-key.pem")
  [ "$1" = mariadb ] || options+=(--mysqlx=OFF)
  [ "${LOCKSTEAD_SERVER_SYNC:-on}" = on ] ||
    options+=(--innodb-flush-method=nosync --sync-binlog=0)
}

write_env() {
  {
    printf 'FLAVOUR=%q\nHOST=127.0.0.1\nPORT=%q\n' "$flavour" "$port"
    printf 'SOCKET=%q\nPID=%q\n' "$dir/socket" "$pid"
    printf 'URL=%q\n' "mysql://root:rootpw@127.0.0.1:$port/"
    printf 'CLIENT=%q\n' "$client --defaults-file=$dir/client.cnf"
  } >"$dir/server.env.new"
  # Whole or not at all, for a reader at the same time.
  mv "$dir/server.env.new" "$dir/server.env"
}

write_client_options() {
  {
    printf '%s\n' '[client]' 'protocol=tcp' 'host=127.0.0.1' "port=$port" user=root password=rootpw
    # For a new account's first connection without TLS, which is how MySQL's
    # present authentication gets the password across.
    [ "$flavour" != mysql ] || echo get-server-public-key
    printf '%s\n' '[mysql]' local-infile=1 # MariaDB's client reads it too
    # MySQL's newer clients know \G and the like only when told to.
    [ "$flavour" != mysql ] || echo loose-commands
  } >"$dir/client.cnf"
}

# launch [OPTION...]: runs the server on $port and waits until it answers.
# Returns 1 if the port was taken meanwhile.
launch() {
  local from deadline
  rm -f "$dir/pid" "$dir/socket" "$dir"/socket.lock
  touch "$dir/error.log"
  from=$(stat -c %s "$dir/error.log")
  (
    # Out of reach of the terminal, and holding no file or folder of the caller's open.
    cd /
    exec </dev/null >>"$dir/error.log" 2>&1
    for fd in /proc/"$BASHPID"/fd/*; do
      fd=${fd##*/}
      [ "$fd" -le 2 ] || exec {fd}>&-
    done
    # A name server that does not answer must not delay connections for long.
    export RES_OPTIONS='timeout:1 attempts:1'
    exec setsid ${run:+"$run"} "$daemon" "${options[@]}" "--port=$port" ${extra[@]+"${extra[@]}"} "$@"
  ) &
  pid=$!
  disown "$pid"
  write_client_options
  deadline=$((SECONDS + patience))
  until "$client" "--defaults-file=$dir/client.cnf" --connect-timeout=5 -e 'SELECT 1' >"$dir/tmp/answer" 2>&1 &&
    [ "$(cat "$dir/pid" 2>/dev/null)" = "$pid" ]; do
    if ! kill -0 "$pid" 2>/dev/null; then
      tail -c +$((from + 1)) "$dir/error.log" | grep -qiE 'address already in use|port: .*in use' && return 1
      die "the server ended while starting"
    fi
    [ $SECONDS -lt $deadline ] || die "the server did not answer within $patience s: $(cat "$dir/tmp/answer")"
    sleep 0.1
  done
  rm "$dir/tmp/answer"
  write_env
}

# A start that fails leaves no process, and of its files the log alone.
failed() {
  local status=$?
  trap - EXIT
  trap '' HUP INT TERM PIPE
  if [ -n "${pid:-}" ]; then
    disown "$pid" 2>/dev/null || true # or bash would report the killing
    kill -9 "$pid" 2>/dev/null || true
    until_gone "$pid" 10 || true
  fi
  if [ "$1" = new ]; then
    rm -rf "$dir/data" "$dir/tmp" "$dir/tls" "$dir"/{socket,socket.lock,pid,client.cnf,server.env,server.env.new,settings}
  fi
  if [ -e "$dir/error.log" ]; then
    printf 'server: the end of %s/error.log:\n' "$dir" >&2
    tail -n 20 "$dir/error.log" >&2
  fi
  [ "$status" -ne 0 ] || status=1
  exit "$status"
}

# from_template FOLDER: a copy of the data in there. If there are none yet, they are initialised, and left there.
from_template() {
  (
    flock 9
    [ ! -e "$1" ] || exit 0
    # MySQL writes its identity there when it finds none.
    "initialise_$flavour" && rm -f "$dir/data/auto.cnf" &&
      cp -a "$dir/data" "$1.new" && mv "$1.new" "$1"
  ) 9>"$1.lock" || return 1
  [ -e "$dir/data/ibdata1" ] || cp -a --reflink=auto --sparse=auto "$1/." "$dir/data"
}

# certificates: all servers that share templates have the same.
certificates() {
  local make shared=${LOCKSTEAD_SERVER_TEMPLATES:-}
  make=$(dirname "$0")/certificates.sh
  if [ -z "$shared" ]; then
    "$make" "$dir/tls"
    return
  fi
  (
    flock 9
    [ -e "$shared/tls" ] || { "$make" "$shared/tls.new" && mv "$shared/tls.new" "$shared/tls"; }
  ) 9>"$shared/tls.lock" || return 1
  cp -a "$shared/tls" "$dir/tls"
}

# on_failure new|old: a signal is a failure like others.
on_failure() {
  # shellcheck disable=SC2064
  trap "failed $1" EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

start() {
  find_programs "$1"
  extra=("${@:3}")
  [ ! -e "$dir/data" ] || die "$dir has a server already: stop it and remove $dir, or restart it"
  # The kernel's limit for a socket's name is 107 bytes.
  [ "$(printf %s "$dir/socket" | wc -c)" -lt 104 ] || die "$dir is too long a name for the server's socket"
  case $dir in *[[:space:]]*) die "white space in the folder's name '$dir' would break CLIENT" ;; esac

  on_failure new
  rm -f "$dir/error.log"
  mkdir -m 700 "$dir/data" "$dir/tmp"
  certificates || die "there are no certificates"
  base_options
  run=${LOCKSTEAD_SERVER_RUN:-}
  if [ -n "${LOCKSTEAD_SERVER_DATA:-}" ]; then
    cp -a --reflink=auto --sparse=auto "$LOCKSTEAD_SERVER_DATA/." "$dir/data"
  elif [ -n "${LOCKSTEAD_SERVER_TEMPLATES:-}" ]; then
    from_template "$LOCKSTEAD_SERVER_TEMPLATES/$1" || die "initialisation failed"
  else
    "initialise_$flavour" || die "initialisation failed"
  fi
  pid=
  server_options "$flavour"
  local try
  for try in 1 2 3 4 5 0; do
    [ "$try" -ne 0 ] || die "every port that was tried was taken meanwhile"
    port=$(free_port)
    if launch; then break; fi
  done
  declare -p flavour port client daemon options extra run >"$dir/settings"
  trap - EXIT
}

restart() {
  ! running >/dev/null || die "the server in $dir is running"
  [ -e "$dir/settings" ] || die "there is no server in $dir; start one"
  # Ours, from start: the names of the variables and their values.
  eval "$(sed 's/^declare /declare -g /' "$dir/settings")"
  ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
  on_failure old
  launch "$@" || die "port $port is taken by another process"
  trap - EXIT
}

stop() {
  local pid
  pid=$(running) || return 0
  kill "$pid" 2>/dev/null || true
  if ! until_gone "$pid" "${LOCKSTEAD_STOP_SECONDS:-60}"; then
    printf 'server: no clean shutdown in time; killing\n' >&2
    kill_hard
  fi
}

kill_hard() {
  local pid
  pid=$(running) || return 0
  kill -9 "$pid" 2>/dev/null || true
  until_gone "$pid" 30 || die "process $pid does not die"
}

[ $# -ge 2 ] || usage
case $1 in
start)
  [ $# -ge 3 ] || usage
  mkdir -p "$3"
  dir=$(cd "$3" && pwd -P)
  start "${@:2}"
  ;;
stop | kill | restart)
  [ $# -eq 2 ] || [ "$1" = restart ] || usage
  [ -d "$2" ] || die "there is no folder $2"
  dir=$(cd "$2" && pwd -P)
  case $1 in stop) stop ;; kill) kill_hard ;; restart) restart "${@:3}" ;; esac
  ;;
*) usage ;;
esac

# shellcheck shell=bash
# What the scripts here share; sourced, not run.
#
# Sets $dev and $root (this folder and the checkout) and $tmp, a folder that goes
# away at the end, however the script ends, together with every server, proxy
# and client started in it.

dev=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=${dev%/*}
me=$(basename "$0" .sh)
groups=() # process groups to end

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 1
}

# need PROGRAM PACKAGE: what is not there is installed if this runs as root, from the machine's own packages.
need() {
  ! command -v "$1" >/dev/null || return 0
  [ "$(id -u)" -eq 0 ] || die "$1 is missing: install the package $2"
  say "$me: installing $2"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2"; } \
    >"$tmp/apt.log" 2>&1 || die "the package $2 cannot be installed: $(tail -n 3 "$tmp/apt.log")"
  command -v "$1" >/dev/null || die "$1 is missing, though the package $2 was installed"
}

cd "$root" || exit
# A short name, for the sockets of servers in it.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/lockstead.XXXXXX")
export TMPDIR=$tmp

# end PID: ends a process group of ours and waits until it is gone.
end() {
  local deadline=$((SECONDS + 10))
  disown "$1" 2>/dev/null || true # or bash would report the end
  kill -TERM -- "-$1" 2>/dev/null || return 0
  while kill -0 -- "-$1" 2>/dev/null; do
    [ $SECONDS -lt $deadline ] || kill -KILL -- "-$1" 2>/dev/null || true
    sleep 0.02
  done
}

leave() {
  local status=$? i log
  trap - EXIT
  # Once begun, it is done to the end.
  trap '' HUP INT TERM PIPE
  # Later processes depend on earlier ones, so the last one ends first.
  for ((i = ${#groups[@]} - 1; i >= 0; i--)); do end "${groups[i]}"; done
  [ "$status" -ne 1 ] || tail -n 8 "$tmp"/proxy-*.log >&2 2>/dev/null || true
  # Those that tests started as well, which are in $TMPDIR too. A clean shutdown
  # would only take longer.
  while IFS= read -r log; do
    "$dev/server.sh" kill "${log%/*}" || true
  done < <(find "$tmp" -name error.log)
  rm -rf "$tmp"
  exit "$status"
}
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# group COMMAND...: runs it in the background in a process group of its own, so
# that a Ctrl-C reaches this script alone, which then ends things in order.
# Sets $pid.
group() {
  set -m
  "$@" &
  pid=$!
  set +m
  groups+=("$pid")
}

# free_port WISH: a port of 127.0.0.1 that nobody listens on: WISH, if it is one
# (0 is none), or one below the range of the kernel's for outgoing connections.
free_port() {
  local port=$1
  while [ "$port" -eq 0 ] || (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    port=$((20000 + RANDOM % 12000))
  done
  printf '%s\n' "$port"
}

# http PORT PATH: status line, headers and body. curl may be missing.
http() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
    cat <&3
  ) 2>/dev/null
}

# metric PORT NAME: the value, with {labels} if there are any.
metric() { http "$1" /metrics | awk -v name="$2" '$1 == name { print $2 }'; }

# sql ARG...: the administrator's client, straight to the server. See start_server.
sql() {
  # shellcheck disable=SC2086
  $CLIENT "$@"
}

# start_server FLAVOUR [OPTION...]: a server with the two accounts that a set-up of Lockstead
# has, and the program itself, built unless LOCKSTEAD_BIN names one. Sets $bin and, of the server, $PORT and $CLIENT.
start_server() {
  case $1 in mysql | mariadb) ;; *) die "unknown flavour '$1'; take mysql or mariadb" ;; esac
  # These would make it fetch the client alone.
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1"
  bin=${LOCKSTEAD_BIN:-}
  if [ -z "$bin" ]; then
    bin=${CARGO_TARGET_DIR:-target}/demo/lockstead
    [ -x "$bin" ] || say "$me: compiling the program and the libraries that it uses, once: some minutes on two cores"
    cargo build --profile demo --bin lockstead
  fi
  "$dev/server.sh" start "$1" "$tmp/server" "${@:2}"
  # shellcheck disable=SC1091
  . "$tmp/server/server.env"
  accounts "$1" | sql --batch
  {
    printf '%s\n' '[client]' host=127.0.0.1 protocol=tcp user=app password=app
    # The proxy has a certificate that it has made itself. MySQL's client does not verify it, and
    # needs the server's public key where there is no TLS. MariaDB's verifies it since 11.4, so
    # that it goes without TLS.
    if [ "$1" = mysql ]; then echo get-server-public-key; else echo skip-ssl; fi
    printf '%s\n' '[mysql]' database=app # MariaDB's client reads it too
  } >"$tmp/app.cnf"
}

# The least that Lockstead can do with: to keep its tables (and to create them,
# for --create-schema), to see whether a dead proxy's sessions are gone, and to
# end them.
accounts() {
  local to="lockstead@'127.0.0.%'"
  echo "CREATE DATABASE app;"
  echo "CREATE USER app@'127.0.0.%' IDENTIFIED BY 'app';"
  echo "GRANT ALL ON app.* TO app@'127.0.0.%';"
  echo "CREATE USER $to IDENTIFIED BY 'secret';"
  echo "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW ON lockstead.* TO $to;"
  if [ "$1" = mysql ]; then
    echo "GRANT SELECT ON performance_schema.* TO $to;"
    echo "GRANT PROCESS, CONNECTION_ADMIN ON *.* TO $to;"
  else
    echo "GRANT PROCESS, CONNECTION ADMIN ON *.* TO $to;"
  fi
}

# start_proxy NAME PORT HTTP-PORT [OPTION...]: returns when it grants locks. Sets $pid; the
# log is in $tmp/proxy-NAME.log unless $log names another file, the lease 3s unless
# $lease says otherwise, the mode durable unless $mode or an option does; the backend the server unless $backend is
# another.
start_proxy() {
  local deadline=$((SECONDS + 20))
  # shellcheck disable=SC2153 # PORT is no slip
  LOCKSTEAD_MODE=${mode:-durable} group "$bin" serve --listen "127.0.0.1:$2" --http "127.0.0.1:$3" \
    --backend "${backend:-127.0.0.1:$PORT}" --lease "${lease:-3s}" --create-schema \
    --state-dir "$tmp/state-$1" \
    --store "mysql://lockstead:secret@127.0.0.1:$PORT/lockstead" "${@:4}" \
    >>"${log:-$tmp/proxy-$1.log}" 2>&1
  until http "$3" /readyz | grep -q '^HTTP/1.. 200'; do
    kill -0 "$pid" 2>/dev/null || die "proxy $1 ended while starting"
    [ $SECONDS -lt $deadline ] || die "proxy $1 grants no locks after 20 s"
    sleep 0.05
  done
}

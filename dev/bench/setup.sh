# shellcheck shell=bash
# Servers and proxies of bench.sh, which sources this.

free_port() {
  local port
  while :; do
    # Below the range that outgoing connections get theirs from.
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf '%s\n' "$port"
}

# --- servers and proxies ------------------------------------------------------

# start_server FLAVOUR: sets $client and $server_port, and makes the accounts and tables.
start_server() {
  local dir=$work/server-$1 how
  say "$1: starting the server"
  mkdir "$dir"
  dev/server.sh start "$1" "$dir" >&2
  # shellcheck disable=SC1091
  . "$dir/server.env"
  # shellcheck disable=SC2153 # set by that file
  client=$CLIENT server_port=$PORT
  how="IDENTIFIED WITH caching_sha2_password BY"
  [ "$1" = mysql ] || how="IDENTIFIED BY"
  {
    echo "CREATE DATABASE bench; CREATE DATABASE lockstead;"
    echo "CREATE USER bench@'127.0.0.%' $how 'bench', lockstead@'127.0.0.%' $how 'secret';"
    echo "GRANT ALL ON bench.* TO bench@'127.0.0.%';"
    echo "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW ON lockstead.* TO lockstead@'127.0.0.%';"
    if [ "$1" = mysql ]; then
      echo "GRANT SELECT ON performance_schema.* TO lockstead@'127.0.0.%';"
      echo "GRANT PROCESS, CONNECTION_ADMIN ON *.* TO lockstead@'127.0.0.%';"
    else
      echo "GRANT PROCESS, CONNECTION ADMIN ON *.* TO lockstead@'127.0.0.%';"
    fi
    echo "CREATE TABLE bench.plain_locks (name VARCHAR(64) NOT NULL PRIMARY KEY,"
    echo "  owner BIGINT UNSIGNED NOT NULL, since DATETIME(3) NOT NULL) ENGINE=InnoDB;"
  } | $client
  warm bench bench
  warm lockstead secret
  $client -N -e "SELECT @@version" >"$work/$1.version"
}

# warm USER PASSWORD: the first login of an account without TLS has to ask for the server's key;
# then the server knows the hash, and clients that cannot ask are let in.
warm() { $client --user="$1" --password="$2" -e 'DO 1' 2>/dev/null; }

stop_server() {
  dev/server.sh stop "$work/server-$1"
  rm -rf "$work/server-$1"
}

# launch NAME COMMAND...: a proxy on ${proxy_port[NAME]}.
launch() {
  local name=$1 deadline=$((SECONDS + 60))
  shift
  "$@" >"$work/$name.log" 2>&1 &
  proxy_pid["$name"]=$!
  until $client --user=bench --password=bench --port="${proxy_port[$name]}" -e 'DO 1' \
    >"$work/answer" 2>&1; do
    kill -0 "${proxy_pid[$name]}" 2>/dev/null || die "$name ended while starting"
    [ $SECONDS -lt $deadline ] || die "$name lets nobody in: $(cat "$work/answer")"
    sleep 0.1
  done
}

# start_proxy haproxy|router|lockstead|second: the last is another Lockstead on the same tables.
start_proxy() {
  local port
  port=$(free_port)
  proxy_port[$1]=$port
  case $1 in
  haproxy)
    cat >"$work/haproxy.cfg" <<CONF
global
  nbthread $threads
  maxconn $((sessions + 1000))
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen server
  bind 127.0.0.1:$port${with_tls:+ ssl crt $work/haproxy.pem}
  server db 127.0.0.1:$server_port
CONF
    if [ -n "${with_tls:-}" ]; then
      "$cache/bin/haproxy" -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
      proxy_pid["haproxy"]=$!
    else
      launch haproxy "$cache/bin/haproxy" -db -f "$work/haproxy.cfg"
    fi
    ;;
  router)
    mkdir -p "$work/router"
    # PASSTHROUGH: the router forwards bytes and does not look into the protocol, its fastest way.
    cat >"$work/router/router.conf" <<CONF
[DEFAULT]
logging_folder=$work/router
runtime_folder=$work/router
data_folder=$work/router
max_total_connections=4096
[logger]
level=WARNING
[io]
threads=$threads
[routing:server]
bind_address=127.0.0.1
bind_port=$port
destinations=127.0.0.1:$server_port
routing_strategy=first-available
protocol=classic
client_ssl_mode=PASSTHROUGH
server_ssl_mode=AS_CLIENT
connection_sharing=0
max_connections=4096
max_connect_errors=4294967295
CONF
    launch router "$cache/bin/mysqlrouter" -c "$work/router/router.conf"
    ;;
  lockstead | second)
    local options=()
    [ -z "${with_tls:-}" ] || options=(--backend-tls off --tls-cert "$with_tls/server-cert.pem" --tls-key "$with_tls/server-key.pem")
    proxy_http[$1]=$(free_port)
    launch "$1" "$lockstead" serve --listen "127.0.0.1:$port" --state-dir off \
      --backend "127.0.0.1:$server_port" \
      --store "mysql://lockstead:secret@127.0.0.1:$server_port/lockstead" \
      --http "127.0.0.1:${proxy_http[$1]}" --lease 30s --workers "$threads" --create-schema \
      ${options[@]+"${options[@]}"}
    # It lets clients in before it grants locks: at a start it may wait for other proxies.
    local granted
    # A name of its own: the other one's session may not be gone yet.
    granted=$($client -N --user=bench --password=bench --port="$port" \
      -e "SELECT GET_LOCK('$1-ready', 60)" 2>/dev/null) || granted=error
    [ "$granted" = 1 ] || die "$1 grants no lock: $granted"
    ;;
  esac
}

# Clients without TLS reach the HAProxy that ends it.
start_tunnel() {
  proxy_port["tunnel"]=$(free_port)
  cat >"$work/tunnel.cfg" <<CONF
global
  nbthread $threads
  maxconn 1000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen tunnel
  bind 127.0.0.1:${proxy_port[tunnel]}
  server tls 127.0.0.1:${proxy_port[haproxy]} ssl verify none
CONF
  launch tunnel "$cache/bin/haproxy" -db -f "$work/tunnel.cfg"
}

stop_proxy() {
  kill "${proxy_pid[$1]}" 2>/dev/null || true
  wait "${proxy_pid[$1]}" 2>/dev/null || true
  unset "proxy_pid[$1]"
}

# shellcheck shell=bash
# Proxies before a topology that is tested; sourced after dev/common.sh and dev/topology/clients.sh.
#
# To the functions of clients.sh a proxy is one more node.

# topology COMMAND [OPTION...]: of the topology $name in $folder.
topology() {
  "$dev/topology.sh" "$name" "$@" "$folder" >>"$tmp/steps.log" || {
    "$dev/topology.sh" "$name" status "$folder" >&2 || true
    die "$name: $* does not reach its state"
  }
  # shellcheck disable=SC1091
  [ ! -e "$folder/topology.env" ] || . "$folder/topology.env"
}

port_of_node() {
  local url=NODE$1
  url=${!url%/}
  printf '%s\n' "${url##*:}"
}

# backends N...: a list of nodes.
backends() {
  local n list=''
  for n in "$@"; do list+=,127.0.0.1:$(port_of_node "$n"); done
  printf '%s\n' "${list#,}"
}

# administrate SQL: at the writer.
administrate() {
  local c=CLIENT$WRITER_NODE
  # shellcheck disable=SC2086 # a program and its option
  timeout "${limit:-20}" ${!c} --batch
}

# start_before NUMBER BACKENDS [OPTION...]: a proxy; its number as a node is from 4. Sets $pid, and $port and $pages
# of that number.
start_before() {
  local n=$1 port pages
  port=$(free_port 0) pages=$(free_port 0)
  group "$bin" serve --listen "127.0.0.1:$port" --http "127.0.0.1:$pages" --mode durable --create-schema --backend "$2" \
    --store mysql://lockstead:secret@/lockstead --state-dir "$tmp/state-$name-$n" --writer-wait 90s "${@:3}" \
    >>"$tmp/proxy-$name-$n.log" 2>&1
  printf -v "pages$n" %s "$pages"
  printf -v "CLIENT$n" %s "$CLIENT1"
  # Clients verify the proxy's own certificate where they can (see dev/common.sh).
  sed -e 's/^user=.*/user=app/' -e 's/^password=.*/password=app/' -e "s/^port=.*/port=$port/" \
    "$folder/node1/client.cnf" >"$tmp/app-$n.cnf"
  [ "$FLAVOUR" = mysql ] || sed -i '/^\[client\]/a skip-ssl' "$tmp/app-$n.cnf"
}

# until_ready NUMBER: it grants locks.
until_ready() {
  local deadline=$((SECONDS + 90)) pages=pages$1
  until http "${!pages}" /readyz | grep -q '^HTTP/1.. 200'; do
    [ $SECONDS -lt $deadline ] || die "proxy $1 is not ready: $(http "${!pages}" /readyz; tail -n 5 "$tmp/proxy-$name-$1.log")"
    sleep 0.1
  done
}

# of NUMBER METRIC: of the proxy with this number.
of() {
  local pages=pages$1
  metric "${!pages}" "$2"
}

# is_writer NUMBER N: whether the proxy follows this node.
is_writer() { [ "$(of "$1" "lockstead_server_writer{backend=\"127.0.0.1:$(port_of_node "$2")\"}")" = 1 ]; }

# set_stage: what the topologies need of this machine, with $options, and the program as $bin. Topologies end with the script.
set_stage() {
  case " ${options[*]-} " in
  *' --loopback '*) ;;
  *) [ "$(id -u)" -ne 0 ] || need ip iproute2 ;;
  esac
  bin=${LOCKSTEAD_BIN:-}
  if [ -z "$bin" ]; then
    cargo build --release --bin lockstead
    bin=${CARGO_TARGET_DIR:-target}/release/lockstead
  fi
  # Network namespaces go with the topology, whatever else comes meanwhile.
  trap 'status=$?; set +e; trap "" HUP INT TERM; [ -z "${name:-}" ] || "$dev/topology.sh" "$name" down "$folder"; (exit "$status"); leave' EXIT
}

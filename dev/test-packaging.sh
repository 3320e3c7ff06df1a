#!/usr/bin/env bash
# What an administrator installs, tried as far as one machine without a container engine goes:
#
#   dev/test-packaging.sh [unit] [deb] [systemd] [image] [compose] [kubernetes]     (no argument: all)
#
# unit        systemd's own tools judge packaging/lockstead.service
# deb         the package is built, opened, judged by lintian, installed into a scratch root and run
# systemd     the package is installed, started, reloaded, upgraded under load and removed under a systemd of its own
#             (dev/packaging/systemd.sh: namespaces, for root alone), before a private MySQL
# image       the Dockerfile is carried out (dev/packaging/dockerfile.py, no container engine), and
#             what it makes is run against a private MySQL, with its health check
# compose     compose.yml against its schema; its files are there, its SQL is what lockstead prints
# kubernetes  packaging/kubernetes/*.yaml against the schemas of Kubernetes
#
# Missing programs of Debian are installed if this runs as root. LOCKSTEAD_BIN is a release build
# to be used by deb, systemd and compose in place of one that is made.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
# In tenths: 0 is best, 100 worst.
exposure=20

# install PACKAGE
install() {
  [ "$(id -u)" -eq 0 ] || die "install $1"
  say "test-packaging: installing $1"
  { apt-get update -q && apt-get install -y -q --no-install-recommends "$1"; } >"$tmp/apt.log" 2>&1 ||
    die "cannot install $1: $(tail -n 3 "$tmp/apt.log")"
}

# need PROGRAM PACKAGE
need() { command -v "$1" >/dev/null || install "$2"; }

# has FILE LINE: the file has a line like this.
has() { grep -qE -- "$2" "$1" || die "$1 has no line $2: $(cat "$1")"; }

# refused COMMAND...: it must fail; a check that takes everything proves nothing.
refused() { ! "$@" >"$tmp/refused" 2>&1 || die "not refused: $*"; }

# program: sets $bin to a release build.
program() {
  bin=${LOCKSTEAD_BIN:-}
  [ -z "$bin" ] || return 0
  cargo build --locked --release --bin lockstead
  bin=${CARGO_TARGET_DIR:-target}/release/lockstead
}

# python_tools: sets $tools to the programs of dev/packaging/requirements.txt.
python_tools() {
  local list=$dev/packaging/requirements.txt
  need python3 python3
  tools=$cache/packaging-$(sha256sum "$list" | cut -c 1-12)
  if [ ! -e "$tools/ready" ]; then
    rm -rf "$tools"
    python3 -c 'import ensurepip' 2>/dev/null || install python3-venv
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r "$list"
    touch "$tools/ready"
  fi
  tools=$tools/bin
}

# --- the unit ---------------------------------------------------------------------

# verify_unit FILE: as it is, but for a program that is here.
verify_unit() {
  mkdir -p "$tmp/units"
  sed 's,^\(Exec[A-Za-z]*\)=/usr/bin/lockstead,\1=/bin/true,' "$1" >"$tmp/units/lockstead.service"
  systemd-analyze verify "$tmp/units/lockstead.service" >"$tmp/verify" 2>&1 || return
  [ ! -s "$tmp/verify" ]
}

judge_unit() { systemd-analyze security --offline=true --threshold="$exposure" "$1"; }

test_unit() {
  local unit=packaging/lockstead.service
  need systemd-analyze systemd
  verify_unit "$unit" || die "systemd-analyze verify: $(cat "$tmp/verify")"
  judge_unit "$unit" >"$tmp/security" || die "more exposed than $exposure: $(tail -n 1 "$tmp/security")"
  say "unit: $(grep -o 'Overall exposure level.*' "$tmp/security")"

  mkdir -p "$tmp/worse"
  sed '/^Protect\|^Restrict\|^System\|^Private\|^User/d' "$unit" >"$tmp/worse/lockstead.service"
  refused judge_unit "$tmp/worse/lockstead.service"
  sed 's/^Restart=.*/Restrat=no/' "$unit" >"$tmp/worse/lockstead.service"
  refused verify_unit "$tmp/worse/lockstead.service"
}

# --- Debian's package ---------------------------------------------------------------

# build_deb FILE [OPTION...]
build_deb() {
  program
  CARGO_TARGET_DIR=$tmp/target LOCKSTEAD_BIN=$bin "$dev/deb.sh" --quiet --output "$@" >/dev/null || die "no package is made"
}

test_deb() {
  local deb=$tmp/lockstead.deb scratch=$tmp/scratch path
  need dpkg-deb dpkg
  need strip binutils
  need lintian lintian
  build_deb "$deb"
  dpkg-deb --contents "$deb" >"$tmp/contents"
  has "$tmp/contents" '^-rwxr-xr-x 0/0 .* \./usr/bin/lockstead$'
  has "$tmp/contents" '^-rw-r----- 0/0 .* \./etc/lockstead/lockstead\.toml$'
  has "$tmp/contents" '^-rw-r--r-- 0/0 .* \./usr/lib/systemd/system/lockstead\.service$'
  has "$tmp/contents" '\./usr/share/doc/lockstead/README\.md$'
  for path in man/man1/lockstead.1.gz man/man1/lockstead-upgrade.1.gz bash-completion/completions/lockstead \
    zsh/vendor-completions/_lockstead fish/vendor_completions.d/lockstead.fish; do
    has "$tmp/contents" "^-rw-r--r-- 0/0 .* ./usr/share/$path\$"
  done
  dpkg-deb --info "$deb" conffiles >"$tmp/conffiles"
  has "$tmp/conffiles" '^/etc/lockstead/lockstead\.toml$'
  has <(dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/share/man/man1/lockstead-upgrade.1.gz | gunzip) 'if.+needed'
  has <(dpkg-deb --field "$deb" Version) "^$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)-"
  has packaging/debian/changelog "^lockstead \($(dpkg-deb --field "$deb" Version)\)"
  # Warnings: the mode of the file with the password.
  lintian --fail-on error "$deb" >"$tmp/lintian" 2>&1 || die "lintian: $(cat "$tmp/lintian")"

  # dpkg's own unpacking, with its database in the scratch root; the scripts would make a user here.
  mkdir -p "$scratch/var/lib/dpkg/"{info,updates,triggers}
  : >"$scratch/var/lib/dpkg/status"
  if [ "$(id -u)" -eq 0 ]; then
    dpkg --root="$scratch" --force-script-chrootless --force-depends --unpack "$deb" >"$tmp/dpkg" 2>&1 ||
      die "dpkg: $(cat "$tmp/dpkg")"
    has <(dpkg --root="$scratch" --list lockstead) '^iU  lockstead'
  else
    dpkg-deb --extract "$deb" "$scratch"
  fi
  cmp "$scratch/usr/lib/systemd/system/lockstead.service" packaging/lockstead.service
  # Under another name until it is configured.
  cmp "$(echo "$scratch"/etc/lockstead/lockstead.toml*)" config/lockstead.toml
  dpkg-deb --control "$deb" "$tmp/control"
  for path in postinst postrm prerm; do sh -n "$tmp/control/$path"; done
  [ "$("$scratch/usr/bin/lockstead" version)" = "$("$bin" version)" ] || die "the package's program is another"
  # It takes its own sample, and tries what is in there: nobody is at that port.
  "$scratch/usr/bin/lockstead" check --config "$(echo "$scratch"/etc/lockstead/lockstead.toml*)" \
    --backend 127.0.0.1:1 --store mysql://nobody@127.0.0.1:1/none >"$tmp/check" 2>&1 || true
  has "$tmp/check" '^configuration +ok$'
  say "deb: $(wc -l <"$tmp/contents") entries, $(stat -c %s "$deb") bytes"
}

# --- under systemd ---------------------------------------------------------------------

# inside COMMAND...: beside the private systemd.
inside() { "$dev/packaging/systemd.sh" run "$tmp/systemd" "$@"; }

# settings [LINE...]: the configuration of the service, with its mode and owner.
settings() {
  printf '%s\n' "listen = '127.0.0.1:$port'" "http = '127.0.0.1:$http_port'" "backend = '127.0.0.1:$PORT'" \
    "store = 'mysql://lockstead:secret@127.0.0.1:$PORT/lockstead'" "mode = 'durable'" 'create_schema = true' "lease = '9s'" \
    "drain_timeout = '1h'" "$@" | inside tee /etc/lockstead/lockstead.toml >/dev/null
}

main_pid() { inside systemctl show --property MainPID --value lockstead; }

# serves WHAT: the service has never been away.
serves() {
  inside systemctl is-active --quiet lockstead || die "$1: the service is not active"
  [ "$(inside systemctl show --property NRestarts --value lockstead)" = 0 ] || die "$1: it was restarted"
  [ ! -s "$tmp/refusals" ] || die "$1: a client was refused: $(head -n 3 "$tmp/refusals")"
}

# stays WHAT, moves WHAT: the main process is that of before, or is another one. Sets $main; $first has the session.
stays() {
  serves "$1"
  [ "$(main_pid)" = "$main" ] || die "$1: there is another process"
}
moves() {
  local was=$main
  serves "$1"
  main=$(main_pid)
  [ "$main" != "$was" ] || die "$1: there is no other process"
  inside kill -0 "$first" || die "$1: the process with the session is gone"
}

# clients: come and go until there is $tmp/stop.
clients() {
  while [ ! -e "$tmp/stop" ]; do
    sql -P "$port" -N -e 'SELECT 1' >>"$tmp/answers" 2>>"$tmp/refusals" || echo refused >>"$tmp/refusals"
  done
}

# holder: has a lock, and tells whether it still has it when there is $tmp/go.
holder() {
  {
    echo "SELECT GET_LOCK('kept', 0);"
    until [ -e "$tmp/go" ]; do sleep 0.1; done
    echo "SELECT IS_USED_LOCK('kept') = CONNECTION_ID();"
    sleep 3600
  } | sql -P "$port" -N --unbuffered >"$tmp/holder" 2>&1
}

# until_line N FILE LINE
until_line() {
  local deadline=$((SECONDS + 20))
  until [ "$(sed -n "$1p" "$2" 2>/dev/null)" = "$3" ]; do
    [ $SECONDS -lt $deadline ] || die "line $1 of $2 is not $3: $(cat "$2")"
    sleep 0.1
  done
}

test_systemd() {
  local deb=$tmp/first.deb next=$tmp/next.deb port http_port main first client answers
  need systemctl systemd
  need adduser adduser
  build_deb "$deb"
  build_deb "$next" --deb-revision 2
  LOCKSTEAD_BIN=$bin start_server mysql
  port=$(free_port 0) http_port=$(free_port 0)
  chmod 755 "$tmp" # another user's services write there
  trap 'status=$?; set +e; "$dev/packaging/systemd.sh" stop "$tmp/systemd"; (exit "$status"); leave' EXIT
  "$dev/packaging/systemd.sh" start "$tmp/systemd"
  log=$tmp/systemd/log

  inside dpkg --install "$deb" >"$tmp/dpkg" 2>&1 || die "dpkg: $(cat "$tmp/dpkg")"
  refused inside systemctl is-active lockstead
  settings
  inside systemctl start lockstead || die "no start: $(tail -n 5 "$log")"
  # It is up when it serves.
  sql -P "$port" -e 'SELECT 1' >/dev/null || die "started, and does not serve"
  http "$http_port" /livez | grep -q '^HTTP/1.. 200' || die "started, and has no pages"
  main=$(main_pid) first=$main
  : >"$tmp/refusals"
  group clients
  client=$pid
  group holder
  until_line 1 "$tmp/holder" 1

  settings 'max_connections = 999'
  inside systemctl reload lockstead || die "no reload: $(tail -n 5 "$log")"
  stays 'a setting that needs no start'
  has "$log" '^max_connections +999, was 10000$'
  settings "login_timeout = 'never'"
  refused inside systemctl reload lockstead
  stays 'a wrong setting'
  has "$log" 'login_timeout'
  settings 'workers = 3'
  inside systemctl reload lockstead || die "no reload: $(tail -n 5 "$log")"
  moves 'a setting that needs a start'
  inside sh -c 'cp /usr/bin/lockstead /usr/bin/lockstead.new && mv /usr/bin/lockstead.new /usr/bin/lockstead'
  inside systemctl reload lockstead || die "no reload: $(tail -n 5 "$log")"
  moves 'another file'
  inside dpkg --install "$next" >"$tmp/dpkg" 2>&1 || die "dpkg: $(cat "$tmp/dpkg")"
  moves 'a newer package'
  settings "login_timeout = 'never'"
  inside dpkg --install "$next" >"$tmp/dpkg" 2>&1 || die "dpkg: $(cat "$tmp/dpkg")"
  stays 'a newer package with a wrong setting'
  has "$tmp/dpkg" 'the previous version is still running'
  settings 'workers = 3'
  touch "$tmp/go"
  until_line 2 "$tmp/holder" 1
  touch "$tmp/stop"
  wait "$client"
  serves 'at the end'
  answers=$(wc -l <"$tmp/answers")
  [ "$answers" -gt 0 ] || die 'no client came'

  inside systemctl stop lockstead
  refused inside pgrep -x lockstead
  inside dpkg --install "$next" >"$tmp/dpkg" 2>&1 || die "dpkg: $(cat "$tmp/dpkg")"
  refused inside systemctl is-active lockstead
  inside systemctl start lockstead || die "no start: $(tail -n 5 "$log")"
  inside dpkg --purge lockstead >"$tmp/dpkg" 2>&1 || die "dpkg: $(cat "$tmp/dpkg")"
  refused inside pgrep -x lockstead
  refused inside ls -d /var/lib/lockstead
  # The image has a server of its own.
  "$dev/server.sh" stop "$tmp/server"
  rm -rf "$tmp/server"
  say "systemd: installed, started, reloaded, upgraded three times while $answers clients were served, stopped, purged"
}

# --- the image -----------------------------------------------------------------------

# image_env PORT HTTP-PORT: what `docker run --env` would give, one a line. Open files are this machine's.
image_env() {
  printf '%s\n' "LOCKSTEAD_LISTEN=127.0.0.1:$1" "LOCKSTEAD_HTTP=127.0.0.1:$2" \
    "LOCKSTEAD_BACKEND=127.0.0.1:$PORT" LOCKSTEAD_MODE=durable LOCKSTEAD_CREATE_SCHEMA=true \
    LOCKSTEAD_MAX_CONNECTIONS=100 \
    "LOCKSTEAD_STORE=mysql://lockstead:lockstead@127.0.0.1:$PORT/lockstead"
}

test_image() {
  local image=$tmp/image port http_port env deadline
  need python3 python3
  need strip binutils
  "$dev/install.sh" mysql
  "$dev/packaging/dockerfile.py" build . "$image"
  # Another user runs it.
  chmod 755 "$tmp"
  "$dev/server.sh" start mysql "$tmp/server"
  # shellcheck disable=SC1091
  . "$tmp/server/server.env"
  sql <packaging/compose/accounts.sql
  port=$(free_port 0) http_port=$(free_port 0)
  mapfile -t env < <(image_env "$port" "$http_port")
  refused "$dev/packaging/dockerfile.py" health "$image" "${env[@]}"
  log=$tmp/proxy-image.log
  group "$dev/packaging/dockerfile.py" run "$image" "${env[@]}" >"$log" 2>&1
  deadline=$((SECONDS + 20))
  until "$dev/packaging/dockerfile.py" health "$image" "${env[@]}" 2>/dev/null; do
    kill -0 "$pid" 2>/dev/null || die "the image's process ended: $(tail -n 3 "$log")"
    [ $SECONDS -lt $deadline ] || die "the health check fails still after 20 s"
    sleep 0.1
  done
  until http "$http_port" /readyz | grep -q '^HTTP/1.. 200'; do
    [ $SECONDS -lt $deadline ] || die "no locks are granted after 20 s"
    sleep 0.1
  done
  ! grep -E 'WARN|ERROR' "$log" || die "the image's process complains"
  [ "$(sql -P "$port" -N -e "SELECT GET_LOCK('image', 0)")" = 1 ] || die "no lock through the image's process"
  find "$image/image/var/lib/lockstead" -type f | grep -q . || die "nothing in the volume"
  kill "$pid"
  wait "$pid" || die "the image's process ended with status $? at SIGTERM"
  refused "$dev/packaging/dockerfile.py" health "$image" "${env[@]}"
  say "image: built, served, healthy, drained"
}

# --- compose.yml and Kubernetes ---------------------------------------------------------

compose_schema() { "$tools/check-jsonschema" --quiet --builtin-schema vendor.compose-spec "$1"; }

test_compose() {
  local path
  if docker compose version >/dev/null 2>&1; then
    docker compose config --quiet
  fi
  python_tools
  compose_schema compose.yml || die "compose.yml is not as its schema wants it"
  sed 's/healthcheck:/healthcheque:/' compose.yml >"$tmp/worse.yml"
  refused compose_schema "$tmp/worse.yml"
  while IFS= read -r path; do
    [ ! -e "$path" ] || continue
    case $path in
    ./grafana/* | ./config/alerts.yml) [ -d grafana ] || { say "compose: NOT CHECKED, not in this checkout: $path" && continue; } ;;
    esac
    die "compose.yml mounts $path, which is not there"
  done < <(sed -n 's/^ *- \(\.\/[^:]*\):.*/\1/p' compose.yml)
  for path in proxy-a proxy-b; do
    has compose.yml "^  $path:$"
    has packaging/compose/prometheus.yml "- $path:6080$"
  done
  program
  printf 'lockstead\n' >"$tmp/password"
  "$bin" grants --flavour mysql --create-schema --account lockstead@% --password-file "$tmp/password" |
    diff packaging/compose/accounts.sql - || die "accounts.sql is not what lockstead grants prints"
  say "compose: ok"
}

test_kubernetes() {
  local file
  python_tools
  for file in packaging/kubernetes/*.yaml; do
    "$tools/kubernetes-validate" --strict --quiet "$file" || die "$file is not as its schema wants it"
    has "$file" 'path: /readyz'
    sed 's/readinessProbe:/readinessProb:/' "$file" >"$tmp/worse.yaml"
    refused "$tools/kubernetes-validate" --strict --quiet "$tmp/worse.yaml"
  done
  say "kubernetes: ok"
}

[ $# -gt 0 ] || set -- unit deb systemd image compose kubernetes
for part in "$@"; do
  case $part in
  unit | deb | systemd | image | compose | kubernetes) "test_$part" ;;
  *) die "unknown part '$part'" ;;
  esac
done
say "test-packaging: ok"

#!/usr/bin/env bash
# What an administrator installs, tried as far as one machine without a container engine goes:
#
#   dev/test-packaging.sh [unit] [deb] [image] [compose] [kubernetes]     (no argument: all)
#
# unit        systemd's own tools judge packaging/lockstead.service
# deb         the package is built, opened, judged by lintian, installed into a scratch root and run
# image       the Dockerfile is carried out (dev/packaging/dockerfile.py, no container engine), and
#             what it makes is run against a private MySQL, with its health check
# compose     compose.yml against its schema; its files are there, its SQL is what lockstead prints
# kubernetes  packaging/kubernetes/*.yaml against the schemas of Kubernetes
#
# Missing programs of Debian are installed if this runs as root. LOCKSTEAD_BIN is a release build
# to be used by deb and compose in the place of one that is made.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
# One version for all: what it makes changes with it.
cargo_deb=3.8.0
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
  sed 's,^ExecStart=/usr/bin/lockstead,ExecStart=/bin/true,' "$1" >"$tmp/units/lockstead.service"
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
  # Type=notify would wait for a message that the program does not send.
  grep -rq NOTIFY_SOCKET src || has "$unit" '^Type=exec$'
}

# --- Debian's package ---------------------------------------------------------------

build_deb() {
  local tool=$cache/cargo-deb-$cargo_deb/bin
  if [ ! -x "$tool/cargo-deb" ]; then
    say "test-packaging: building cargo-deb $cargo_deb, some minutes, once"
    cargo install --quiet --locked --root "${tool%/bin}" --version "=$cargo_deb" cargo-deb
  fi
  program
  # Assets in target/release are sought in the target directory.
  mkdir -p "$tmp/target/release"
  cp "$bin" "$tmp/target/release/lockstead"
  CARGO_TARGET_DIR=$tmp/target "$tool/cargo-deb" deb --quiet --no-build --strip --output "$1" >/dev/null ||
    die "cargo deb failed"
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
  dpkg-deb --info "$deb" conffiles >"$tmp/conffiles"
  has "$tmp/conffiles" '^/etc/lockstead/lockstead\.toml$'
  has <(dpkg-deb --field "$deb" Version) "^$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)-"
  has packaging/debian/changelog "^lockstead \($(dpkg-deb --field "$deb" Version)\)"
  # Warnings: no manual page yet, and the mode of the file with the password.
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

# --- the image -----------------------------------------------------------------------

# image_env PORT HTTP-PORT: what `docker run --env` would give, one a line. Open files are this machine's.
image_env() {
  printf '%s\n' "LOCKSTEAD_LISTEN=127.0.0.1:$1" "LOCKSTEAD_HTTP=127.0.0.1:$2" \
    "LOCKSTEAD_BACKEND=127.0.0.1:$PORT" LOCKSTEAD_CREATE_SCHEMA=true \
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

[ $# -gt 0 ] || set -- unit deb image compose kubernetes
for part in "$@"; do
  case $part in
  unit | deb | image | compose | kubernetes) "test_$part" ;;
  *) die "unknown part '$part'" ;;
  esac
done
say "test-packaging: ok"

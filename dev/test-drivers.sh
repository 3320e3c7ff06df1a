#!/usr/bin/env bash
# Client libraries, directly at a server and through the proxy: what they print must be equal.
#
#   dev/test-drivers.sh [--flavours "mysql mariadb mariadb118"] [--tls "off on"] [--quick]
#
# DRIVERS="python:pymysql node" chooses languages and clients; without it, all below
# tests/drivers/ run, whose README.md explains them. --quick is one client a language,
# one flavour, TLS on. LOCKSTEAD_BIN is a proxy that is built already, DRIVERS_OUT a
# folder that keeps what the clients printed.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

usage() { sed -n '4s/^# *//p' "$root/dev/$me.sh" >&2; exit 2; }

flavours='' modes='' quick=''
while [ $# -gt 0 ]; do
  case $1 in
  --flavours | --tls)
    [ $# -ge 2 ] || usage
    if [ "$1" = --tls ]; then modes=$2; else flavours=$2; fi
    shift
    ;;
  --quick) quick=1 ;;
  *) usage ;;
  esac
  shift
done
if [ -n "$quick" ]; then
  flavours=${flavours:-mysql} modes=${modes:-on}
fi
flavours=${flavours:-mysql mariadb mariadb118} modes=${modes:-off on}
for word in $flavours; do
  case $word in mysql | mariadb | mariadb118) ;; *) usage ;; esac
done
for word in $modes; do
  case $word in on | off) ;; *) usage ;; esac
done

# --- what to run ----------------------------------------------------------------

out=${DRIVERS_OUT:-$tmp/out}
mkdir -p "$out"
out=$(cd "$out" && pwd -P)
limit=${DRIVERS_SECONDS:-300} # of one client's run

# quietly WHAT COMMAND...: its output is worth reading only when it fails.
quietly() {
  local what=$1
  shift
  group "$@" >"$tmp/log" 2>&1
  if ! wait_group; then
    tail -n 40 "$tmp/log" >&2
    die "$what failed"
  fi
}

# wait_group: for the group that was started last, and for what it left behind.
wait_group() {
  local status=0
  wait "$pid" || status=$?
  end "$pid"
  unset 'groups[-1]'
  return "$status"
}

# choose LANGUAGE[:CLIENT]: appends to $clients, having installed the language.
clients=()
choose() {
  local language=${1%%:*} client=${1#*:} names name
  [ -x "tests/drivers/$language/run" ] || die "there is no language '$language' below tests/drivers"
  if [ -x "tests/drivers/$language/install" ]; then
    say "$language: installing"
    quietly "the installation for $language (leave it out with DRIVERS)" "tests/drivers/$language/install"
  fi
  names=$("tests/drivers/$language/list")
  [ "$client" != "$1" ] || client=
  if [ -n "$client" ]; then
    grep -qx -- "$client" <<<"$names" || die "$language has no client '$client'; it has: ${names//$'\n'/ }"
    names=$client
  elif [ -n "$quick" ]; then
    names=${names%%$'\n'*}
  fi
  for name in $names; do clients+=("$language:$name"); done
}

if [ -z "${DRIVERS:-}" ]; then
  DRIVERS=$(cd tests/drivers && for run in */run; do printf '%s ' "${run%/run}"; done)
fi

bin=${LOCKSTEAD_BIN:-}
if [ -z "$bin" ]; then
  cargo build --release --bin lockstead
  bin=${CARGO_TARGET_DIR:-target}/release/lockstead
fi
if [[ " $modes " = *" on "* ]]; then
  for option in --tls-cert --tls-key; do
    "$bin" serve --help | grep -q -e "$option " ||
      die "this proxy does not know $option, so nothing can be said about TLS; --tls off leaves it out"
  done
fi
for word in $DRIVERS; do choose "$word"; done
# These would make it fetch the clients alone.
# shellcheck disable=SC2086
env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" $flavours

# --- one run ----------------------------------------------------------------------

password=app-Pa55
declare -A result
failures=0

# driver_accounts FLAVOUR: of the applications.
driver_accounts() {
  local user how
  for user in app app_ed25519 app_parsec; do
    case $1/$user in
    mysql/app) how="WITH caching_sha2_password BY '$password'" ;;
    */app) how="VIA mysql_native_password USING PASSWORD('$password')" ;;
    mariadb118/*) how="VIA ${user#app_} USING PASSWORD('$password')" ;;
    *) continue ;;
    esac
    echo "CREATE USER $user@'127.0.0.%' IDENTIFIED $how;"
    echo "GRANT ALL ON drivers.* TO $user@'127.0.0.%';"
    [ "$1" != mysql ] ||
      echo "GRANT SELECT ON performance_schema.session_connect_attrs TO $user@'127.0.0.%';"
  done
}

# client LANGUAGE CLIENT USER PORT FILE: what it prints goes into FILE, masked.
client() {
  # An empty schema, and no password that the server still remembers: the first login is
  # a full one both times.
  sql -e "DROP DATABASE IF EXISTS drivers; CREATE DATABASE drivers CHARACTER SET utf8mb4; FLUSH PRIVILEGES"
  # shellcheck disable=SC2153 # FLAVOUR is no slip
  group env DB_HOST=127.0.0.1 DB_PORT="$4" DB_USER="$3" DB_PASSWORD=$password DB_SCHEMA=drivers \
    DB_TLS="$tls" DB_CA="$ca" DB_FLAVOUR="$FLAVOUR" DB_VERSION="$version" \
    timeout --kill-after=10 "$limit" "tests/drivers/$1/run" "$2" </dev/null >"$5.raw" 2>"$5.err"
  local status=0
  wait_group || status=$?
  LC_ALL=C sed -E -e "s/\\b$4\\b/PORT/g" -f tests/drivers/mask.sed "$5.raw" >"$5"
  if [ "$status" -ne 0 ]; then
    printf '(status %s)\n' "$status" >>"$5"
    return 1
  fi
  # If both fail to connect, they do so alike.
  grep -a '^connect: ' "$5" | grep -aqF "${version%%-*}" || { echo '(it has not connected)' >>"$5"; return 1; }
}

# compare LANGUAGE:CLIENT USER PORT: one cell of the table.
compare() {
  local language=${1%%:*} name=${1#*:} row=$1 verdict=ok before=$SECONDS file
  [ "$2" = app ] || row="$1 (${2#app_})"
  file=$out/$flavour-$tls-$language-$name-$2
  client "$language" "$name" "$2" "$PORT" "$file.direct" || verdict=FAILED
  client "$language" "$name" "$2" "$3" "$file.proxy" || verdict=FAILED
  if [ $verdict = ok ] && ! diff -au "$file.direct" "$file.proxy" >"$file.diff"; then
    verdict=DIFFERS
    # What differs from itself says nothing about the proxy.
    client "$language" "$name" "$2" "$PORT" "$file.again" || true
    cmp -s "$file.direct" "$file.again" || verdict=UNSTABLE
  fi
  result[$row/$flavour/$tls]=$verdict
  printf '%-10s tls %-3s  %-34s %s (%s lines, %s s)\n' "$flavour" "$tls" "$row" "$verdict" \
    "$(wc -l <"$file.direct")" $((SECONDS - before))
  [ $verdict != ok ] || return 0
  failures=$((failures + 1))
  {
    printf '\n--- %s %s tls %s: %s\n' "$flavour" "$row" "$tls" "$verdict"
    case $verdict in
    FAILED) tail -n 8 "$file".{direct,proxy} "$file".{direct,proxy}.err ;;
    DIFFERS) cut -c 1-300 "$file.diff" | head -n 60 ;;
    UNSTABLE) diff -au "$file.direct" "$file.again" | cut -c 1-300 | head -n 60 ;;
    esac 2>/dev/null || true
  } >>"$tmp/why"
}

# --- all runs ----------------------------------------------------------------------

rows=()
for word in "${clients[@]}"; do
  rows+=("$word")
  [ "$word" != c:libmariadb118 ] || rows+=("$word (parsec)" "$word (ed25519)")
done

# flavour_up: a server of $flavour with a proxy for each of $modes, on ${proxy[MODE]}.
declare -A proxy
flavour_up() {
  local options=(--max-allowed-packet=64M --log-bin-trust-function-creators=1) http
  if [ "$flavour" = mariadb118 ]; then
    options+=(--plugin-maturity=unknown --plugin-load-add=auth_ed25519 --plugin-load-add=auth_parsec)
  fi
  "$dev/server.sh" start "$flavour" "$tmp/$flavour" "${options[@]}"
  # shellcheck disable=SC1090,SC1091
  . "$tmp/$flavour/server.env"
  version=$(sql -N -e 'SELECT VERSION()')
  { accounts "$FLAVOUR" | sed '/ app/d'; driver_accounts "$flavour"; } | sql
  for tls in $modes; do
    proxy[$tls]=$(free_port 0)
    http=$(free_port 0)
    options=()
    [ "$tls" = off ] ||
      options=(--tls-cert "$tmp/$flavour/tls/server-cert.pem" --tls-key "$tmp/$flavour/tls/server-key.pem")
    # A long lease: nothing here is about a proxy that dies.
    lease=30s start_proxy "$flavour-$tls" "${proxy[$tls]}" "$http" ${options[@]+"${options[@]}"}
  done
}

flavour_down() {
  while [ ${#groups[@]} -gt 0 ]; do
    end "${groups[-1]}"
    unset 'groups[-1]'
  done
  "$dev/server.sh" kill "$tmp/$flavour"
}

for flavour in $flavours; do
  flavour_up
  for tls in $modes; do
    ca=
    [ "$tls" = off ] || ca=$tmp/$flavour/tls/ca.pem
    for word in "${clients[@]}"; do
      compare "$word" app "${proxy[$tls]}"
      if [ "$flavour/$word" = mariadb118/c:libmariadb118 ]; then
        compare "$word" app_parsec "${proxy[$tls]}"
        compare "$word" app_ed25519 "${proxy[$tls]}"
      fi
    done
  done
  flavour_down
done

# --- the table -----------------------------------------------------------------------

printf '\n%-36s' client
for flavour in $flavours; do
  for tls in $modes; do printf '%-16s' "$flavour/$tls"; done
done
echo
for row in "${rows[@]}"; do
  printf '%-36s' "$row"
  for flavour in $flavours; do
    for tls in $modes; do printf '%-16s' "${result[$row/$flavour/$tls]:-}"; done
  done
  echo
done
if [ $failures -gt 0 ]; then
  cat "$tmp/why" # behind the table, since of a long run people see the end
  die "$failures of the comparisons above are not ok"
fi

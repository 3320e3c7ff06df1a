#!/usr/bin/env bash
# Runs every command that the documents show:
#
#   dev/test-docs.sh [mysql] [mariadb]     (no argument: both)
#
# The ```sh and ```sql blocks of README.md and docs/*.md are run, in order, in front of a private
# server; sh by bash, which ends at the first error, sql as root through the proxy that was started
# last. What a reader replaces is replaced: addresses, ports, passwords and places (see `adapt`).
# `lockstead serve` goes on behind its block.
#
# Above a block may stand
#
#   <!-- not run: why -->      cannot be run on a test machine; is counted
#   <!-- only mysql -->        for this kind of server
#
# A block without a language that shows commands is an error: it would never be run. LOCKSTEAD_BIN is a
# program that is built already.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

programs='lockstead|mysql|mariadb|make|cargo|docker|systemctl|apt|apt-get|curl|haproxy|keepalived|kill|export'

# blocks FILE: into $tmp/blocks/N, a line each in $tmp/index: N, line, language, mark.
blocks() {
  rm -rf "$tmp/blocks" "$tmp/index"
  mkdir "$tmp/blocks"
  : >"$tmp/index"
  awk -v dir="$tmp/blocks" -v index_="$tmp/index" -v programs="^([$] )?($programs) " '
    inside && /^ *```$/ { inside = 0; close(file); next }
    inside { print > file; if (!lang && $0 ~ programs && mark !~ /^not run: ./) { bad = bad "\n  line " FNR ": " $0 } next }
    /^ *```/ {
      lang = $0; sub(/^ *```/, "", lang); inside = 1; file = dir "/" ++n
      printf "" > file
      printf "%d\t%d\t%s\t%s\n", n, FNR, lang ? lang : "text", mark ? mark : "-" > index_
      next
    }
    /^<!-- (not run: .+|only (mysql|mariadb)) -->$/ { mark = $0; gsub(/^<!-- | -->$/, "", mark); next }
    /^<!--/ { bad = bad "\n  line " FNR ": an unknown mark: " $0 }
    { mark = "" }
    END {
      if (inside) bad = bad "\n  a block is not closed"
      if (bad) { print bad > "/dev/stderr"; exit 1 }
    }' "$1" || die "$1: blocks that nobody would run: give them a language, or a mark"
}

# adapt: what a reader puts in the place of what is written.
adapt() {
  sed -E -e "s/127\.0\.0\.1:3306/127.0.0.1:$PORT/g" -e "s/\b6033\b/$port/g" -e "s/\b6080\b/$http_port/g" \
    -e 's/10\.0\.0\.%/127.0.0.%/g' -e 's/-u root -p( |$)/-u root -prootpw\1/' -e 's/-u app -p( |$)/-u app -papp\1/' \
    -e "s,/etc/lockstead/,$work/,g" -e "s,/var/lib/lockstead,$tmp/state,g" -e "s/--flavour mysql/--flavour $flavour/"
}

# programs_for_blocks: mysql and mariadb are the server's own client; lockstead serve returns when
# it is ready, in the place of one that runs, and a finding of the doctor is no failure.
programs_for_blocks() {
  mkdir -p "$tmp/programs"
  ln -sf "${CLIENT%% *}" "$tmp/programs/mysql"
  ln -sf "${CLIENT%% *}" "$tmp/programs/mariadb"
  cat >"$tmp/programs/lockstead" <<SHIM
#!/usr/bin/env bash
set -euo pipefail
case \$1 in
  serve)
    [ ! -s '$tmp/served' ] || { kill "\$(cat '$tmp/served')" && while kill -0 "\$(cat '$tmp/served')" 2>/dev/null; do sleep 0.05; done; }
    LOCKSTEAD_LISTEN=127.0.0.1:$port LOCKSTEAD_HTTP=127.0.0.1:$http_port setsid '$bin' "\$@" >>'$tmp/proxy-docs.log' 2>&1 &
    echo \$! >'$tmp/served'
    for _ in \$(seq 200); do
      kill -0 \$! || exit 1
      { exec 3<>/dev/tcp/127.0.0.1/$http_port && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && grep -q '^HTTP/1.. 200' <&3; } 2>/dev/null && exit
      sleep 0.1
    done
    exit 1
    ;;
  doctor) '$bin' "\$@" || [ \$? -eq 1 ] ;;
  *) exec '$bin' "\$@" ;;
esac
SHIM
  chmod +x "$tmp/programs/lockstead"
}

# run_block N LANGUAGE
run_block() {
  local file=$tmp/blocks/$1
  adapt <"$file" >"$file.$2"
  case $2 in
    sh) (cd "$work" && PATH=$tmp/programs:$PATH timeout 60 bash -euo pipefail "$file.sh") ;;
    sql) timeout 60 "${CLIENT%% *}" -h 127.0.0.1 -P "$port" -u root -prootpw -t <"$file.sql" ;;
  esac </dev/null >"$file.out" 2>&1
}

# document FILE
document() {
  local n line language mark name=${1##*/}
  blocks "$1"
  # A document's configuration is a file beside its commands.
  n=$(awk -F '\t' '$3 == "toml" { print $1; exit }' "$tmp/index")
  [ -z "$n" ] || adapt <"$tmp/blocks/$n" >"$work/${name%.md}.toml"
  while IFS=$'\t' read -r n line language mark; do
    case $language in
      sh | sql) ;;
      toml | text) continue ;;
      *) die "$1:$line: a block in '$language': nobody runs it; take sh, sql, toml or none" ;;
    esac
    case $mark in
      'not run: '*) left_out=$((left_out + 1)) && say "  $1:$line: $mark" && continue ;;
      "only $flavour" | -) ;;
      only*) continue ;;
    esac
    run_block "$n" "$language" || die "$1:$line: the block failed: $(tail -n 20 "$tmp/blocks/$n.out")"
    run=$((run + 1))
  done <"$tmp/index"
}

# forget: the server as before the documents.
forget() {
  sql -e "DROP DATABASE IF EXISTS lockstead; DROP USER IF EXISTS lockstead@'127.0.0.%', dba@'127.0.0.%'"
}

# server FLAVOUR: one that knows nothing of Lockstead, with an application's account and an auditor's.
server() {
  # These would make it fetch the client alone.
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1"
  "$dev/server.sh" start "$1" "$tmp/$1"
  # shellcheck disable=SC1090
  . "$tmp/$1/server.env"
  sql -e "CREATE DATABASE app; CREATE USER app@'127.0.0.%' IDENTIFIED BY 'app'; GRANT ALL ON app.* TO app@'127.0.0.%';
    CREATE USER auditor@'127.0.0.1' IDENTIFIED BY 'secret'; GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO auditor@'127.0.0.1'"
  [ "$1" = mysql ] || sql -e "INSTALL SONAME 'metadata_lock_info'"
}

# place: what a reader has beside the commands.
place() {
  work=$tmp/work-$flavour
  mkdir "$work"
  printf '%s\n' secret | tee "$work/pw" >"$work/pw2"
  printf 'backend = "127.0.0.1:%s"\nstore = "mysql://lockstead:secret@127.0.0.1:%s/lockstead"\nhttp = "127.0.0.1:%s"\nlisten = "127.0.0.1:%s"\nlease = "3s"\n' \
    "$PORT" "$PORT" "$http_port" "$port" >"$work/lockstead.toml"
}

try_documents() {
  local file
  flavour=$1 run=0 left_out=0
  say "test-docs: $flavour"
  server "$flavour"
  port=$(free_port 0) http_port=$(free_port 0)
  export MYSQL_HOST=127.0.0.1 MYSQL_TCP_PORT=$PORT XDG_STATE_HOME=$tmp/state-$flavour
  place
  programs_for_blocks
  # From nothing, like the README, so before it.
  document docs/install.md
  forget
  document README.md
  for file in docs/*.md; do [ "$file" = docs/install.md ] || document "$file"; done
  served=$(cat "$tmp/served") && : >"$tmp/served"
  end "$served"
  [ "$run" -gt 0 ] || die "no block was run: are they found?"
  say "test-docs: $flavour: $run blocks run, $left_out marked as not run"
}

# What the documents call beside Lockstead and the servers' clients.
need curl curl
need openssl openssl
bin=${LOCKSTEAD_BIN:-}
if [ -z "$bin" ]; then
  cargo build --release --bin lockstead
  bin=${CARGO_TARGET_DIR:-target}/release/lockstead
fi
bin=$(realpath "$bin")
# A proxy that was started by a block is in no list of ours.
trap 'status=$?; set +e; [ ! -s "$tmp/served" ] || end "$(cat "$tmp/served")"; (exit "$status"); leave' EXIT
flavours=("$@")
[ ${#flavours[@]} -gt 0 ] || flavours=(mysql mariadb)
for one in "${flavours[@]}"; do try_documents "$one"; done

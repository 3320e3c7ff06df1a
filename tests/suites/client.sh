# shellcheck shell=bash
# The servers' own tests of their C client libraries, some 300 cases each: prepared
# statements and their types, cursors, several results, COM_CHANGE_USER, big packets,
# metadata. Sourced by dev/test-suites.sh, which says what is defined here.
#
# MariaDB's program speaks plain up to 10.11 and TLS from 11.4, MySQL's TLS; none can be
# told otherwise. So each runs in the one way, MariaDB's older one at MySQL, too.
#
# No version is pinned, as dev/install.sh pins none of the servers: a distribution keeps the
# present package alone, so that a pin would stop working with the next update, and a
# program tests a server of its own release. Each run tells the versions, and is a
# comparison of that day's program with itself; known.txt may name a case too many then,
# which is told, or too few, which fails.

client_ways() {
  printf '%s\n' 'mariadb plain' 'mysql plain' 'mysql tls' 'mariadb118 tls'
}

client_modes() { printf '%s\n' coexist pooled; }

client_fetch() {
  local item
  for item in mariadb mysql mariadb118; do
    [[ $1 != "$item" && $1-$item != mysql-mariadb ]] || items+=("$item-tests")
  done
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1" "${items[@]}"
}

client_options() {
  # As the servers' own test runner starts them, where a case depends on it. (The packets
  # are larger than the default of MySQL's, too.)
  echo --default-storage-engine=myisam --character-set-server=latin1 --max-allowed-packet=32000000 \
    --log-bin-trust-function-creators=1 --general-log --log-output=FILE,TABLE
  echo --sql-mode=NO_ENGINE_SUBSTITUTION
  [ "$1" = mysql ] || echo '--proxy-protocol-networks=*'
}

client_prepare() { :; }

# client_program FLAVOUR WAY
client_program() {
  case $1/$2 in
  mysql/tls) program=$cache/bin/mysql_client_test ;;
  mariadb118/*) program=$cache/bin/mariadb118/mariadb-client-test ;;
  *) program=$cache/bin/mariadb-client-test ;;
  esac
}

client_cases() {
  local program
  client_program "$1" "$2"
  # After a heading and an empty line.
  "$program" --show-tests | sed 1,2d
}

client_run() {
  local program first=()
  client_program "$1" "$2"
  # Those that read what an earlier one has written.
  case $3 in
  client_store_result | client_use_result | test_cursors_with_procedure) first=(test_prepare_insert_update) ;;
  test_cursors_with_union) first=(test_basic_cursors) ;;
  esac
  # It would have to know a file with the CA, which it does not.
  MARIADB_TLS_DISABLE_PEER_VERIFICATION=1 within "$program" --no-defaults --host=127.0.0.1 --port="${port[$4]}" \
    --user=root --password=rootpw --vardir="$PWD" ${first[@]+"${first[@]}"} "$3"
}

# One case prints memory that it has not set, and bash reports a crash.
client_mask() {
  LC_ALL=C sed -E -e 's/^( row [0-9]+: [0-9]+, [a-z]+, ).*/\1…/' -e '/Segmentation fault/d' -e '/Total execution time/d' -e 's/(KILL) [0-9]+/\1 N/' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g' -e 's/[0-9]{2}:[0-9]{2}:[0-9]{2}/TIME/g'
}

# shellcheck shell=bash
# The servers' own tests in SQL, more than a thousand files each, run by their own client:
# a file says what connections do, one statement after the other. Those that restart the
# server, or want it with other options, are left out. Sourced by dev/test-suites.sh,
# which says what is defined here.
#
# The output of a file at the server is the measure, not the result file that comes with it:
# many want their own runner. In the way ps, statements are prepared where they can
# be, and there is no TLS.

sql_ways() {
  printf '%s\n' 'mysql tls' 'mysql ps' 'mariadb tls' 'mariadb ps'
}

sql_modes() { printf '%s\n' coexist pooled; }

sql_fetch() {
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1" "$1-tests"
}

sql_options() {
  # As their own runner has them.
  echo --log-bin-trust-function-creators=1 --secure-file-priv= --connect-timeout=60 --max-connections=300
  [ "$1" = mysql ] || echo --character-set-server=latin1 --default-storage-engine=myisam --performance-schema
}

# They are root without a password, and know a few schemas.
sql_prepare() {
  # Found by ../../, from a schema's folder or from that of all data.
  ln -sfn "$cache/suites/$1/std_data" "$2/std_data"
  ln -sfn "$cache/suites/$1/std_data" "$tmp/std_data"
  mkdir -p "$2/log"
  {
    echo 'CREATE DATABASE mtr; USE mtr;'
    echo 'CREATE TABLE test_suppressions (pattern VARCHAR(255));'
    echo 'CREATE PROCEDURE add_suppression(pattern VARCHAR(255)) INSERT INTO mtr.test_suppressions VALUES (pattern);'
    echo "CREATE USER root@'::1';"
    echo "GRANT ALL ON *.* TO root@'::1' WITH GRANT OPTION;"
    echo "ALTER USER root@'127.0.0.%' IDENTIFIED BY '', root@localhost IDENTIFIED BY '';"
    echo "CREATE USER cleaner@'127.0.0.%' IDENTIFIED BY '';"
    echo "GRANT ALL ON *.* TO cleaner@'127.0.0.%' WITH GRANT OPTION;"
  } | sql
  sed -i /^password/d "$2/client.cnf"
  # In spite of a file that leaves the server with one of these.
  [ "$1" != mysql ] || echo compression-algorithms=zlib,zstd,uncompressed >>"$2/client.cnf"
}

# sql_data FLAVOUR: sets $data, and $files, where the tests are.
sql_data() {
  data=$cache/suites/$1 files=$cache/suites/$1/main
  [ "$1" != mysql ] || files=$data/t
}

# Left out, besides: what debugs the server, takes minutes, or may leave it without accounts.
sql_apart='protocol_compression_algorithms|restart|shutdown|wait_until_(dis)?connected|kill_mysqld|\$MYSQLD\b|MYSQLD_(BOOTSTRAP|CMD)|MYSQLD_DATADIR|master-slave|have_debug|big_test|long_test|valgrind|mysql\.(user|global_priv|db)\b|upgrade|windows|embedded_server|PLUGIN_|_SO\b'

# With shared connections, too: what waits until the server has as few as before, and what reads
# counters of its session, which are the connection's.
sql_apart_pooled='count_sessions|(show|flush)( +(local|session))? +status|session_status|query_cache'

# sql_with_includes DATA FILE: what is in it, and in the files that it names, if it names any.
sql_with_includes() {
  local included
  cat "$2"
  { grep -aoE '^(-- *)?source +[^ ;]+' "$2" || true; } | sed 's/.* //' | while read -r included; do
    cat "$1/$included" 2>/dev/null || true
  done
}

sql_cases() {
  local data files file name
  sql_data "$1"
  for file in "$files"/*.test; do
    name=${file##*/} name=${name%.test}
    # The server's options, for this file alone.
    [[ $name != *big* ]] || continue
    [ -z "$(compgen -G "$files/$name*.opt" || compgen -G "$files/$name*.cnf")" ] || continue
    ! grep -qaE "$sql_apart" "$file" || continue
    # To the end of it: a reader that stops is a failure of the pipe.
    [ "${3:-}" != pooled ] || ! sql_with_includes "$data" "$file" | grep -aiE "$sql_apart_pooled" >/dev/null || continue
    printf '%s\n' "$name"
  done
}

# sql_clean FLAVOUR SIDE: away with what the file before has left, which may have broken
# off: settings, schemas and accounts. By an account of its own, since a file may leave root without privileges.
sql_clean() {
  local client="${client_of[$2]} --user=cleaner"
  local changed="SELECT VARIABLE_NAME FROM performance_schema.variables_info WHERE VARIABLE_SOURCE='DYNAMIC'"
  [ "$1" = mysql ] ||
    changed="SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN='SQL'"
  {
    $client -N -e "$changed" | sed 's/.*/SET GLOBAL &=DEFAULT;/'
    echo "SELECT CONCAT('DROP DATABASE \`', SCHEMA_NAME, '\`;') FROM information_schema.SCHEMATA
      WHERE SCHEMA_NAME NOT IN ('mysql','information_schema','performance_schema','sys','lockstead','app','mtr')" |
      $client -N
    echo "SELECT CONCAT('DROP USER ', QUOTE(User), '@', QUOTE(Host), ';') FROM mysql.user
      WHERE User NOT IN ('root','app','lockstead','cleaner','PUBLIC') AND User NOT LIKE 'm%.%'
        OR User='root' AND Host='127.0.0.1'" |
      $client -N
    echo 'CREATE DATABASE test;'
  } | $client --force >/dev/null 2>&1 || true
  $client -e 'DO 1'
}

sql_run() {
  local data files program=$cache/bin/mariadb-test options=(--silent --protocol=tcp) at client status=0
  sql_data "$1"
  at="--no-defaults --protocol=tcp --host=127.0.0.1 --port=${port[$4]} --user=root"
  case $1/$2 in
  mysql/tls) options+=(--ssl-mode=REQUIRED) at+=' --ssl-mode=REQUIRED' ;;
  mysql/*) options+=(--ssl-mode=DISABLED --get-server-public-key) at+=' --ssl-mode=DISABLED --get-server-public-key' ;;
  */tls) options+=(--ssl --ssl-verify-server-cert=0) at+=' --ssl' ;;
  esac
  [ "$2" != ps ] || options+=(--ps-protocol)
  [ "$1" = mariadb ] || program=$cache/bin/mysqltest
  ln -s "$data"/* . # files are named as seen from there, and may not be written there
  sql_clean "$1" "$4" || return 125
  client=$cache/bin/$1
  local vardir=$tmp/server-$4
  env LC_ALL=C TZ=GMT-3 MYSQL_TEST_DIR="$data" MYSQLTEST_VARDIR="$vardir" MYSQL_TMP_DIR="$vardir/tmp" \
    MASTER_MYPORT="${port[$4]}" MASTER_MYSOCK="$vardir/none" DEFAULT_MASTER_PORT=3306 \
    MYSQL="$client $at" MYSQL_DUMP="$cache/bin/$1${1/mysql/}dump $at" MYSQL_CHARSETSDIR="$vardir/none" \
    MYSQL_TEST="$program $at" \
    timeout --kill-after=5 "${SUITES_SECONDS:-60}" "$program" --no-defaults --host=127.0.0.1 --port="${port[$4]}" --user=root \
    --database=test --basedir="$PWD/" --tmpdir="$vardir/tmp" --logdir="$vardir/log" "${options[@]}" \
    --test-file="$files/$3.test" || status=$?
  [ "$status" -ne 62 ] || status=77 # a file that wants something else
  return "$status"
}

# Costs and estimates of rows rest on samples of the tables.
sql_mask() {
  LC_ALL=C sed -E -e 's,(/tmp)[A-Za-z0-9_]{6}\b,\1,' -e 's/\(cost=[0-9.e+]+ rows=[0-9.e+]+\)/(COST)/g' \
    -e 's/("(query|sort|read|eval|prefix)_cost": )"[^"]*"/\1COST/g' \
    -e "s/'[0-9a-f]{8}-[0-9a-f-]{27}:[0-9-]+'/'GTID_SET'/g"
}

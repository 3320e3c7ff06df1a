# shellcheck shell=bash
# The tests of go-sql-driver/mysql, Go's driver, from its module's archive: prepared and
# interpolated, compressed, LOAD DATA LOCAL, contexts that end, TLS, connections that
# break. Sourced by dev/test-suites.sh, which says what is defined here.

go_module=github.com/go-sql-driver/mysql
go_version=v1.10.1
go_sum=h1:arlSnNLq6a5yxGxV7qg9lF4j0C+KwD6NbQyKr9QL6ME=

go_ways() {
  printf '%s\n' 'mysql plain' 'mysql tls' 'mariadb plain' 'mariadb tls' 'mariadb118 plain' 'mariadb118 tls'
}

go_modes() { printf '%s\n' coexist pooled; }

# Builds two test programs: the driver's tests have no setting for TLS in all of their
# connections, so that the second is of a copy with another connection string.
go_fetch() {
  local folder=$cache/suites/go-sql-driver-$go_version info dir
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1"
  go_programs=$folder/bin
  [ ! -e "$folder/bin/tls" ] || return 0
  command -v go >/dev/null || die 'go is missing, which the suite of its driver needs'
  info=$(cd / && go mod download -json "$go_module@$go_version") || die "$go_module could not be fetched"
  [[ $info = *"\"Sum\": \"$go_sum\""* ]] || die "$go_module $go_version has another checksum than $go_sum"
  dir=$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$info")
  rm -rf "$folder"
  mkdir -p "$folder/bin"
  cp -r "$dir" "$folder/plain"
  chmod -R u+w "$folder/plain"
  cp -r "$folder/plain" "$folder/tls"
  sed -i 's/?timeout=30s"/?timeout=30s\&tls=skip-verify"/' "$folder/tls"/*_test.go
  local way
  for way in plain tls; do
    (cd "$folder/$way" && go test -c -o "../bin/$way.new" . && mv "../bin/$way.new" "../bin/$way")
  done
}

# TestConcurrent opens as many connections as there can be, all at once. MariaDB's queue of those to accept
# would have 110 places, and who finds none is reset.
go_options() { echo --max-connections=300 --back-log=300; }
go_prepare() { sql -e 'CREATE DATABASE gotest'; }
go_cases() { "$go_programs/plain" -test.list '^Test'; }

# A driver's test that finds no server is skipped, and passes.
go_run() {
  local status=0
  go_test "$@" >test.log 2>&1 || status=$?
  cat test.log
  ! grep -q '^--- SKIP' test.log || [ "$status" -ne 0 ] || return 77
  return "$status"
}

go_test() {
  MYSQL_TEST_USER=root MYSQL_TEST_PASS=rootpw MYSQL_TEST_ADDR=127.0.0.1:${port[$4]} MYSQL_TEST_DBNAME=gotest \
    MYSQL_TEST_CONCURRENT=1 within "$go_programs/$2" -test.v -test.timeout=50s -test.run "^$3\$"
}

# Keeps which tests passed, failed or were left out; removes their other output and their times.
go_mask() {
  sed -nE -e 's/^( *--- (PASS|FAIL|SKIP): .*) \([0-9.]+s\)$/\1/p' -e '/^(PASS|FAIL|panic: .*|status [0-9]+)$/p'
}

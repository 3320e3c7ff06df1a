# shellcheck shell=bash
# PHP's tests of its clients, mysqli and pdo_mysql: cursors, procedures and several results, LOAD DATA LOCAL,
# persistent connections, reconnects, kills. PHP has neither CLIENT_DEPRECATE_EOF nor CLIENT_SESSION_TRACK. Sourced by
# dev/test-suites.sh, which says what is defined here.
#
# They are in the source package of the distribution's PHP, and run by the runner that is there.

php_ways() { printf '%s\n' 'mysql plain' 'mariadb plain'; }
php_modes() { printf '%s\n' coexist pooled; }

php_fetch() {
  tests/drivers/php/install
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1" php-tests
}

php_options() { echo --max-connections=300 --local-infile=1; }
php_prepare() { :; }

# EXTENSION.NAME; pdo.NAME are those of PDO, with this driver.
php_cases() {
  local file name
  for file in "$cache"/suites/php/ext/{mysqli,pdo_mysql,pdo}/tests/*.phpt; do
    name=${file#*/ext/} name=${name/\/tests\//.}
    # It stands for all of PDO's.
    [ "$name" = pdo_mysql.common.phpt ] || printf '%s\n' "${name%.phpt}"
  done
}

php_run() {
  local extension=${3%%.*} name=${3#*.} folder
  cp -r "$cache/suites/php/ext" .
  folder=$PWD/ext/$extension/tests
  # What a run that broke off has left.
  ${client_of[$4]} -e 'DROP DATABASE test; CREATE DATABASE test; SET GLOBAL local_infile=1' || return 125
  MYSQL_TEST_HOST=127.0.0.1 MYSQL_TEST_PORT=${port[$4]} MYSQL_TEST_USER=root MYSQL_TEST_PASSWD=rootpw \
    PDO_MYSQL_TEST_DSN="mysql:host=127.0.0.1;port=${port[$4]};dbname=test" PDO_MYSQL_TEST_USER=root PDO_MYSQL_TEST_PASS=rootpw \
    PDOTEST_DSN="mysql:host=127.0.0.1;port=${port[$4]};dbname=test" PDOTEST_USER=root PDOTEST_PASS=rootpw \
    REDIR_TEST_DIR=$PWD/ext/pdo/tests/ TEST_PHP_EXECUTABLE=$(command -v php) NO_INTERACTION=1 TEST_TIMEOUT=30 \
    within php "$cache/suites/php/run-tests.php" -q --offline --no-color "$folder/$name.phpt" >test.log 2>&1 || true
  grep -aE '^(TEST [0-9/]+ \[.*\])?[[:cntrl:]]*(PASS|FAIL|SKIP|XFAIL|XLEAK|BORK|WARN&FAIL)' test.log | sed -E 's/.*\[[^]]*\][[:cntrl:]]*(PASS|FAIL|SKIP|XF|XL|BORK|WARN)/\1/' || cat test.log
  # What a case said that it should not have said.
  cat "$folder/$name.out" 2>/dev/null || true
  ! grep -aqE 'SKIP ' test.log || return 77
  grep -aqE '(PASS|XFAIL) ' test.log
}

# Ids of connections, addresses of memory, times; how many random places of a result were outside.
php_mask() {
  LC_ALL=C sed -E -e 's/\b(thread|id|kill)([ =:#]+)[0-9]+/\1\2N/gI' -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/(No result: )[0-9]+/\1N/' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g' -e 's/[0-9]{2}:[0-9]{2}:[0-9]{2}/TIME/g'
}

# shellcheck shell=bash
# The tests of Perl's DBD::mysql and DBD::MariaDB, both with MariaDB's C library here: prepared by the server or by the
# client, several results, procedures, reconnects, types. Sourced by dev/test-suites.sh, which says what is defined here.
#
# They are in the source packages of the distribution's modules.

perl_ways() { printf '%s\n' 'mysql plain' 'mariadb plain'; }
perl_modes() { printf '%s\n' coexist pooled; }

perl_fetch() {
  tests/drivers/perl/install
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1" perl-tests
}

perl_options() { echo --max-connections=300 --local-infile=1; }
perl_prepare() { :; }

# DRIVER.NAME
perl_cases() {
  local file name
  for file in "$cache"/suites/perl/*/*.t; do
    name=${file#*/perl/} name=${name/\//.}
    printf '%s\n' "${name%.t}"
  done
}

perl_run() {
  local driver=${3%%.*} name=${3#*.} status=0
  cp -r "$cache/suites/perl/$driver" t
  # DBD::MariaDB wants this collation.
  ${client_of[$4]} -e 'DROP DATABASE test; CREATE DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci; SET GLOBAL local_infile=1' || return 125
  # Hashes are walked in the same order at both sides.
  PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 DBI_DSN="DBI:$driver:database=test;host=127.0.0.1;port=${port[$4]}" DBI_USER=root DBI_PASS=rootpw \
    within perl -I. -It "t/$name.t" >test.log 2>&1 || status=$?
  cat test.log
  ! grep -qE '^1\.\.0 # SKIP' test.log || return 77
  return "$status"
}

# Ids of connections, addresses of memory, times; blobs are random.
perl_mask() {
  LC_ALL=C sed -E -e 's/\b(thread|id|connection|kill)([ =:#'"'"']+)[0-9]+/\1\2N/gI' -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/(the same connection: ).*/\1N/' -e '/Uptime:/d' -e '/^# [0-9a-f]{8} [0-9a-f]+$/d' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g' -e 's/[0-9]{2}:[0-9]{2}:[0-9]{2}/TIME/g'
}

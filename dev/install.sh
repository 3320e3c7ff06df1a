#!/usr/bin/env bash
# Fetches the servers and tools that the tests and benchmarks run against:
#
#   dev/install.sh [mysql] [mariadb] [mariadb118] [galera] [haproxy] [sysbench]
#                  [router] [prometheus] [mydumper] [mariabackup] [libmysqlclient] [libmariadb]
#                  [mysql-tests] [mariadb-tests] [mariadb118-tests] [php-tests] [perl-tests]...
#                                               (no argument: mysql mariadb)
#
# mariadb is the distribution's, mariadb118 that of Debian unstable (11.8 or newer),
# with the headers of its client library. galera is the library with which mariadb forms a
# cluster; it goes where mariadb is. libmysqlclient and libmariadb are the client
# libraries of mysql and mariadb; CACHE/ITEM/run starts a program with its libraries.
# SERVER-tests are the tests that the server's makers write: the programs in bin/, what
# they read in CACHE/suites/SERVER. php-tests and perl-tests are those of mysqli and pdo_mysql, of DBD::mysql and
# DBD::MariaDB, from the distribution's source packages, in CACHE/suites/php and perl.
#
# Nothing is installed into the system and root is not needed. The machine's
# own apt downloads the packages with all the shared libraries they need, libc
# included; they are unpacked into ${LOCKSTEAD_CACHE:-~/.cache/lockstead}, and
# small wrappers in its bin/ folder run each program through the unpacked
# dynamic loader. So no service is started, no installed package changes (the
# distributions' MySQL and MariaDB packages exclude each other), and a release
# newer than the distribution's own can run.
#
# To get newer versions, delete the cache folder and run this again.
# When LOCKSTEAD_TEST_MYSQL or LOCKSTEAD_TEST_MARIADB names a server to test
# against, only the client of that flavour is fetched.
set -euo pipefail

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}

say() { printf 'install: %s\n' "$*"; }
die() { printf 'install: %s\n' "$*" >&2; exit 1; }

# --- apt, with state of its own -------------------------------------------

# new_apt NAME [SOURCES-LINE]: (re)makes a private apt state under $tmp/NAME.
# Without a line, the machine's own sources are used. The dpkg status is empty,
# so apt considers nothing to be installed and fetches every dependency.
new_apt() {
  local state=$tmp/$1
  rm -rf "$state"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  : >"$state/status"
  # Read after the machine's configuration (which may name a proxy). The hooks
  # that distributions run after an update concern the system's own lists.
  cat >"$state/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "$state";
Dir::State::lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
Dir::Cache::archives "$state/cache/archives";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Keep-Downloaded-Packages "true";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
CONF
  if [ $# -gt 1 ]; then
    printf '%s\n' "$2" >"$state/sources.list"
    cat >>"$state/apt.conf" <<CONF
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Default-Release "";
APT::Update::Error-Mode "any";
CONF
  fi
}

# in_apt NAME apt-get|apt-cache ARG...
in_apt() {
  local state=$tmp/$1 tool=$2
  shift 2
  "$tool" -qq -c "$state/apt.conf" "$@" 2>>"$tmp/log" </dev/null
}

# The machine's own sources, as they are. A third party's broken source must
# not matter, so whether this worked is seen when packages are asked for.
distribution() {
  [ -e "$tmp/distribution/ready" ] && return
  new_apt distribution
  in_apt distribution apt-get update >>"$tmp/log" || true
  : >"$tmp/distribution/ready"
}

# Where MySQL itself, and newer MariaDB, come from: sets $newer. Ubuntu has them.
# Debian has them in unstable only: the archive is the one that the machine already
# uses, under another suite.
newer_source() {
  [ -n "${newer:-}" ] && return
  if [ "$os" = ubuntu ]; then
    distribution
    newer=distribution
    return
  fi
  local archives
  # As apt itself understands its configuration: 'URI/dists/SUITE/InRelease'.
  archives=$(apt-get --print-uris update 2>>"$tmp/log" |
    sed -n "s|^'\([^']*\)/dists/\([^/']*\)/InRelease'.*|\1 \2|p" |
    awk '$2 !~ /security/ && !seen[$1]++ { print $1 }')
  [ -n "$archives" ] || die "apt's configuration names no Debian archive; add the distribution's main archive to the sources in /etc/apt"

  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -e "$keyring" ] || keyring=${keyring%.gpg}.pgp
  local try archive
  for try in installed newest; do
    if [ "$try" = newest ]; then
      # The installed keyring may be older than unstable's present key: the
      # distribution's newest one is vouched for by the keys we have.
      distribution
      rm -f "$tmp"/distribution/cache/archives/*.deb
      in_apt distribution apt-get download debian-archive-keyring >>"$tmp/log" || continue
      dpkg-deb -x "$tmp"/debian-archive-keyring_*.deb "$tmp/keyring" || continue
      keyring=$(find "$tmp/keyring/usr/share/keyrings" -name 'debian-archive-keyring.*' -print -quit)
    fi
    [ -e "$keyring" ] || continue
    for archive in $archives; do
      new_apt unstable "deb [signed-by=$keyring] $archive unstable main"
      if in_apt unstable apt-get update >>"$tmp/log"; then
        newer=unstable
        return
      fi
    done
  done
  tail -n 15 "$tmp/log" >&2
  die "Debian unstable, which has the packages of MySQL and of newer MariaDB, cannot be read or verified (see above). Check the network and update the package debian-archive-keyring, or set LOCKSTEAD_TEST_MYSQL to mysql://user:password@host:port/ of a MySQL server of yours"
}

# newest NAME STEM: the package STEM or, as on Ubuntu, STEM-VERSION.
newest() {
  local found
  found=$(in_apt "$1" apt-cache pkgnames "$2" | grep -xE "$2(-[0-9.]+)?" | sort -V | tail -n 1) || true
  printf '%s\n' "${found:-$2}" # so that apt names what it lacks
}

# --- unpacking and wrapping -------------------------------------------------

# unpack ROOT APT PACKAGE...: the packages and all they need, into $cache/ROOT.
unpack() {
  local root=$1 apt=$2 deb archives
  shift 2
  archives=$tmp/$apt/cache/archives
  rm -f "$archives"/*.deb
  if ! in_apt "$apt" apt-get -y --download-only install "$@" >>"$tmp/log"; then
    tail -n 15 "$tmp/log" >&2
    die "apt could not fetch $* (see above). Check the network, and that apt's sources have these packages (on Ubuntu: the universe component)"
  fi
  rm -rf "$tmp/root"
  mkdir "$tmp/root"
  for deb in "$archives"/*.deb; do
    # Only scripts that are not wrapped want Perl, a fifth of the whole.
    case ${deb##*/} in perl* | libperl*) continue ;; esac
    dpkg-deb -x "$deb" "$tmp/root"
  done
  rm -f "$archives"/*.deb
  rm -rf "$tmp"/root/usr/share/{doc,man,info,locale,lintian,bug}
  rm -rf "${cache:?}/$root"
  mv "$tmp/root" "$cache/$root"
}

# loading ROOT: sets $loader and $libs, and where client libraries look for
# authentication plugins: $plugins and $mariadb_plugins.
loading() {
  local root=$cache/$1 private
  loader=$(find "$root" -path '*/lib*/ld-linux*.so.*' -type f -print -quit)
  [ -n "$loader" ] || die "no dynamic loader among the unpacked packages in $root"
  libs=$(find "$root" -maxdepth 3 -path '*/lib/*-linux-gnu*' -type d | paste -sd:)
  for private in "$root/usr/lib/mysql/private" "$root/usr/lib/mysql-router"; do
    [ ! -d "$private" ] || libs=$libs:$private
  done
  plugins=$root/usr/lib/mysql/plugin
  mariadb_plugins=$(find "$root/usr/lib" -path '*/libmariadb3/plugin' -type d -print -quit)
}

# start_wrapper: the beginning of one, on the standard output.
start_wrapper() {
  echo '#!/bin/sh'
  echo '# Written by dev/install.sh.'
  [ ! -d "$plugins" ] || printf 'export LIBMYSQL_PLUGIN_DIR=%q\n' "$plugins"
  printf 'export MARIADB_PLUGIN_DIR=%q\n' "${mariadb_plugins:-$plugins}"
}

# finish_wrapper FILE: it is what came on the standard input.
finish_wrapper() {
  cat >"$tmp/wrapper"
  chmod +x "$tmp/wrapper"
  mv "$tmp/wrapper" "$1"
}

# wrap ROOT PROGRAM...: $bin/PROGRAM runs $cache/ROOT's program with the loader
# and the libraries beside it. Programs that the packages lack are left out.
wrap() {
  local root=$cache/$1 loader libs plugins mariadb_plugins program file
  loading "$1"
  shift
  mkdir -p "$bin"
  for program in "$@"; do
    for file in "$root/usr/sbin/$program" "$root/usr/bin/$program"; do
      [ -f "$file" ] || continue
      {
        start_wrapper
        # sysbench's own scripts, which it looks for in the system.
        [ "$program" = sysbench ] &&
          printf 'export LUA_PATH=%q\n' "./?.lua;$root/usr/share/sysbench/?.lua"
        printf 'exec %q --inhibit-cache --library-path %q %q "$@"' "$loader" "$libs" "$file"
        # The option replaces the line of the configuration file that names the folder of plugins.
        [ "$program" = mysqlrouter ] && printf ' --DEFAULT.plugin_folder=%q' \
          "$(find "$root/usr/lib" -path '*router*/plugin' -type d -print -quit)"
        echo
      } | finish_wrapper "$bin/$program"
      break
    done
  done
}

# wrap_library ROOT: $cache/ROOT/run runs the program that it is given.
wrap_library() {
  local loader libs plugins mariadb_plugins
  loading "$1"
  {
    start_wrapper
    printf 'exec %q --inhibit-cache --library-path %q "$@"\n' "$loader" "$libs"
  } | finish_wrapper "$cache/$1/run"
}

# finish ROOT PROGRAM: records the version, by which a later run knows ROOT.
finish() {
  local version
  version=$("$bin/$2" "${3:---version}" 2>&1 | head -n 1) ||
    die "$2 was unpacked but does not run: $version"
  version=${version#*"$cache"/*/"$2"}
  printf '%s\n' "${version#  }" >"$cache/$1/.ready"
  say "$1: fetched $2 $(cat "$cache/$1/.ready")"
}

have() {
  [ -e "$cache/$1/.ready" ] || return 1
  say "$1: present in $cache"
}

mysql_clients=(mysql mysqladmin mysqldump mysqlslap mysqlbinlog)
mariadb_clients=(mariadb mariadb-admin mariadb-dump mariadb-slap mariadb-binlog)

install_mysql() {
  if [ -n "${LOCKSTEAD_TEST_MYSQL:-}" ]; then
    have mysql-client || have mysql && return
    newer_source
    unpack mysql-client "$newer" "$(newest "$newer" mysql-client-core)"
    wrap mysql-client "${mysql_clients[@]}"
    finish mysql-client mysql
    return
  fi
  have mysql && return
  newer_source
  unpack mysql "$newer" "$(newest "$newer" mysql-server-core)" "$(newest "$newer" mysql-client-core)"
  wrap mysql mysqld "${mysql_clients[@]}"
  finish mysql mysqld
}

install_mariadb() {
  if [ -n "${LOCKSTEAD_TEST_MARIADB:-}" ]; then
    have mariadb-client || have mariadb && return
    distribution
    unpack mariadb-client distribution "$(newest distribution mariadb-client-core)"
    wrap mariadb-client "${mariadb_clients[@]}"
    finish mariadb-client mariadb
    return
  fi
  if ! have mariadb; then
    distribution
    unpack mariadb distribution "$(newest distribution mariadb-server-core)" "$(newest distribution mariadb-client-core)"
    wrap mariadb mariadbd "${mariadb_clients[@]}"
    finish mariadb mariadbd
  fi
  if [ ! -e "$cache/mariadb/usr/lib/mysql/plugin/auth_ed25519.so" ]; then
    distribution
    mariadb_plugins mariadb distribution metadata_lock_info.so auth_ed25519.so
  fi
}

# A third flavour beside the distribution's: it has snapshot isolation, TLS unless
# told otherwise, and further ways to log in.
install_mariadb118() {
  local bin=$cache/bin/mariadb118
  have mariadb118 && return
  newer_source
  unpack mariadb118 "$newer" "$(newest "$newer" mariadb-server-core)" \
    "$(newest "$newer" mariadb-client-core)" libmariadb-dev
  wrap mariadb118 mariadbd "${mariadb_clients[@]}"
  wrap_library mariadb118
  mariadb_plugins mariadb118 "$newer" auth_ed25519.so auth_parsec.so
  finish mariadb118 mariadbd
}

# mariadb_plugins ROOT APT FILE...: from the package of the whole server, whose
# dependencies nobody here needs.
mariadb_plugins() {
  local root=$1 apt=$2 plugins=$cache/$1/usr/lib/mysql/plugin name file core
  shift 2
  core=$(newest "$apt" mariadb-server-core)
  rm -rf "$tmp"/mariadb-server*.deb "$tmp/whole"
  in_apt "$apt" apt-get download "${core/-core/}" >>"$tmp/log" || true
  for file in "$tmp"/mariadb-server*.deb; do
    [ -e "$file" ] || break
    dpkg-deb -x "$file" "$tmp/whole"
  done
  mkdir -p "$plugins"
  for name in "$@"; do
    file=$(find "$tmp/whole" -name "$name" -print -quit 2>/dev/null) || true
    if [ -z "$file" ]; then
      say "$root: $name could not be fetched; a test of it will fail"
      continue
    fi
    cp "$file" "$plugins/$name"
    say "$root: fetched $name"
  done
}

# All that its package needs beside it, the server has brought.
install_galera() {
  local target=$cache/mariadb/usr/lib/galera file
  [ -d "$cache/mariadb" ] || die 'galera goes with mariadb, which is not there: name both'
  if [ -e "$target/libgalera_smm.so" ]; then
    say "galera: present in $cache"
    return
  fi
  distribution
  rm -rf "$tmp"/galera*.deb "$tmp/whole"
  in_apt distribution apt-get download "$(newest distribution galera)" >>"$tmp/log" || die 'apt could not fetch galera'
  dpkg-deb -x "$tmp"/galera*.deb "$tmp/whole"
  file=$(find "$tmp/whole" -name libgalera_smm.so -type f -print -quit)
  [ -n "$file" ] || die 'the package of galera has another form than expected'
  mkdir -p "$target"
  mv "$file" "$target/libgalera_smm.so"
  say "galera: fetched $(dpkg-deb -f "$tmp"/galera*.deb Version)"
}

install_libmysqlclient() {
  have libmysqlclient && return
  newer_source
  library libmysqlclient "$newer" libmysqlclient-dev
}

install_libmariadb() {
  have libmariadb && return
  distribution
  library libmariadb distribution libmariadb-dev
}

# library ROOT APT PACKAGE
library() {
  unpack "$1" "$2" "$3"
  wrap_library "$1"
  printf '%s\n' "$3" >"$cache/$1/.ready"
  say "$1: fetched $3"
}

install_mysql-tests() {
  LOCKSTEAD_TEST_MYSQL='' install_mysql
  server_tests mysql newer mysql-testsuite -- mysql_client_test mysqltest
}

install_mariadb-tests() {
  LOCKSTEAD_TEST_MARIADB='' install_mariadb
  server_tests mariadb distribution mariadb-test mariadb-test-data libpcre2-posix3 -- mariadb-client-test mariadb-test
}

install_mariadb118-tests() {
  local bin=$cache/bin/mariadb118
  install_mariadb118
  server_tests mariadb118 newer mariadb-test mariadb-test-data libpcre2-posix3 -- mariadb-client-test mariadb-test
}

install_php-tests() {
  local version
  have suites/php && return
  version=$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;') || die 'php-tests: php is missing; tests/drivers/php/install installs it'
  sources php "php$version"
  local unpacked=("$tmp"/whole/php*/)
  finish_sources php "${unpacked[0]}" run-tests.php ext/mysqli/tests ext/pdo_mysql/tests ext/pdo/tests
}

install_perl-tests() {
  have suites/perl && return
  sources perl libdbd-mysql-perl libdbd-mariadb-perl
  local folder
  for folder in mysql MariaDB; do
    mv "$tmp"/whole/DBD-$folder-*/t "$tmp/whole/$folder"
  done
  finish_sources perl "$tmp/whole" mysql MariaDB
}

# sources NAME PACKAGE...: unpacks them into $tmp/whole. The newest one may not be there any more, or not yet.
sources() {
  local name=$1 package list
  shift
  new_apt sources "$(apt-get --print-uris update 2>>"$tmp/log" |
    sed -n "s|^'\([^']*\)/dists/\([^/']*\)/InRelease'.*|deb-src \1 \2 main|p")"
  in_apt sources apt-get update >>"$tmp/log" || true
  rm -rf "$tmp/whole"
  mkdir "$tmp/whole"
  for package in "$@"; do
    rm -f "$tmp"/*.orig.tar.*
    list=$(in_apt sources apt-cache showsrc "$package" | sed -n 's/^Version: //p' | sort -Vru)
    for version in $list; do
      in_apt sources apt-get --download-only source "$package=$version" >>"$tmp/log" || true
      # The patches and the signature are not needed.
      [ -z "$(compgen -G "$tmp/*.orig.tar.[gx]z")" ] || break
    done
    tar -x -C "$tmp/whole" -f "$(compgen -G "$tmp/*.orig.tar.[gx]z" | head -n 1)" ||
      die "apt could not fetch the sources of $package: $(tail -n 3 "$tmp/log")"
  done
}

# finish_sources NAME FOLDER PART...: keeps these parts of it.
finish_sources() {
  local name=$1 from=$2 part
  shift 2
  rm -rf "${cache:?}/suites/$name"
  mkdir -p "$cache/suites/$name"
  for part in "$@"; do
    mkdir -p "$(dirname "$cache/suites/$name/$part")"
    mv "$from/$part" "$cache/suites/$name/$part"
  done
  printf '%s\n' "$version" >"$cache/suites/$name/.ready"
  say "suites/$name: fetched"
}

# server_tests ROOT distribution|newer PACKAGE... -- PROGRAM...: the programs run with
# the libraries of the server in $cache/ROOT, and those of packages named lib*. Their
# own want whole servers and Perl, so they are fetched alone.
server_tests() {
  local root=$1 apt=$2 packages=() deb data program
  have "suites/$root" && return
  if [ "$apt" = newer ]; then newer_source && apt=$newer; else distribution; fi
  shift 2
  while [ "$1" != -- ]; do
    packages+=("$1")
    shift
  done
  shift
  rm -rf "$tmp"/*.deb "$tmp/whole"
  in_apt "$apt" apt-get download "${packages[@]}" >>"$tmp/log" ||
    die "apt could not fetch ${packages[*]}"
  for deb in "$tmp"/*.deb; do
    case ${deb##*/} in
    lib*) dpkg-deb -x "$deb" "$cache/$root" ;;
    *) dpkg-deb -x "$deb" "$tmp/whole" ;;
    esac
  done
  for program in "$@"; do
    cp "$(find "$tmp/whole/usr" -name "$program" -type f -perm -u+x -print -quit)" "$cache/$root/usr/bin/"
  done
  wrap "$root" "$@"
  data=$(find "$tmp/whole/usr" -path '*-test/std_data' -type d -print -quit)
  rm -rf "$cache/suites/$root"
  mkdir -p "$cache/suites"
  mv "${data%/std_data}" "$cache/suites/$root"
  # Their own programs, and what concerns neither server nor client here.
  rm -rf "$cache/suites/$root"/{bin,lib,plugin,storage,suite}
  dpkg-deb -f "$deb" Version >"$cache/suites/$root/.ready"
  say "suites/$root: fetched ${packages[0]} $(cat "$cache/suites/$root/.ready")"
}

install_haproxy() {
  have haproxy && return
  distribution
  unpack haproxy distribution haproxy
  wrap haproxy haproxy
  finish haproxy haproxy -v
}

install_sysbench() {
  have sysbench && return
  distribution
  unpack sysbench distribution sysbench
  wrap sysbench sysbench
  finish sysbench sysbench
}

install_mydumper() {
  have mydumper && return
  distribution
  unpack mydumper distribution mydumper
  wrap mydumper mydumper
  finish mydumper mydumper
}

# Of the version of `mariadb`, which it must not differ from.
install_mariabackup() {
  have mariabackup && return
  distribution
  unpack mariabackup distribution mariadb-backup
  wrap mariabackup mariadb-backup
  finish mariabackup mariadb-backup
}

install_prometheus() {
  have prometheus && return
  distribution
  unpack prometheus distribution prometheus
  wrap prometheus prometheus promtool
  finish prometheus prometheus
}

install_router() {
  have router && return
  newer_source
  unpack router "$newer" mysql-router
  wrap router mysqlrouter mysqlrouter_passwd
  finish router mysqlrouter
}

# ----------------------------------------------------------------------------

[ $# -gt 0 ] || set -- mysql mariadb
for item in "$@"; do
  case $item in
  mysql | mariadb | mariadb118 | galera | haproxy | sysbench | router | prometheus | mydumper | mariabackup | libmysqlclient | libmariadb) ;;
  mysql-tests | mariadb-tests | mariadb118-tests | php-tests | perl-tests) ;;
  *) die "unknown item '$item'; usage: $(sed -n '4,6s/^# *//p' "$0" | tr -s '\n ' ' ')" ;;
  esac
done
for tool in apt-get apt-cache dpkg-deb flock; do
  command -v "$tool" >/dev/null ||
    die "$tool is missing: this script needs Debian or Ubuntu. Elsewhere, set LOCKSTEAD_TEST_MYSQL and LOCKSTEAD_TEST_MARIADB to servers of yours"
done
# shellcheck disable=SC1091
os=$(. /etc/os-release && case " $ID ${ID_LIKE:-} " in *" ubuntu "*) echo ubuntu ;; *) echo debian ;; esac)

mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)
bin=$cache/bin
# One run at a time: the tests of several checkouts may share the cache.
exec 9>"$cache/.lock"
flock 9
rm -rf "$cache"/.tmp.*
tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

for item in "$@"; do
  "install_$item"
done

# shellcheck shell=bash
# The tests of mysql_async, a driver in Rust, from its crate: the pool and its resets,
# several results at once, statements' caches, LOAD DATA LOCAL, the binary log, statements
# that are dropped half way. Way zip is compressed. Sourced by dev/test-suites.sh, which
# says what is defined here.

rust_crate=mysql_async
rust_version=0.37.1
rust_sum=40d11da0e2d9fad4640c9f9198ee431c6d68444568f83ef1f10f3367270071e4

rust_ways() {
  printf '%s\n' 'mysql plain' 'mysql tls' 'mysql zip' 'mariadb plain' 'mariadb tls' 'mariadb zip'
}

rust_modes() { printf '%s\n' coexist pooled; }

rust_fetch() {
  local folder=$cache/suites/$rust_crate-$rust_version source
  env -u LOCKSTEAD_TEST_MYSQL -u LOCKSTEAD_TEST_MARIADB "$dev/install.sh" "$1"
  rust_program=$folder/tests
  [ ! -e "$folder/tests" ] || return 0
  rm -rf "$folder"
  mkdir -p "$folder/fetch/src"
  # A package that needs it, so that cargo fetches it and knows its checksum.
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n%s = { version = "=%s", default-features = false }\n' \
    "$rust_crate" "$rust_version" >"$folder/fetch/Cargo.toml"
  : >"$folder/fetch/src/lib.rs"
  source=$(cd "$folder/fetch" && cargo metadata --quiet --format-version 1 | tr ',' '\n' |
    sed -n "s|.*\"manifest_path\":\"\(.*/$rust_crate-$rust_version\)/Cargo.toml\".*|\1|p")
  grep -q "checksum = \"$rust_sum\"" "$folder/fetch/Cargo.lock" || die "$rust_crate $rust_version has another checksum than $rust_sum"
  cp -r "$source" "$folder/source"
  (
    cd "$folder/source"
    export CARGO_TARGET_DIR=$folder/target CARGO_PROFILE_TEST_DEBUG=0
    cargo test --locked --no-run --lib --no-default-features --features default-rustls-ring,binlog
  )
  mv "$(find "$folder/target/debug/deps" -name "$rust_crate-*" -type f -perm -u+x -print -quit)" "$folder/tests"
  rm -rf "$folder/target"
}

rust_options() {
  echo --max-connections=300
  [ "$1" != mysql ] || echo --gtid-mode=ON --enforce-gtid-consistency=ON
}
rust_prepare() { :; }
rust_cases() { "$rust_program" --list --format terse | sed -n 's/: test$//p'; }

rust_run() {
  local ssl=0 compress=0 status=0
  [ "$2" != tls ] || ssl=1
  [ "$2" != zip ] || compress=1
  DATABASE_URL="mysql://root:rootpw@127.0.0.1:${port[$4]}/mysql?prefer_socket=false" SSL=$ssl COMPRESS=$compress \
    within "$rust_program" --exact --test-threads 1 "$3" >test.log 2>&1 || status=$?
  cat test.log
  # Ignored, or none of this name.
  [ "$status" -ne 0 ] || grep -q '^test .* ok$' test.log || return 77
  return "$status"
}

# Which passed; not what a failed one tells, nor how long it took.
rust_mask() { sed -nE '/^(test .* \.\.\. |status )/p'; }

#!/usr/bin/env bash
# Random bytes for the SQL lexer, by libfuzzer:
#
#   dev/fuzz.sh [SECONDS [argument of libfuzzer...]]
#
# It needs a nightly toolchain and a C++ compiler. fuzz/ is laid out for cargo-fuzz
# too, which is not needed. What was interesting stays in fuzz/corpus for the next
# run; what fails, in fuzz/artifacts, and is run again by its path as an argument.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || { printf 'usage: dev/fuzz.sh [SECONDS [argument of libfuzzer...]]\n' >&2; exit 2; }
shift $(($# > 0 ? 1 : 0))

# As cargo-fuzz has it. Without the address sanitizer: nothing here is unsafe.
flags=(--cfg fuzzing -Cpasses=sancov-module -Cdebug-assertions -Coverflow-checks
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares)
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}/fuzz
# With a target of its own, so that build scripts are not instrumented.
CARGO_TARGET_DIR=$target RUSTFLAGS="${flags[*]}" \
  cargo +nightly build --release --locked --target "$host" --manifest-path fuzz/Cargo.toml

# Each seed as either server reads it; the third byte is the size of chunks.
corpus=fuzz/corpus/lexer
mkdir -p "$corpus" fuzz/artifacts
n=0
while IFS= read -r seed; do
  n=$((n + 1))
  printf '@0%c%s' "$((n % 10))" "$seed" >"$corpus/seed-$n-mysql"
  printf 'H0%c%s' "$((n % 10))" "$seed" >"$corpus/seed-$n-mariadb"
done <fuzz/seeds.txt

exec "$target/$host/release/lexer" "$corpus" -dict=fuzz/words.dict -max_total_time="$seconds" \
  -artifact_prefix=fuzz/artifacts/ -max_len=600 -timeout=10 "$@"

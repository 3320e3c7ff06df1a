#!/usr/bin/env bash
# Random bytes for the SQL lexer and for everything that reads packets, by libfuzzer:
#
#   dev/fuzz.sh [SECONDS [TARGET [argument of libfuzzer...]]]
#
# The seconds are split among all targets, unless one is named. It needs a nightly
# toolchain and a C++ compiler. fuzz/ is laid out for cargo-fuzz too, which is not
# needed. Interesting inputs stay in fuzz/corpus for the next run; failing ones, in
# fuzz/artifacts, can be run again by their path as an argument.
set -euo pipefail
cd "$(dirname "$0")/.."

all=(lexer frames handshake auth statements response rewriting params compression)
seconds=${1:-180}
[[ $seconds =~ ^[0-9]+$ ]] ||
  { printf 'usage: dev/fuzz.sh [SECONDS [TARGET [argument of libfuzzer...]]]\n' >&2; exit 2; }
shift $(($# > 0 ? 1 : 0))
targets=("${all[@]}")
if (($# > 0)); then
  targets=("$1")
  shift
fi
[[ " ${all[*]} " == *" ${targets[0]} "* ]] ||
  { printf 'targets: %s\n' "${all[*]}" >&2; exit 2; }

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
mkdir -p fuzz/corpus/lexer fuzz/artifacts
n=0
while IFS= read -r seed; do
  n=$((n + 1))
  printf '@0%c%s' "$((n % 10))" "$seed" >"fuzz/corpus/lexer/seed-$n-mysql"
  printf 'H0%c%s' "$((n % 10))" "$seed" >"fuzz/corpus/lexer/seed-$n-mariadb"
done <fuzz/seeds.txt

share=$((seconds / ${#targets[@]}))
for name in "${targets[@]}"; do
  printf '== %s, %d s\n' "$name" "$share"
  mkdir -p "fuzz/corpus/$name"
  options=(-max_total_time="$((share > 0 ? share : 1))" -timeout=10 -rss_limit_mb=1024)
  case $name in
    lexer) options+=(-dict=fuzz/words.dict -max_len=600) ;;
    *) options+=(-max_len=2000) ;;
  esac
  "$target/$host/release/$name" "fuzz/corpus/$name" "${options[@]}" \
    -artifact_prefix="fuzz/artifacts/$name-" "$@"
done

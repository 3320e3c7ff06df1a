#!/usr/bin/env bash
# Debian's package, with the manual pages and completions that its program writes:
#
#   dev/deb.sh [option of cargo deb...]     e.g. --output FILE; otherwise into target/deb/debian
#
# LOCKSTEAD_BIN is a release build to be used in place of one that is made.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}
# One version for all: what it makes changes with it.
version=3.8.0
tool=$cache/cargo-deb-$version/bin
if [ ! -x "$tool/cargo-deb" ]; then
  printf 'deb: building cargo-deb %s, some minutes, once\n' "$version"
  cargo install --quiet --locked --root "${tool%/bin}" --version "=$version" cargo-deb
fi

target=${CARGO_TARGET_DIR:-target}
bin=${LOCKSTEAD_BIN:-}
if [ -z "$bin" ]; then
  cargo build --locked --release --bin lockstead
  bin=$target/release/lockstead
fi
# Assets in target/release are sought in the target directory.
release=$target/deb/release
rm -rf "$release"
mkdir -p "$release/man" "$release/completions"
cp "$bin" "$release/lockstead"
"$bin" man --out "$release/man"
gzip -9n "$release"/man/*
for shell in bash zsh fish; do "$bin" completions "$shell" >"$release/completions/$shell"; done
CARGO_TARGET_DIR=$target/deb "$tool/cargo-deb" deb --no-build --strip "$@"

#!/usr/bin/env bash
# What can be said of the code without running it:
#
#   dev/check.sh
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'check: %s\n' "$*"; }

say formatting
cargo fmt --all --check
cargo fmt --check --manifest-path tests/drivers/rust/Cargo.toml

say lints
cargo clippy --locked --workspace --all-targets -- -D warnings

# fuzz/ has a lock file of its own, which must know of new dependencies, too.
say 'lock file of fuzz/'
cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
if command -v c++ >/dev/null; then
  say 'targets of fuzz/'
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target} cargo check --quiet --locked --bins --manifest-path fuzz/Cargo.toml
else
  say 'targets of fuzz/: left out, there is no C++ compiler'
fi

# One version for all: what it finds, and its configuration, change with it.
deny=0.20.2
tool=${LOCKSTEAD_CACHE:-$HOME/.cache/lockstead}/cargo-deny-$deny
if [ ! -x "$tool/bin/cargo-deny" ]; then
  say "building cargo-deny $deny, some minutes, once"
  # Not among the user's own programs, and with nothing left but the program.
  cargo install --quiet --locked --root "$tool" --version "=$deny" cargo-deny
fi
say 'licences, duplicate crates and where they come from'
"$tool/bin/cargo-deny" --locked --workspace check --hide-inclusion-graph licenses bans sources

say 'rules of this repository'
cargo test --quiet --locked --test tidy

say 'tests of tests/support and xtask'
cargo test --quiet --locked --package lockstead-support --package xtask

if command -v python3 >/dev/null; then
  say dashboards
  grafana/generate.py --check
else
  say 'dashboards: left out, there is no python3'
fi

say 'white space'
# Everything tracked, as a change to an empty tree; Markdown's line breaks apart.
git diff --check "$(git hash-object -t tree /dev/null)" -- . ':!*.md'

if command -v shellcheck >/dev/null; then
  say scripts
  # shellcheck disable=SC2046 # no white space in these names
  shellcheck -x dev/*.sh dev/topology/wsrep_sst_cache dev/packaging/*.sh .ci/run packaging/debian/post* xtask/src/docs/lockstead.sh $(grep -lE '^#!.*sh$' tests/drivers/*/{install,list,run})
  # With the files that it sources.
  shellcheck -x -a -S warning dev/test-suites.sh
else
  say 'scripts: left out, shellcheck is not installed'
fi
say ok

#!/usr/bin/env bash
# The primary of three servers dies again and again, each time with the end of its log, before two proxies whose clients
# hold locks and work under them. On MySQL, then on MariaDB:
#
#   dev/torture-failover.sh [--mutant RULE] [--seed SEED] [mysql|mariadb]... [FAILOVERS]
#
# FAILOVERS  60, some 20 minutes for each server
# RULE       a rule that is left out (src/mutants.rs): NoGrace, NoEpoch, IdentityAlone, EarlyGrace. It must be noticed
#            within 20 failovers
# SEED       draws the same failovers again
#
# A violation is printed with its seed. Exits with the test runner's status.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

names=() features=()
while [ $# -gt 0 ]; do
  case $1 in
  --mutant)
    features=(--features mutants)
    export LOCKSTEAD_MUTANT=${2:?a rule}
    grep -q "^    $LOCKSTEAD_MUTANT,\$" "$root/src/mutants.rs" || die "there is no rule '$LOCKSTEAD_MUTANT'"
    shift
    ;;
  --seed) export LOCKSTEAD_TORTURE_SEED=${2:?a number} && shift ;;
  mysql | mariadb) names+=("failovers_break_no_promise_on_$1") ;;
  *)
    [[ $1 =~ ^[0-9]+$ ]] || die "unknown argument '$1'"
    export LOCKSTEAD_TORTURE_FAILOVERS=$1
    ;;
  esac
  shift
done
[ ${#names[@]} -gt 0 ] || names=(failovers_break_no_promise_on_mysql failovers_break_no_promise_on_mariadb)

"$dev/install.sh" mysql mariadb
export LOCKSTEAD_DEV_DIR=$dev
for test in "${names[@]}"; do
  group cargo test "${features[@]}" --test torture -- --ignored --nocapture --exact "failover::$test"
  wait "$pid"
done

#!/usr/bin/env bash
# The primary of three servers dies again and again, each time with the end of its log, before two proxies whose clients
# hold locks and work under them. Now and then a backup holds the global read lock before that. On MySQL, then on MariaDB:
#
#   dev/torture-failover.sh [--alone] [--mutant RULE] [--seed SEED] [mysql|mariadb]... [FAILOVERS]
#
# --alone    it does not die: nobody fences it, and one of the proxies stays with it, while the other one reaches the next
#            primary. All servers are failover candidates
# FAILOVERS  60, some 20 minutes for each server; with --alone 20, some 10 minutes
# RULE       a rule that is left out (src/mutants.rs): NoGrace, NoEpoch, IdentityAlone, EarlyGrace; with --alone
#            UnwitnessedGrant, UnwitnessedRenewal. It must be noticed within 20 failovers
# SEED       draws the same failovers again
#
# A violation is printed with its seed. Exits with the test runner's status.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

flavours=() features=() what=failovers
while [ $# -gt 0 ]; do
  case $1 in
  --mutant)
    features=(--features mutants)
    export LOCKSTEAD_MUTANT=${2:?a rule}
    grep -q "^    $LOCKSTEAD_MUTANT,\$" "$root/src/mutants.rs" || die "there is no rule '$LOCKSTEAD_MUTANT'"
    shift
    ;;
  --seed) export LOCKSTEAD_TORTURE_SEED=${2:?a number} && shift ;;
  --alone) what=primaries_left_alone ;;
  mysql | mariadb) flavours+=("$1") ;;
  *)
    [[ $1 =~ ^[0-9]+$ ]] || die "unknown argument '$1'"
    export LOCKSTEAD_TORTURE_FAILOVERS=$1
    ;;
  esac
  shift
done
[ ${#flavours[@]} -gt 0 ] || flavours=(mysql mariadb)

"$dev/install.sh" mysql mariadb
export LOCKSTEAD_DEV_DIR=$dev
for flavour in "${flavours[@]}"; do
  group cargo test "${features[@]}" --test torture -- --ignored --nocapture --exact "failover::${what}_break_no_promise_on_$flavour"
  wait "$pid"
done

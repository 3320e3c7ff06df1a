#!/usr/bin/env bash
# Tests that leave rules of the lock engine and of sessions that move out, one at a time, and must notice it,
# against a private MySQL and a private MariaDB:
#
#   dev/mutants.sh [argument of the test runner...]    e.g. dev/mutants.sh own_lease
#
# Exits with the test runner's status.
set -euo pipefail
export LOCKSTEAD_TEST_ARGS='--features mutants --test torture --test differential --test it'
exec "$(dirname "$0")/test.sh" --nocapture "${@:-mutant}"

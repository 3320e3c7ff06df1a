#!/usr/bin/env bash
# Tests that leave rules of the lock engine out, one at a time, and must notice it,
# against a private MySQL and a private MariaDB:
#
#   dev/mutants.sh [argument of the test runner...]    e.g. dev/mutants.sh own_lease
#
# Exits with the test runner's status.
set -euo pipefail
export LOCKSTEAD_TEST_ARGS='--features mutants --test torture'
exec "$(dirname "$0")/test.sh" --nocapture "${@:-mutant_}"

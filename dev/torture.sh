#!/usr/bin/env bash
# Three proxies, many clients and random faults, against a private MySQL and a
# private MariaDB, one after the other:
#
#   dev/torture.sh [SECONDS [SEED]]    240 for each server; a seed draws its faults again
#
# A violation is printed with its seed. Exits with the test runner's status.
set -euo pipefail
# shellcheck source=dev/common.sh
. "$(dirname "$0")/common.sh"

"$dev/install.sh" mysql mariadb
export LOCKSTEAD_DEV_DIR=$dev LOCKSTEAD_TORTURE_SECONDS=${1:-240}
[ $# -lt 2 ] || export LOCKSTEAD_TORTURE_SEED=$2
group cargo test --test torture -- --include-ignored --nocapture --test-threads=1 faults_break_no_promise
wait "$pid"

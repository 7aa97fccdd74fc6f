#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes starts on a throw-away host with a simulated POD64 while wrappers, hooks, clients and the controller are killed,
# and prints TAP: tests/storm/starts_check.sh STARTS [SEED]. Needs the built product, and root.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/host.sh
source tests/support/host.sh
# shellcheck source=tests/storm/storm.bash
source tests/storm/storm.bash
# shellcheck source=tests/storm/starts.bash
source tests/storm/starts.bash

starts=${1:-}
seed=${2:-$((RANDOM % 1000))}
[[ $starts =~ ^[1-9][0-9]{0,4}$ && $seed =~ ^[0-9]{1,5}$ ]] || { echo 'usage: tests/storm/starts_check.sh STARTS [SEED]' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo 'tests/storm/starts_check.sh needs root: it starts containers' >&2; exit 1; }
trap host_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo 1..6
echo "# seed $seed"
host_up && host_install && host_config && storm_install && sim_start && docker_start || exit 1
storm_check "$STARTS_WORKERS workers make $starts starts, while programs are killed" starts_rage "$starts" "$seed" $((starts * 4 + 180))
starts_figures | sed 's/^/# /'
storm_check 'all starts were made' starts_were_made "$starts"
storm_check 'no start failed but with its reason, and all with IPU_WAIT run in the end' starts_had_no_other_errors
storm_check 'no two containers ever had the same IPU, partition, address or MAC, and none lost its lease' starts_never_shared
storm_check 'ledger, docker, controller, kernel, files and address ranges agree exactly' storm_ends_in_agreement
storm_check 'nothing is left when all containers are gone' storm_leaves_nothing
[ "$failed" = 0 ] || [ -z "${KEEP:-}" ] || host_run tar -C /run -c storm service >"$KEEP"
exit "$failed"

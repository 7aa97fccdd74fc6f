#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lets a storm of containers rage on a throw-away host with a simulated POD256, and prints TAP: tests/storm/check.sh
# SECONDS. Needs the built product, and root.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/host.sh
source tests/support/host.sh
# shellcheck source=tests/storm/storm.bash
source tests/storm/storm.bash

seconds=${1:-}
[[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || { echo 'usage: tests/storm/check.sh SECONDS' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo 'tests/storm/check.sh needs root: it starts containers' >&2; exit 1; }
trap host_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo 1..6
host_up && host_install && host_config && storm_install && SIM_POD=pod256 sim_start && docker_start || exit 1
storm_check "16 workers rage for $seconds s" storm_rage "$seconds" 0
storm_figures | sed 's/^/# /'
# At least 200 starts in two minutes.
storm_check 'enough containers were started' storm_started $((seconds * 200 / 120))
storm_check 'docker had no error but for want of room, and what the storm did to containers' storm_had_no_other_errors
storm_check 'no two containers ever had the same IPU, address or MAC, and none lost its lease' storm_never_shared
storm_check 'ledger, docker, controller, kernel, files and address ranges agree exactly' storm_ends_in_agreement
storm_check 'nothing is left when all containers are gone' storm_leaves_nothing
exit "$failed"

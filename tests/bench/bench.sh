#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Simulates the placement policies. Times how long a start looks at the existing leases, and what an attachment costs. Then measures the start
# paths side by side in one run, on a throw-away host. Prints medians, and ratios to runc alone. Compare the ratios:
# absolute figures depend on the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
PREFIX=${PREFIX:-/usr/local}
. tests/support/host.sh
"$O/bin/fragmentation"
"$O/bin/quick_look"
"$O/bin/attach"
trap host_down EXIT
trap 'exit 130' INT TERM

host_up
host_install
host_config
SIM_CREATE_DELAY=0ms sim_start
host_run mkdir -p /run/bench
host_run tee /run/bench/measure.sh >/dev/null <tests/bench/measure.sh
host_run bash /run/bench/measure.sh "$BINDIR/ipu-container-runtime" "/$HOST_CGROUP" "${ROUNDS:-40}"

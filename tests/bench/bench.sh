#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Simulates the placement policies, and times a start's look at the leases that are there. Then measures
# the start path side by side in one run, on a throw-away host: medians, and ratios to what runc alone takes. Absolute figures are this machine's;
# the ratios are what to compare.
set -euo pipefail
cd "$(dirname "$0")/../.."
PREFIX=${PREFIX:-/usr/local}
. tests/support/host.sh
"$O/bin/fragmentation"
"$O/bin/quick_look"
trap host_down EXIT
trap 'exit 130' INT TERM

host_up
host_install
host_config
SIM_CREATE_DELAY=0ms sim_start
host_run mkdir -p /run/bench
host_run tee /run/bench/measure.sh >/dev/null <tests/bench/measure.sh
host_run bash /run/bench/measure.sh "$BINDIR/ipu-container-runtime" "/$HOST_CGROUP" "${ROUNDS:-40}"

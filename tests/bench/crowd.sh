# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs NUMBER containers at once to their end, with the bundles KIND-1, KIND-2, and so on: crowd.sh NUMBER KIND RUNTIME.
set -u
pids=()
for ((i = 1; i <= $1; ++i)); do
  "$3" run --bundle "$2-$i" "crowd-$$-$i" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"

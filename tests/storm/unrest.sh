#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs beside the workers in the throw-away host: unrest.sh LATEST. It acts as an operator who looks and cleans up, and
# interrupts the link to the controller now and then. It writes to /run/storm/log as a worker does.
set -u -o pipefail
cd /run/storm || exit 1

act() { # ACTION COMMAND...
  local action=$1 begin=$EPOCHREALTIME error status=0
  shift
  error=$(timeout 90 "$@" 2>&1 >/dev/null) || status=$?
  printf '%s\t%s\t%s\t-\t%s\t%s\n' "$begin" "$EPOCHREALTIME" "$action" "$status" "${error//[$'\n\t']/ }" >>log/unrest
}

for ((round = 1; EPOCHSECONDS < $1; ++round)); do
  [ ! -e over ] || break
  act gc ipuctl gc
  act ps ipuctl ps
  act queue ipuctl queue
  sleep 1
  # The simulator closes all connections, and listens again after a moment. It keeps its state.
  if ((round % 4 == 0)); then act link vipu-simulator control /run/storm/control.sock restart '{"down":"200ms"}'; fi
done
exit 0

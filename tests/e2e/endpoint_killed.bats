#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Starts with a V-IPU endpoint, whose processes are killed.

load support

teardown() {
  remove_containers
  delete_left
  assert_nothing_left
}

endpoint_pids() { in_host pgrep -x ipu-vipu-endpoi; } # the kernel cuts the name
has_endpoints() { [ "$(endpoint_pids | wc -l)" = "$1" ]; }

# Kills every process NAME (as the kernel cuts it) of the host, several times in a row.
kill_soon() { # MILLISECONDS NAME
  # shellcheck disable=SC2016
  in_host sh -c 'sleep "$1"; for i in 1 2 3 4 5; do pkill -KILL -x "$2"; sleep 0.01; done' sh "$(printf '0.%03d' "$1")" "$2" || true
}

# No engine tries again to delete a container whose "start" and "delete" were both killed.
delete_left() {
  local id
  for id in $(in_host ls /run/docker/runtime-runc/moby 2>/dev/null); do
    in_host "$BINDIR/ipu-container-runtime" --root /run/docker/runtime-runc/moby delete --force "$id" || true
  done
}

@test "a hook, a runtime or an endpoint that is killed at any time leaves no endpoint" {
  local after name
  for name in ipu-container-h ipu-container-r ipu-vipu-endpoi; do
    for after in 40 80 120 160 200 240 280 320 360 400; do
      start victim -e IPU_COUNT=4 -e IPU_VIPU_ENDPOINT=1 3>&- &
      kill_soon "$after" "$name"
      wait $! || true
      docker rm --force victim || true
      delete_left
      wait_until 10 has_endpoints 0
    done
  done
  ipuctl gc
  wait_until 10 has_leases 0
  run -0 ipuctl ledger check
}

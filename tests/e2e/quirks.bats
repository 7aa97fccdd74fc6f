#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Controllers that answer otherwise than ours: whoever wants IPUs gets them, waits, or is refused, all the same. Prints
# a line for each quirk.

load support

setup_file() {
  # shellcheck disable=SC2034
  export SIM_POD=pod16
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
}

teardown_file() {
  unset SIM_POD
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
}

teardown() {
  host_config
  remove_containers
  ipuctl gc >/dev/null
  wait_until 10 gc_leaves_nothing
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
}

# Each start has the same outcome, with and without IPU_WAIT.
check_starts() { # QUIRK
  local waiter before
  # shellcheck disable=SC2034
  local SIM_OPTIONS=(--quirk "$1")
  sim_start
  start first -e IPU_COUNT=8
  start second -e IPU_COUNT=8 -e IPU_WAIT=30s
  assert_refused -e IPU_COUNT=4 -- 'no free block of 4 IPUs (largest free: 0, held by 2 containers)'
  before=$SECONDS
  assert_refused -e IPU_COUNT=32 -- 'does not have 32 IPUs'
  assert_refused -e IPU_COUNT=32 -e IPU_WAIT=60s -- 'does not have 32 IPUs'
  [ $((SECONDS - before)) -le 50 ]
  start third -e IPU_COUNT=8 -e IPU_WAIT=60s 3>&- &
  waiter=$!
  wait_until 10 has_waiters 1
  docker rm --force first
  wait "$waiter"
  assert_equal "$(lease_of third .ipus)" 8
  docker rm --force second third
  wait_until 10 has_leases 0
  echo "# $1: room: runs; room, wait: runs; full: refused; full, wait: waits and runs; too large: refused at once" >&3
}

@test "an unknown partition is UNKNOWN" { check_starts unknown=UNKNOWN; }
@test "an unknown partition is FAILED_PRECONDITION" { check_starts unknown=FAILED_PRECONDITION; }
@test "an unknown partition has an empty status" { check_starts unknown=OK; }
@test "a full POD is UNKNOWN" { check_starts full=UNKNOWN; }
@test "a full POD is INVALID_ARGUMENT" { check_starts full=INVALID_ARGUMENT; }
@test "what never fits is RESOURCE_EXHAUSTED" { check_starts impossible=RESOURCE_EXHAUSTED; }
@test "one operation at a time, else INTERNAL" { check_starts one-by-one=INTERNAL; }
@test "a configuration comes late" { check_starts late-config=400ms; }
@test "a removal takes time" { check_starts slow-removal=500ms; }

@test "what never fits its allocation is RESOURCE_EXHAUSTED: refused, and nobody waits behind it" {
  local before=$SECONDS
  # shellcheck disable=SC2034
  local SIM_OPTIONS=(--allocation small=ag1 --allocation other=ag2-ag4 --quirk impossible=RESOURCE_EXHAUSTED)
  sim_start
  in_host sed -i '/^controller = /a allocation = "small"' /etc/ipu-container-toolkit/config.toml
  assert_refused -e IPU_COUNT=8 -e IPU_WAIT=60s -- "allocation 'small' holds IPUs, so none can become free for 8"
  [ $((SECONDS - before)) -le 50 ]
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
}

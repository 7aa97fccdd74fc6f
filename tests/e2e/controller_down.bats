#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The V-IPU controller is away: a clear error in bounded time, nothing leaked, nothing else affected.

load support

teardown() {
  host_signal simulator CONT 2>/dev/null || true
  sim_stop
  sim_start
  host_config
  remove_containers
  remove_partitions
  ipuctl gc
  assert_nothing_left
}

@test "it does not run: refused with its address, at once" {
  sim_stop
  local before=$SECONDS
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  assert_contains "$output" "ipu: "
  assert_contains "$output" "$CONTROLLER"
  [ $((SECONDS - before)) -le 25 ]
}

@test "it does not answer: refused with its address, at the configured time" {
  in_host sed -i 's/^timeout = .*/timeout = "3s"/' /etc/ipu-container-toolkit/config.toml
  host_signal simulator STOP
  local before=$SECONDS
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  assert_contains "$output" "$CONTROLLER"
  [ $((SECONDS - before)) -le 19 ]
}

@test "who waits gets IPUs once the controller is back, and keeps the place in the queue" {
  local first second
  sim_stop
  start first -e IPU_COUNT=64 -e IPU_WAIT=60s 3>&- &
  first=$!
  wait_until 10 has_waiters 1
  start second -e IPU_COUNT=4 -e IPU_WAIT=60s 3>&- &
  second=$!
  wait_until 10 has_waiters 2
  sim_start
  wait "$first"
  assert_equal "$(lease_of first .ipus)" 64
  sim_stop
  docker rm --force first
  sleep 3
  has_waiters 1
  sim_start
  ipuctl gc
  wait "$second"
  assert_equal "$(lease_of second .ipus)" 4
}

# Since the test noted the number of the last event in "last".
events_have() { # AT-LEAST TEXT
  [ "$(ipuctl events --since "$last" | grep -c "$2")" -ge "$1" ]
}
last_event() { ipuctl events -o json | jq -s 'last.number'; }

@test "who waits for a named partition gets it once the controller is back" {
  local last
  ipuctl partition create p0 --size 4
  last=$(last_event)
  sim_stop
  start named -e IPU_PARTITION=p0 -e IPU_WAIT=60s -e IPU_VIPU_ENDPOINT=1 3>&- &
  local waiting=$!
  wait_until 20 events_have 1 'cannot be reached'
  sim_start
  wait "$waiting"
  assert_equal "$(lease_of named .partition)" p0
  docker rm --force named
  wait_until 10 ipuctl partition remove p0
}

@test "who waits outlasts a controller that hangs: for a new partition, and for a named one" {
  local waiting last
  in_host sed -i 's/^timeout = .*/timeout = "2s"/' /etc/ipu-container-toolkit/config.toml
  ipuctl partition create p0 --size 4
  last=$(last_event)
  host_signal simulator STOP
  start fresh -e IPU_COUNT=4 -e IPU_WAIT=60s 3>&- &
  waiting=$!
  start named -e IPU_PARTITION=p0 -e IPU_WAIT=60s 3>&- &
  waiting+=" $!"
  # Each has been refused by the time of the pool, and goes on.
  wait_until 20 events_have 2 'waits for the controller: '
  host_signal simulator CONT
  for start in $waiting; do
    wait "$start"
  done
  assert_equal "$(lease_of named .partition)" p0
  assert_equal "$(lease_of fresh .ipus)" 4
  docker rm --force fresh named
  wait_until 10 ipuctl partition remove p0
}

@test "who waits is refused with the controller's address at the end of the wait" {
  sim_stop
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 -e IPU_WAIT=3s busybox true
  assert_contains "$output" "$CONTROLLER"
}

@test "a container without IPUs is not affected" {
  sim_stop
  assert_equal "$(docker run --rm --runtime=ipu busybox echo fine)" fine
}

@test "a running container goes on and ends; its partition is removed when the controller is back" {
  start running -e IPU_COUNT=4
  sim_stop
  assert_equal "$(docker exec running echo fine)" fine
  docker rm --force running
  sim_start
  wait_until 10 gc_leaves_nothing
}

@test "after a refusal the next start works when the controller is back" {
  sim_stop
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox true
  sim_start
  docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox true
}

@test "partitions survive a restart of the controller" {
  start running -e IPU_COUNT=4
  sim_stop
  sim_start
  # shellcheck disable=SC2046
  assert_contains "$(inside running nc -w 2 $(endpoints running | head -n 1))" "$(lease_of running .partition)"
}

has_partition() { [ "$(ipuctl partition list --output json | jq length)" = 1 ]; }
has_intent() { [ "$(ipuctl ps --output json | jq -r '.[0].state')" = INTENT ]; }

@test "SIGKILL to the runtime while the controller makes the partition: gc takes both back" {
  sim_stop
  SIM_CREATE_DELAY=30s sim_start
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true >"$BATS_TEST_TMPDIR/out" 2>&1 &
  local start=$!
  wait_until 10 has_intent
  wait_until 10 has_partition
  in_host kill -KILL "$(ipuctl ps --output json | jq -r '.[0].pid')"
  ! wait "$start" || fail "$start was to fail"
  has_partition
  assert_contains "$(ipuctl gc --dry-run)" 'would release lease'
  assert_contains "$(ipuctl gc)" 'released lease'
  assert_equal "$(ipuctl partition list --output json | jq length)" 0
  assert_equal "$(ipuctl ps --output json | jq length)" 0
  assert_contains "$(ipuctl gc)" 'nothing to release'
}

is_releasing() { [ "$(ipuctl ps --output json | jq -r '.[0].state')" = RELEASING ]; }

@test "gc in another network namespace does not free what it cannot see" {
  start job -e IPU_COUNT=4
  sim_stop
  docker kill job
  # Whoever gives it back waits for the controller, if only for a moment; it ends before that comes.
  wait_until 10 is_releasing
  in_host pkill -KILL -x ipu-container-h || true
  sim_start
  run ! in_host unshare --net ipuctl gc
  assert_contains "$output" 'another network namespace'
  assert_equal "$(ipuctl ps --output json | jq -r '.[0].state')" RELEASING
  assert_contains "$(ipuctl gc)" 'released lease'
}

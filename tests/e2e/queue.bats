#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who waits for IPUs with IPU_WAIT, and who does not. The POD is full at the start of each test.

load support
load bundle

setup() {
  start half1 -e IPU_COUNT=32
  start half2 -e IPU_COUNT=32
  in_host truncate --size 0 "$SIM_LOG"
}

teardown() {
  # Those that still wait get nothing, and end, before the containers are counted.
  # shellcheck disable=SC2016
  in_host sh -c 'kill -KILL $(ipuctl queue -o json | jq ".[].pid") 2>/dev/null' || true
  remove_containers
  ipuctl gc >/dev/null
  host_config
  assert_nothing_left
}

# Starts, in the background, a container that waits, and returns when it does so as one of N. Sets WAITING. What docker
# says is in the file NAME.
start_waiter() { # NAME IPUS N
  start "$1" -e "IPU_COUNT=$2" -e IPU_WAIT=60s >"$BATS_TEST_TMPDIR/$1" 2>&1 3>&- &
  WAITING=$!
  wait_until 10 has_waiters "$3"
}

queue() { ipuctl queue -o json | jq -c "[.[] | $1]"; }

# Since the latest change somebody has asked for IPUs, and did not get them.
was_tried_in_vain() {
  [ "$(sim_log '.[map(.event) | rindex("free") // length:] |
    any(.method == "CreatePartition" and .status == "RESOURCE_EXHAUSTED")')" = true ]
}

@test "the first in the queue is not overtaken by a smaller one, for which there is room" {
  local large
  start_waiter large 64 1
  large=$WAITING
  start_waiter small 4 2
  assert_equal "$(queue '[.position, .ipus]')" '[[1,64],[2,4]]'
  docker rm --force half1
  wait_until 10 was_tried_in_vain
  assert_equal "$(queue .ipus)" '[64,4]'
  docker rm --force half2
  wait "$large"
  assert_equal "$(lease_of large .ipus)" 64
  assert_equal "$(queue '[.position, .ipus]')" '[[1,4]]'
  docker rm --force large
  wait "$WAITING"
  assert_equal "$(lease_of small .ipus)" 4
  assert_equal "$(sim_log -c 'map(select(.event == "hold").ipus | length)')" '[64,4]'
}

@test "who does not wait is refused while others do, and told of the queue" {
  start_waiter large 64 1
  docker rm --force half1
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  assert_contains "$output" "others wait for 'pod64' already (1 request is ahead, the first for 64 IPUs"
  assert_contains "$output" 'IPU_WAIT=60s'
  docker rm --force half2
  wait "$WAITING"
}

# docker holds the lock of a container that it creates: 'docker rm' and 'docker kill' wait with it.
@test "queue cancel: a container that waits gives up, is named as docker names it, and can be removed" {
  local large status=0
  start_waiter large 64 1
  large=$WAITING
  start_waiter small 64 2
  assert_equal "$(queue '[.name, .position, .length]')" '[["large",1,2],["small",2,2]]'
  assert_equal "$(ipuctl ps -o json | jq -c '[.[] | select(.waiting) | [.name, .waiting.position]]')" '[["large",1],["small",2]]'
  assert_contains "$(ipuctl ps)" 'WAITING, 2nd of 2'
  assert_contains "$(ipuctl explain small)" "WAITING for 64 IPUs of 'pod64', 2nd of 2, since"
  assert_contains "$(ipuctl explain large)" "WAITING for 64 IPUs of 'pod64', 1st of 2, since"
  run -1 ipuctl queue cancel half1
  assert_contains "$output" "no container 'half1' waits"
  run -0 ipuctl queue cancel large
  assert_contains "$output" "from the queue for pod64"
  wait "$large" || status=$?
  assert_equal "$status" 125
  assert_equal "$(grep -c 'ipu: ' "$BATS_TEST_TMPDIR/large")" 1
  assert_contains "$(cat "$BATS_TEST_TMPDIR/large")" "was cancelled with 'ipuctl queue cancel'"
  assert_equal "$(queue .name)" '["small"]'
  docker rm --force large
  ipuctl queue cancel --all
  status=0
  wait "$WAITING" || status=$?
  assert_equal "$status" 125
  assert_contains "$(ipuctl events)" 'queue cancel removed container'
  run -2 ipuctl queue cancel
  run -2 ipuctl queue cancel large --all
}

@test "queue cancel: the create that waits ends with one line on standard error, and the same in its log" {
  local waiting status=0
  make_bundle '.process.env += ["IPU_COUNT=4", "IPU_WAIT=60s"]'
  create waiter >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  waiting=$!
  wait_until 10 has_waiters 1
  ipuctl queue cancel waiter
  wait "$waiting" || status=$?
  assert_equal "$status" 1
  assert_equal "$(cat "$BATS_TEST_TMPDIR/out")" ''
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/err")" 1
  assert_contains "$(cat "$BATS_TEST_TMPDIR/err")" "was cancelled with 'ipuctl queue cancel'"
  assert_equal "$(in_host cat "$LOG" | wc -l)" 1
  assert_contains "$(cat "$BATS_TEST_TMPDIR/err")" "$(in_host jq -r .msg "$LOG")"
  remove_bundle
}

is_being_made() { [ "$(ipuctl ps -o json | jq -r '.[].state')" = INTENT ]; }

@test "queue cancel: a start whose partition is being made has no place, and gives up too" {
  local starting status=0
  docker rm --force half1 half2
  wait_until 10 has_leases 0
  SIM_CREATE_DELAY=12s restart_sim
  start slow -e IPU_COUNT=4 -e IPU_WAIT=60s >"$BATS_TEST_TMPDIR/slow" 2>&1 3>&- &
  starting=$!
  wait_until 10 is_being_made
  assert_equal "$(queue .name)" '[]'
  run -0 ipuctl queue cancel slow
  assert_contains "$output" 'from the queue for pod64'
  wait "$starting" || status=$?
  assert_equal "$status" 125
  assert_contains "$(cat "$BATS_TEST_TMPDIR/slow")" "was cancelled with 'ipuctl queue cancel'"
  run -1 ipuctl queue cancel slow
  restart_sim
}

@test "lease show, explain: a container is found by its name" {
  assert_equal "$(ipuctl lease show half1 -o json | jq -r .name)" half1
  assert_equal "$(ipuctl explain half2 -o json | jq -r .lease.lease)" "$(ipuctl lease show half2 -o json | jq -r .lease)"
  docker rename half1 renamed
  assert_equal "$(ipuctl ps -o json | jq -r '.[].name' | sort | xargs)" 'half2 renamed'
  docker rename renamed half1
  run ! ipuctl lease show hal
}

@test "explain: who waits comes before a container of that id that has ended" {
  docker rm --force half1
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  create twin >/dev/null
  remove_bundle
  wait_until 10 has_leases 1
  assert_contains "$(ipuctl explain twin)" 'RUNNING, as process'
  start_waiter twin 64 1
  assert_contains "$(ipuctl explain twin)" "WAITING for 64 IPUs of 'pod64', 1st of 1, since"
}

@test "SIGKILL to who waits first gives its place to the next one" {
  local large
  start_waiter large 64 1
  large=$WAITING
  start_waiter small 4 2
  docker rm --force half1
  in_host kill -KILL "$(queue .pid | jq '.[0]')"
  ! wait "$large" || fail "$large was to fail"
  wait "$WAITING"
  assert_equal "$(lease_of small .ipus)" 4
}

@test "the wait ends at its time, with who has the IPUs" {
  local before=${EPOCHREALTIME/./} took
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 -e IPU_WAIT=2s busybox true
  took=$(((${EPOCHREALTIME/./} - before) / 1000))
  assert_contains "$output" 'pool "pod64" has no free block of 4 IPUs (largest free: 0, held by 2 containers)'
  [ "$took" -ge 2000 ] && [ "$took" -le 40000 ] || fail "it took $took ms"
  has_waiters 0
}

@test "the wait ends at its time, with who is ahead in the queue" {
  start_waiter large 64 1
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 -e IPU_WAIT=1s busybox true
  assert_contains "$output" "waited 1 s for 4 IPUs of 'pod64', but 1 request is ahead, the first for 64 IPUs"
  has_waiters 1
}

@test "as many wait as policy.max_waiters allows, and the next one is told so at once" {
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[policy]\nmax_waiters = 2\nmax_wait = "2m"'
  start_waiter first 4 1
  start_waiter second 4 2
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 -e IPU_WAIT=60s busybox true
  assert_contains "$output" 'no place in the queue: 2 requests wait on this host, and policy.max_waiters allows no more'
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 -e IPU_WAIT=3m busybox true
  assert_contains "$output" 'policy.max_wait of this host allows at most 2m'
  has_waiters 2
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Reservations: who waits does so in a terminal, and containers start at once.

load support

setup() {
  host_config
}

teardown() {
  remove_containers
  remove_partitions
  assert_nothing_left
}

reservation() { ipuctl reservation list -o json | jq -c ".[] | $1"; }
is_unused() { [ "$(reservation '.containers | length')" = 0 ]; }
has_place() { [ "$(ipuctl queue -o json | jq length)" = "$1" ]; }
has_gone() { [ "$(ipuctl reservation list -o json)" = '[]' ]; }

@test "a reservation is ready, is used by its name at once, stands in ps, and is ended" {
  run -0 ipuctl reserve night --ipus 16 --for 4h --owner alice
  assert_contains "$output" 'use it with IPU_RESERVATION=night'
  assert_equal "$(reservation '[.reservation, .ipus, .owner, .state, .containers]')" '["night",16,"alice","RESERVED",[]]'
  assert_contains "$(ipuctl ps)" RESERVED
  in_host truncate --size 0 "$SIM_LOG"
  start job -e IPU_RESERVATION=night
  assert_equal "$(lease_of job .ipus)" 16
  assert_equal "$(lease_of job .partition)" "$(reservation .partition | jq -r .)"
  assert_equal "$(sim_log 'any(.method == "CreatePartition")')" false
  assert_equal "$(reservation '.containers | length')" 1
  assert_equal "$(ipuctl ps -o json | jq -c '[.[] | .state]')" '["RUNNING"]'
  run -3 ipuctl reservation end night
  assert_contains "$output" 'is in use by'
  docker rm --force job
  start later -e IPU_RESERVATION=night
  docker rm --force later
  wait_until 10 is_unused
  assert_contains "$(ipuctl reservation end night)" 'its 16 IPUs are free'
  has_gone
  run -1 ipuctl reservation end night
  assert_refused -e IPU_RESERVATION=night -- "there is no reservation 'night'" "ipuctl reservation list"
}

@test "a reservation of several GCDs: a container has one of them, or all" {
  ipuctl reserve night --ipus 8 --gcds 2
  assert_refused -e IPU_RESERVATION=night -- 'has 2 GCDs; select one with IPU_GCD=0 to 1, or all with IPU_GCD=all'
  start whole -e IPU_RESERVATION=night -e IPU_GCD=all
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.gcds) \(.ipus)"')" '2 8'
  docker rm --force whole
  start first -e IPU_RESERVATION=night -e IPU_GCD=0
  assert_refused -e IPU_RESERVATION=night -e IPU_GCD=all -- "by container $(container_id first) (GCD 0)"
  docker rm --force first
  wait_until 10 ipuctl reservation end night
}

@test "a reservation waits among the containers, shows its place, and gets its IPUs in its turn" {
  local reserving starting
  start half -e IPU_COUNT=32
  start other -e IPU_COUNT=32
  run -3 ipuctl reserve night --ipus 64
  assert_contains "$output" 'no free block of 64 IPUs'
  assert_contains "$output" 'wait with --wait 5m'
  ipuctl reserve night --ipus 64 --wait 60s >"$BATS_TEST_TMPDIR/reserve" 2>&1 3>&- &
  reserving=$!
  wait_until 10 has_place 1
  wait_until 10 grep -q 'largest free: 0, held by 2 containers; there would be a block without container ' "$BATS_TEST_TMPDIR/reserve"
  assert_contains "$(cat "$BATS_TEST_TMPDIR/reserve")" "without container $(container_id half), container $(container_id other)"
  assert_contains "$(ipuctl queue)" reservation
  assert_refused -e IPU_COUNT=4 -- 'for 64 IPUs by reservation night'
  assert_refused -e IPU_RESERVATION=night -- "reservation 'night' of pool 'pod64' is still being made" 'IPU_WAIT=60s'
  start job -e IPU_RESERVATION=night -e IPU_WAIT=60s 3>&- &
  starting=$!
  wait_until 10 has_place 2
  docker rm --force half other
  wait "$reserving"
  wait "$starting"
  assert_equal "$(lease_of job .ipus)" 64
  docker rm --force job
  assert_contains "$(cat "$BATS_TEST_TMPDIR/reserve")" "WAITING for 64 IPUs of 'pod64', 1st of 1"
  assert_equal "$(reservation .ipus)" 64
  wait_until 10 ipuctl reservation end night
}

@test "Ctrl-C and queue cancel give the place back, and leave nothing" {
  local reserving status
  start half -e IPU_COUNT=64
  for way in interrupt cancel; do
    in_host sh -c 'echo $$ >/run/reserve.pid; exec ipuctl reserve night --ipus 64 --wait 60s' >"$BATS_TEST_TMPDIR/reserve" 2>&1 3>&- &
    reserving=$!
    wait_until 10 has_place 1
    if [ "$way" = interrupt ]; then
      # shellcheck disable=SC2016
      in_host sh -c 'kill -INT $(cat /run/reserve.pid)'
    else
      ipuctl queue cancel night
    fi
    status=0
    wait "$reserving" || status=$?
    assert_equal "$status" 3
    wait_until 5 has_place 0
    has_gone
  done
  assert_contains "$(cat "$BATS_TEST_TMPDIR/reserve")" "was cancelled with 'ipuctl queue cancel'"
}

@test "a reservation ends by itself: not while a container has it, and not for a new one" {
  ipuctl reserve short --ipus 4 --for 1h
  start job -e IPU_RESERVATION=short
  ipuctl reservation extend short --for 1s
  sleep 2
  assert_equal "$(reservation .state)" '"ENDED"'
  assert_refused -e IPU_RESERVATION=short -- "reservation 'short' ended at" 'ipuctl reservation extend'
  assert_refused -e "IPU_PARTITION=$(reservation .partition | jq -r .)" -- "reservation 'short' ended at"
  assert_contains "$(ipuctl gc)" 'nothing to release'
  assert_equal "$(inside job cat /etc/ipuof.conf.d/ipuof.conf | jq '.devices | length')" 4
  ipuctl reservation extend short --for 1h
  assert_equal "$(reservation .state)" '"RESERVED"'
  ipuctl reservation extend short --for 1s
  docker rm --force job
  wait_until 10 is_unused
  sleep 2
  assert_contains "$(ipuctl gc --dry-run)" 'reservation short, whose time is over'
  assert_contains "$(ipuctl gc)" 'removed partition r-'
  has_gone
}

@test "bad input is refused, and takes nothing" {
  run -2 ipuctl reserve night
  assert_contains "$output" '--ipus'
  run -2 ipuctl reserve 'a b' --ipus 4
  run -2 ipuctl reserve night --ipus 4 --wait soon
  run -2 ipuctl reserve night --ipus 4 --gcds 3
  assert_contains "$output" 'change --gcds or --ipus'
  run ! ipuctl reserve night --ipus 128
  ipuctl reserve night --ipus 4
  run -1 ipuctl reserve night --ipus 4
  assert_contains "$output" "there is a reservation 'night' already"
  ipuctl partition create plain --size 4
  assert_refused -e IPU_RESERVATION=plain -- "there is no reservation 'plain'"
  assert_refused -e IPU_RESERVATION=night -e IPU_COUNT=4 -- 'contradict each other'
  run -2 ipuctl reservation extend night
  run -2 ipuctl reservation extend night --for 0s
  run -2 ipuctl reserve other --ipus 4 --for 0s
  assert_equal "$(ipuctl reservation end night -o json | jq -c '[.ended, .ipus]')" '["night",4]'
}

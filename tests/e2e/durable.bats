#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A ledger that is damaged, and one that is rebuilt, under containers that run.

load support

LEDGER=/var/lib/ipu-container-toolkit/ledger.db

setup() {
  start one -e IPU_COUNT=4
  start two -e IPU_COUNT=2
}

teardown() {
  restart_sim
  remove_containers
  ipuctl ledger rebuild >/dev/null 2>&1 || true
  ipuctl gc >/dev/null || true
  in_host sh -c "rm -rf $LEDGER.damaged-*"
  assert_nothing_left
}

damage() {
  in_host sh -c "dd if=/dev/zero of=$LEDGER bs=100 count=1 conv=notrunc status=none; rm -f $LEDGER-wal $LEDGER-shm"
}

assert_both_run() {
  local name
  for name in one two; do
    # shellcheck disable=SC2046
    assert_contains "$(inside "$name" nc -w 2 $(first_endpoint "$name"))" "$(lease_of "$name" .partition)"
  done
}

@test "a ledger that nobody damaged is clean, and is not rebuilt" {
  assert_equal "$(ipuctl ledger check)" "the ledger '$LEDGER' is intact, and agrees with the kernel and the controllers"
  assert_equal "$(ipuctl ledger check --offline)" "the ledger '$LEDGER' is intact"
  run -2 ipuctl ledger rebuild
  assert_contains "$output" 'is intact'
}

@test "a damaged ledger: a start is refused with what to do, containers run on and can be stopped" {
  damage
  assert_refused -e IPU_COUNT=1 -- "$LEDGER' is damaged" "ipuctl ledger rebuild"
  assert_both_run
  assert_equal "$(docker run --rm --runtime=ipu busybox echo fine)" fine
  docker stop -t 0 two
  assert_equal "$(docker inspect -f '{{.State.Running}}' two)" false
  run -1 ipuctl ledger check
  assert_contains "$output" 'is damaged'
}

@test "a ledger that is gone: whoever reads or changes it says so, and makes none" {
  in_host sh -c "mkdir /run/kept && mv $LEDGER* /run/kept/"
  for command in ps queue 'gc --dry-run' gc 'explain one' events 'ledger dump' 'reservation list' 'partition list --holders'; do
    # shellcheck disable=SC2086
    run -1 ipuctl $command
    assert_contains "$output" "the ledger $LEDGER is gone, but 2 leases have files"
    assert_contains "$output" 'ipuctl ledger rebuild'
  done
  run -0 ipuctl support-bundle --file /run/kept/bundle
  run -1 ipuctl doctor
  assert_contains "$output" 'failed   ledger'
  in_host mv "${LEDGER%/*}/reserve" /run/kept/
  assert_refused -e IPU_COUNT=1 -- "$LEDGER' is damaged (it is gone)" 'ipuctl ledger rebuild'
  docker stop -t 0 two
  in_host test ! -e "$LEDGER"
  ipuctl ledger rebuild
  ipuctl gc
  wait_until 10 has_leases 1
  in_host rm -r /run/kept
}

@test "a damaged ledger: exec, pause, state, kill and delete work as ever" {
  local states=/run/docker/runtime-runc/moby
  damage
  assert_equal "$(docker exec one echo fine)" fine
  docker pause one
  docker unpause one
  assert_equal "$(in_host ipu-container-runtime --root "$states" state "$(docker inspect -f '{{.Id}}' one)" | jq -r .status)" running
  docker kill one
  run -1 docker start one
  assert_contains "$output" 'ipuctl ledger rebuild'
  docker rm --force one two
  assert_equal "$(docker ps --all --quiet)" ''
  in_host sh -c "test -z \"\$(ls $states)\""
}

@test "a rebuilt ledger has what runs; what is stopped afterwards gives everything back" {
  local before
  before=$(ipuctl ps --output json | jq -c 'map({lease, partition, ipus}) | sort')
  damage
  ipuctl ledger rebuild --dry-run
  run -1 ipuctl ps
  ipuctl ledger rebuild
  assert_equal "$(ipuctl ps --output json | jq -c 'map({lease, partition, ipus}) | sort')" "$before"
  ipuctl ledger check
  assert_both_run
  in_host sh -c "ls $LEDGER.damaged-*"
  docker stop -t 0 one
  wait_until 10 has_leases 1
  start three -e IPU_COUNT=4
  ipuctl ledger check
  docker rm --force two three
  assert_nothing_left
  ipuctl ledger check
}

@test "a container that ended while the ledger was damaged is released after the rebuild" {
  damage
  docker stop -t 0 two
  ipuctl ledger rebuild
  ipuctl gc
  wait_until 10 has_leases 1
  ipuctl ledger check
  assert_equal "$(ipuctl partition list --output json | jq length)" 1
}

@test "a rebuild without the controller keeps what it cannot look at" {
  damage
  sim_stop
  run -0 ipuctl ledger rebuild
  sim_start
  wait_until 10 has_leases 2
  ipuctl ledger check
  assert_both_run
}

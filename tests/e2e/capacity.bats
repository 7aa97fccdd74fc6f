#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A POD64 has 16 blocks of 4 IPUs: 16 containers get one each, the 17th is told so.

load support

teardown() {
  remove_containers
  assert_nothing_left
}

start_16() {
  local i jobs=() job
  for i in {1..16}; do
    start "tenant-$i" -e IPU_COUNT=4 3>&- &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    wait "$job"
  done
}

@test "16 containers started at once have 64 different IPUs and 16 different addresses" {
  local i
  start_16
  for i in {1..16}; do endpoints "tenant-$i"; done | sort -u >"$BATS_TEST_TMPDIR/endpoints"
  for i in {1..16}; do lease_of "tenant-$i" '.rails[0].address'; done | sort -u >"$BATS_TEST_TMPDIR/addresses"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/endpoints")" 64
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/addresses")" 16
}

@test "the 17th is refused in docker's own words, and works when the others have ended" {
  start_16
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  assert_contains "$output" \
    'ipu: pool "pod64" has no free block of 4 IPUs (largest free: 0, held by 16 containers)'
  assert_equal "$(ipuctl ps --output json | jq length)" 16
  remove_containers
  wait_until 10 nothing_is_left
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
}

@test "a block that is too large for what is free is refused with the largest that is" {
  start big -e IPU_COUNT=32
  start small -e IPU_COUNT=16
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=32 busybox true
  assert_contains "$output" 'no free block of 32 IPUs (largest free: 16, held by 2 containers)'
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The disk of the ledger is full to its last byte.

load support

STATE_DIR=/var/lib/ipu-container-toolkit

setup_file() {
  in_host mkdir -p "$STATE_DIR"
  in_host mount -t tmpfs -o size=4m,mode=0700 tmpfs "$STATE_DIR"
}

teardown() {
  in_host rm -f "$STATE_DIR/filler"
  remove_containers
  assert_nothing_left
}

teardown_file() {
  in_host umount --lazy "$STATE_DIR"
}

# dd ends with an error when nothing is left.
fill() {
  in_host sh -c "dd if=/dev/zero of=$STATE_DIR/filler bs=4k status=none 2>/dev/null || true"
  assert_equal "$(in_host df --output=avail "$STATE_DIR" | tail -n 1 | tr -d ' ')" 0
}

@test "what runs goes on and its end is recorded; without a reserve nothing new starts" {
  start one -e IPU_COUNT=2
  start two -e IPU_COUNT=2
  in_host truncate -s 0 "$STATE_DIR/reserve"
  fill
  assert_refused -e IPU_COUNT=1 -- "$STATE_DIR' is full" 'free at least 1 MiB' 'running containers continue'
  assert_equal "$(ipuctl partition list --output json | jq length)" 2
  assert_equal "$(inside one echo fine)" fine
  in_host rm "$STATE_DIR/filler"
  docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true
}

@test "with the reserve all that ends is given back, and recorded" {
  local name
  for name in one two three; do
    start "$name" -e IPU_COUNT=1
  done
  fill
  docker stop -t 0 one two three
  wait_until 10 has_leases 0
  ipuctl ledger check
  in_host rm "$STATE_DIR/filler"
  start four -e IPU_COUNT=4
}

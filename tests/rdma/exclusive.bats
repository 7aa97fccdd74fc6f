#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host whose kernel gives each RDMA device to one network namespace: a macvlan cannot use it.

load support

teardown_file() {
  remove_containers
  configure_rail 'parent = "rnic0"'
  assert_nothing_left
}

@test "the machine: RDMA devices are exclusive" {
  assert_contains "$(rdma system show)" 'netns exclusive'
  report "$(rdma system show)"
}

@test "a container on a shared RNIC is refused, with the reason and what to do" {
  assert_refused -e IPU_COUNT=4 -- rnic0 rxe0 exclusive 'rdma system set netns shared'
  report "$(grep -o 'ipu: .*' <<<"$output")"
}

@test "nothing of the refused container stays" {
  assert_nothing_left
}

@test "without RDMA the container starts" {
  sed -i 's/^\[network\]$/&\nrdma = "off"/' "$PRODUCT_CONFIG"
  start off -e IPU_COUNT=4
  run ! inside off ls /dev/infiniband
  # shellcheck disable=SC2046
  assert_contains "$(inside off nc -w 5 $(first_endpoint off))" "$(lease_of off .partition)"
}

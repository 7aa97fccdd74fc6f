#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The GID table of a port is small: containers get only so many entries of it.

load support

setup_file() {
  configure_rail 'parent = "rnic0"' 'max_gids = 2'
  start first -e IPU_COUNT=1
  start second -e IPU_COUNT=1
}

teardown_file() {
  remove_containers
  configure_rail 'parent = "rnic0"'
  assert_nothing_left
}

@test "a container above max_gids is refused, with device, port and number" {
  assert_refused -e IPU_COUNT=1 -- rxe0 'port 1' '2 entries'
  report "$(grep -o 'ipu: .*' <<<"$output")"
}

@test "it is admitted when another has ended" {
  docker rm --force first
  # docker reports the end before its last hook has run.
  wait_until 20 is_admitted || fail "$(docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true 2>&1)"
}

is_admitted() { docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true; }

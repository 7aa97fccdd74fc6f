#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A configuration of ours that cannot be read stops new containers with IPUs, and nothing else.

load support

CONFIG=/etc/ipu-container-toolkit/config.toml

setup() {
  start running -e IPU_COUNT=4
}

teardown() {
  host_config
  remove_containers
  assert_nothing_left
}

break_config() { # TEXT
  in_host tee -a "$CONFIG" >/dev/null <<<"$1"
}

assert_refused_with() { # TEXT...
  run -125 docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  local text
  for text in "$@"; do
    assert_contains "$output" "$text"
  done
  assert_equal "$(ipuctl ps --output json | jq length)" 1
}

@test "a syntax error is named with file and line" {
  break_config '[[['
  assert_refused_with "$CONFIG line 11"
}

@test "an unknown key is named with file and line" {
  break_config 'speed = "high"'
  assert_refused_with "$CONFIG line 11" 'network.rail.speed'
}

@test "a value of the wrong type is named with file and key" {
  break_config $'[policy]\nmax_ipus = "many"'
  assert_refused_with "$CONFIG" 'policy.max_ipus'
}

@test "a missing file is named" {
  in_host rm "$CONFIG"
  assert_refused_with "$CONFIG"
}

@test "a container without IPUs starts and runs" {
  break_config '[[['
  assert_equal "$(docker run --rm --runtime=ipu busybox echo fine)" fine
}

@test "a running container with IPUs: exec, inspect, top, pause and logs work" {
  break_config '[[['
  assert_equal "$(docker exec running echo fine)" fine
  docker inspect running
  docker top running
  docker pause running
  docker unpause running
  docker logs running
}

# The list of partitions needs the configuration, which teardown repairs: it looks for the rest.
no_lease_is_left() { [ "$(ipuctl ps --output json | jq length)" = 0 ]; }

@test "a running container with IPUs: kill gives everything back" {
  break_config '[[['
  docker kill running
  wait_until 10 no_lease_is_left
}

@test "a running container with IPUs: rm --force gives everything back" {
  break_config '[[['
  docker rm --force running
  wait_until 10 no_lease_is_left
}

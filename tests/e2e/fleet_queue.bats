#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet and one queue: requests of both are served in order of arrival, and a small one takes nothing from
# a large one that came before it on the other host.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() { fleet_up; }

teardown() {
  etcd_answers || etcd_start
  remove_containers_of_both
  in_host sh -c 'rm -rf /run/bundle-[ab]-* /run/create-*.out'
  wait_until 10 has_keys grants 0 || fail "$(etcd_keys grants)"
  wait_until 10 has_keys queue 0 || fail "$(etcd_keys queue)"
  etcd_stop
  unconfigure_fleet
}

# Starts a container that waits, in the background, and returns when it does so as one of N. Sets WAITING.
waits_as() { # HOST CONTAINER IPUS N
  LIMIT=60 take_ipus "$1" "$2" "$3" IPU_WAIT=50s 3>&- &
  WAITING=$!
  wait_until 10 has_keys queue "$4"
}

has() { [ "$(on "$1" ipuctl ps -o json | jq --arg id "$2" 'map(select(.container == $id and .state == "RUNNING")) | length')" = 1 ]; }

@test "requests of two hosts are served in order of arrival, and the large one first if it came first" {
  local large small
  take_ipus a one 64
  assert_equal "$(count_keys grants)" 1
  waits_as b large 64 1
  large=$WAITING
  run -1 take_ipus a none 4
  assert_contains "$output" "others wait for 'pod64' already (1 request is ahead, the first for 64 IPUs by container large on host $(tag_of b))"
  waits_as a small 4 2
  small=$WAITING
  end_on a one
  wait "$large"
  run ! has a small
  has b large
  assert_equal "$(count_keys queue)" 1
  end_on b large
  wait "$small"
  has a small
}

@test "a large request is not starved by small ones of another host" {
  local large i later=()
  take_ipus a s0 32
  take_ipus a s1 32
  waits_as b large 64 1
  large=$WAITING
  for i in 0 1; do
    LIMIT=60 take_ipus a "later$i" 32 IPU_WAIT=50s 3>&- &
    later+=($!)
    end_on a "s$i"
  done
  wait "$large"
  run ! has a later0
  end_on b large
  wait "${later[@]}"
  has a later0
  has a later1
}

@test "a reservation waits behind a request of another host, and before later ones" {
  local large night small
  take_ipus a one 64
  waits_as a large 64 1
  large=$WAITING
  on b timeout 60 ipuctl reserve night --ipus 64 --wait 50s >"$BATS_TEST_TMPDIR/night" 2>&1 3>&- &
  night=$!
  wait_until 10 has_keys queue 2
  waits_as a small 4 3
  small=$WAITING
  assert_equal "$(on a ipuctl queue -o json | jq -c 'map(.ipus)')" '[64,64,4]'
  end_on a one
  wait "$large"
  assert_equal "$(count_keys queue)" 2
  end_on a large
  wait "$night" || fail "$(cat "$BATS_TEST_TMPDIR/night")"
  assert_contains "$(cat "$BATS_TEST_TMPDIR/night")" 'reservation night has 64 IPUs of pod64'
  assert_equal "$(count_keys queue)" 1
  make_bundle_of b IPU_RESERVATION=night
  start_on b uses
  run ! has a small
  end_on b uses
  wait_until 10 on b ipuctl reservation end night # its container is still being released
  wait "$small"
  has a small
}

@test "a request that ends, and one that is told to give up, leave their place at once" {
  local first second third
  take_ipus a one 64
  waits_as b first 64 1
  first=$WAITING
  waits_as b second 64 2
  second=$WAITING
  on b ipuctl queue cancel first
  ! wait "$first" || fail "$first was to fail"
  wait_until 10 has_keys queue 1
  on b kill -9 "$(on b ipuctl ps -o json | jq '.[] | select(.container == "second").pid')"
  ! wait "$second" || fail "$second was to fail"
  on b ipuctl gc
  assert_equal "$(count_keys queue)" 0
  LIMIT=60 take_ipus a third 64 IPU_WAIT=50s 3>&- &
  third=$!
  end_on a one
  wait "$third"
  has a third
}

@test "cut off from etcd: what runs goes on, starts fail in one line, one that waits goes on waiting" {
  local waits
  take_ipus a one 32
  take_ipus b two 32
  waits_as a waits 32 1
  waits=$WAITING
  etcd_stop
  run -1 take_ipus b none 4
  assert_contains "$output" 'start etcd there'
  assert_equal "$(wc -l <<<"$output")" 1
  has a one
  end_on b two
  wait_until 20 is_releasing || fail "$(on b ipuctl ps)"
  etcd_start
  wait "$waits"
  on b ipuctl gc
  assert_equal "$(on b ipuctl ps -o json)" '[]'
  assert_equal "$(count_keys grants)" 2
}

is_releasing() { [ "$(on b ipuctl ps -o json | jq -r '.[].state')" = RELEASING ]; }

@test "a host joins a fleet and leaves it while a container runs" {
  unconfigure_fleet_only
  take_ipus a one 32
  configure_fleet
  on a ipuctl gc
  assert_equal "$(count_keys grants)" 1
  etcd_control del --prefix /ipu-container-toolkit/grants/
  on a ipuctl gc
  assert_equal "$(count_keys grants)" 1
  on a ipuctl fleet leave
  assert_equal "$(count_keys grants)" 0
  unconfigure_fleet_only
  end_on a one
  # The release goes on in the background after the engine's answer.
  wait_until 10 is_empty a || fail 'still there:' "$(on a ipuctl ps)"
}

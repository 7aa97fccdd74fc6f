#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet and one warm pool: what one host made is taken, given back and replaced by the other, and outlives
# a fence of its maker.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  fleet_up
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  keep 4 2
}

teardown() {
  etcd_answers || etcd_start
  remove_containers_of_both
  in_host sed -i '/^warm = /d' "$CONFIG"
  etcd_control del --prefix /ipu-container-toolkit/fences/ >/dev/null
  on a ipuctl pool refill
  on b ipuctl pool refill
  on a ipuctl gc
  on b ipuctl gc
  assert_equal "$(partitions)" ''
  etcd_stop
  unconfigure_fleet
}

# Has all hosts together keep NUMBER partitions of IPUS warm.
keep() { # IPUS NUMBER
  in_host sed -i "/^warm = /d; s|^controller = .*|&\nwarm = { \"$1\" = $2 }|" "$CONFIG"
}
partitions() { on a ipuctl partition list -o json | jq -r '.[].partition' | sort; }
partition_of() { on "$1" ipuctl ps -o json | jq -r --arg id "$2" '.[] | select(.container == $id).partition'; } # HOST CONTAINER
creations() { sim_log 'map(select(.method == "CreatePartition")) | length'; }
take() { # HOST CONTAINER VARIABLE...
  make_bundle_of "$1" "${@:3}"
  start_on "$1" "$2"
}
has() { [ "$(on "$1" ipuctl ps -o json | jq --arg id "$2" 'map(select(.container == $id and .state == "RUNNING")) | length')" = 1 ]; }

@test "what one host keeps warm is taken by a start on the other, which makes none" {
  local made before
  on a ipuctl pool refill
  made=$(partitions)
  assert_equal "$(wc -l <<<"$made")" 2
  assert_equal "$(on b ipuctl partition list -o json | jq -r '[.[] | [.kind, .maker] | join(" ")] | unique[]')" "WARM $(tag_of a)"
  assert_contains "$(on b ipuctl pool list)" '4:2/2'
  before=$(creations)
  # A refill that the start begins makes one more, in a while.
  keep 4 1
  take b one IPU_COUNT=4
  assert_contains "$made" "$(partition_of b one)"
  assert_equal "$(creations)" "$before"
  assert_equal "$(count_keys warm /f-)" 1
  run -0 on a ipuctl fleet check
  on a ipuctl gc
  has b one
  end_on b one
  wait_until 10 has_keys grants 0
  on b ipuctl pool refill
  assert_equal "$(partitions | wc -l)" 1
}

@test "two hosts that refill at once make no more than the target of all" {
  local first before
  before=$(creations)
  keep 4 5
  on a ipuctl pool refill 3>&- &
  first=$!
  on b ipuctl pool refill
  wait "$first"
  assert_equal "$(partitions | wc -l)" 5
  assert_equal "$(count_keys warm /f-)" 5
  assert_equal "$(creations)" $((before + 5))
}

@test "a request for all IPUs gets them back from what both hosts made" {
  keep 16 2
  on a ipuctl pool refill
  keep 16 4
  on b ipuctl pool refill
  assert_equal "$(on a ipuctl partition list -o json | jq -r '[.[].maker] | unique | length')" 2
  keep 16 0
  take b large IPU_COUNT=64
  assert_equal "$(partitions | wc -l)" 1
  assert_equal "$(count_keys warm /f-)" 0
}

@test "a fence of the maker spares what a container of another host has, and what is idle" {
  local maker name
  on a ipuctl pool refill
  keep 4 1
  take b one IPU_COUNT=4
  name=$(partition_of b one)
  maker=$(tag_of a)
  on b ipuctl host fence "$maker" --alive
  assert_contains "$(partitions)" "$name"
  assert_equal "$(count_keys warm /f-)" 1
  in_host sed -i '/^warm = /d' "$CONFIG"
  has b one
  assert_equal "$(on b ipuctl partition list -o json | jq -r --arg name "$name" '.[] | select(.partition == $name).state')" ACTIVE
  run on a ipuctl pool refill
  assert_contains "$output" 'declared dead'
  assert_equal "$(count_keys warm /f-)" 1
  run on a ipuctl gc
  has b one
  assert_contains "$(partitions)" "$name"
}

@test "a fence of the host that has it removes it, and what it has is gone after its end" {
  local name
  on a ipuctl pool refill
  keep 4 1
  take b one IPU_COUNT=4
  name=$(partition_of b one)
  run -0 on a ipuctl host fence "$(tag_of b)" --alive
  assert_contains "$output" "removed partition $name"
  run ! grep -q "$name" <<<"$(partitions)"
  assert_equal "$(count_keys grants)" 0
  assert_equal "$(count_keys warm /f-)" 1
}

@test "a container that is killed leaves nothing after a gc of its host" {
  local name
  on a ipuctl pool refill
  keep 4 1
  take b one IPU_COUNT=4
  name=$(partition_of b one)
  on b kill -9 "$(on b ipuctl ps -o json | jq '.[] | select(.container == "one").pid')"
  on a ipuctl gc
  assert_contains "$(partitions)" "$name"
  on b ipuctl gc
  run ! grep -q "$name" <<<"$(partitions)"
  assert_equal "$(count_keys grants)" 0
}

@test "cut off from etcd a start fails in one line, and nothing that is warm is removed" {
  local before
  on a ipuctl pool refill
  before=$(partitions)
  etcd_stop
  run -1 take b one IPU_COUNT=4
  assert_contains "$output" 'start etcd there'
  assert_equal "$(wc -l <<<"$output")" 1
  run -3 on b ipuctl pool refill
  run on a ipuctl gc
  run on b ipuctl gc
  assert_equal "$(partitions 2>/dev/null)" "$before"
  etcd_start
  on b ipuctl gc
  assert_equal "$(partitions)" "$before"
}

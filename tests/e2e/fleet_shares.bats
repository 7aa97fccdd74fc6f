#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What else a tenant's share in a fleet says than how many IPUs: how many of its requests wait, whether it reserves, and how
# long it borrows. Each counts over both hosts.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  fleet_up
  tenants_by_variable
}

teardown() {
  on a ipuctl queue cancel --all >/dev/null
  on b ipuctl queue cancel --all >/dev/null
  for host in a b; do
    for name in $(on "$host" ipuctl reservation list -o json | jq -r '.[].name'); do
      on "$host" ipuctl reservation end "$name" >/dev/null
    done
  done
  remove_containers_of_both
  remove_partitions
  assert_equal "$(etcd_keys grants)" ''
  etcd_stop
  unconfigure_fleet
  host_config
}

@test "as many requests of a tenant wait on both hosts together as may, and those of others do not count" {
  local waiter
  on a ipuctl tenant set vision --max-waiters 1 >/dev/null
  on a ipuctl tenant set nlp >/dev/null
  start_for a all nlp 64
  start_waiter a v1 vision 4 1
  waiter=$WAITING
  run -1 start_for b v2 vision 4 IPU_WAIT=60s
  assert_contains "$output" "1 requests of tenant 'vision' wait in the fleet, and its max_waiters allows no more"
  start_waiter b n1 nlp 4 2
  end_on a all
  wait "$waiter" || fail "$(cat "$BATS_TEST_TMPDIR/v1")"
  wait "$WAITING" || fail "$(cat "$BATS_TEST_TMPDIR/n1")"
}

@test "a tenant that may not reserve does so on no host, and starts containers" {
  local host
  on a ipuctl tenant set vision --may-reserve no >/dev/null
  for host in a b; do
    run -1 on "$host" ipuctl reserve night --ipus 4 --tenant vision
    assert_contains "$output" "tenant 'vision' may not reserve IPUs of the fleet; start a container with IPU_WAIT=60s instead"
  done
  start_for b v1 vision 4
  on b ipuctl tenant set vision --may-reserve yes >/dev/null
  on a ipuctl reserve night --ipus 4 --tenant vision >/dev/null
  assert_equal "$(on b ipuctl tenant show vision -o json | jq .fleet.held)" 8
}

@test "who has borrowed for too long borrows no more on the other host, until it gives back" {
  on a ipuctl tenant set vision --guaranteed 4 --limit 32 --borrow-time 2s >/dev/null
  start_for a v1 vision 4
  start_for a v2 vision 4
  sleep 3
  run -1 start_for b v3 vision 4
  assert_contains "$output" "tenant 'vision' has borrowed 4 IPUs for longer than its borrow_time, 2s, and may borrow no more"
  assert_equal "$(on b ipuctl tenant show vision -o json | jq -c '.fleet | [.borrowed, .overdue]')" '[4,4]'
  end_on a v1
  wait_until 20 has_keys grants 1
  start_for b v3 vision 4
}

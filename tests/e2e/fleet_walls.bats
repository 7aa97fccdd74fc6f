#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet, and tenants with a V-IPU allocation each, which the fleet's store keeps: whichever host a tenant
# uses, it gets IPUs of its own IPU-Machines alone, and no other tenant waits for it.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

# IPU-Machines 1 to 4 are of vision, 5 to 8 of nlp, and 9 to 16 of the rest.
setup_file() {
  two_hosts_up
  restart_afresh --allocation vision=ag1-ag4 --allocation nlp=ag5-ag8 --allocation rest=ag9-ag16
}

teardown_file() {
  restart_afresh
  two_hosts_down
}

restart_afresh() { # SIMULATOR-OPTION...
  # shellcheck disable=SC2034
  local SIM_OPTIONS=("$@")
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
}

setup() {
  fleet_up
  in_host sed -i 's|^controller = .*|&\nallocation = "rest"|' "$CONFIG"
  tenants_by_variable
  in_host truncate --size 0 "$SIM_LOG"
  on a ipuctl tenant set vision --allocation vision >/dev/null
  on b ipuctl tenant set nlp --allocation nlp >/dev/null
  on a ipuctl tenant set guest >/dev/null
}

teardown() {
  on a ipuctl queue cancel --all >/dev/null
  on b ipuctl queue cancel --all >/dev/null
  remove_containers_of_both
  remove_partitions
  assert_equal "$(etcd_keys grants)" ''
  etcd_stop
  unconfigure_fleet
  host_config
}

# The IPUs that the partition of CONTAINER on HOST got are all of ALLOCATION.
assert_within() { # HOST CONTAINER ALLOCATION
  local partition
  partition=$(on "$1" ipuctl lease show "$2" -o json | jq -r .partition)
  # shellcheck disable=SC2016
  assert_equal "$(sim_log --arg partition "$partition" 'map(select(.event == "hold" and .partition == $partition)) | last |
    [.ipus[] | if . < 16 then "vision" elif . < 32 then "nlp" else "rest" end] | unique | join(" ")')" "$3"
}

@test "each tenant gets IPUs of its own allocation on both hosts, and none when that is full, though the POD has room" {
  start_for a v1 vision 8
  start_for b v2 vision 8
  start_for a n1 nlp 8
  start_for b g1 guest 16
  assert_within a v1 vision
  assert_within b v2 vision
  assert_within a n1 nlp
  assert_within b g1 rest
  run -1 start_for a v3 vision 4
  assert_contains "$output" "tenant 'vision' is kept to allocation 'vision'"
  run -1 start_for b v3 vision 4
  assert_contains "$output" "tenant 'vision' is kept to allocation 'vision'"
  start_for b n2 nlp 8
  assert_within b n2 nlp
}

@test "a request that waits for its allocation keeps no other tenant waiting, and gets IPUs that the other host gives back" {
  start_for a v1 vision 16
  start_waiter b v2 vision 8 1
  run -1 start_for a v3 vision 1
  assert_contains "$output" 'others wait for'
  start_for a n1 nlp 8
  start_for a g1 guest 8
  end_on a n1
  end_on a g1
  waiting_are a 1 || fail 'it has IPUs that others gave back'
  end_on a v1
  wait "$WAITING" || fail "$(cat "$BATS_TEST_TMPDIR/v2")"
  assert_within b v2 vision
}

@test "who waits follows its tenant to another allocation, which the other host gives it" {
  start_for a v1 vision 16
  start_waiter b v2 vision 8 1
  on a ipuctl tenant set nlp --allocation none >/dev/null
  on a ipuctl tenant set vision --allocation nlp >/dev/null
  wait "$WAITING" || fail "$(cat "$BATS_TEST_TMPDIR/v2")"
  assert_within b v2 nlp
  # What runs stays where it is.
  assert_within a v1 vision
}

@test "both hosts start at the same time, for all tenants: no partition is in two allocations, and none is of others" {
  local host tenant started=()
  for _ in 1 2 3; do
    started=()
    for host in a b; do
      # One process a host: its bundle has one place.
      (for tenant in vision nlp guest; do start_for "$host" "$tenant-$host" "$tenant" 4 IPU_WAIT=60s || exit 1; done) \
        >"$BATS_TEST_TMPDIR/$host" 2>&1 3>&- &
      started+=($!)
    done
    wait "${started[0]}" || fail "$(cat "$BATS_TEST_TMPDIR/a")"
    wait "${started[1]}" || fail "$(cat "$BATS_TEST_TMPDIR/b")"
    for host in a b; do
      assert_within "$host" "vision-$host" vision
      assert_within "$host" "nlp-$host" nlp
      assert_within "$host" "guest-$host" rest
    done
    remove_containers_of_both
  done
}

@test "warm partitions are in the allocation of the pool, and no host gives one to a tenant of another" {
  in_host sed -i 's|^allocation = "rest"|&\nwarm = { "4" = 1 }|' "$CONFIG"
  on a ipuctl pool refill >/dev/null
  start_for b v1 vision 4
  assert_within b v1 vision
  [[ $(on b ipuctl lease show v1 -o json | jq -r .partition) == c-* ]] || fail 'it has a warm partition'
  start_for b g1 guest 4
  assert_within b g1 rest
  end_on b g1
  in_host sed -i '/^warm = /d' "$CONFIG"
  on a ipuctl pool refill >/dev/null
}

@test "without etcd no tenant starts, because its allocation is not known, and what runs goes on" {
  start_for a v1 vision 4
  etcd_stop
  run -1 start_for a n1 nlp 4
  run -1 start_for b g1 guest 4
  assert_equal "$(on a ipuctl ps -o json | jq -r '.[].state')" RUNNING
  etcd_start
  start_for b n1 nlp 4
  assert_within b n1 nlp
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet, each with its agent, and containers that work meanwhile: a host that is cut off from etcd for longer
# than its key lives, an etcd that stalls and then ends all leases (etcd#15247), and a host that loses power.
#   CUT_SECONDS=N  how long the host is cut off, as in the group cut of check-long; by default until the other one calls it
#                  suspect

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
# shellcheck source=tests/e2e/fleet_life.bash
source "$BATS_TEST_DIRNAME/fleet_life.bash"
# An address of its own, so that a host can be cut off from etcd and not from the controller.
# shellcheck disable=SC2034 # etcd.bash reads it
ENDPOINT=10.1.3.102:2379

setup_file() {
  two_hosts_up
  in_host ip -n pod address add 10.1.3.102/24 dev brctl
  make_agent_users
}

teardown_file() {
  remove_users
  two_hosts_down
}

setup() { fleet_up; }

teardown() {
  etcd_signal CONT
  mend
  # It boots, so that its containers can end.
  ! in_host test -e /run/hostb/pid || { power_off && power_on && on b ipuctl gc; }
  all_down
  remove_partitions
  ! in_host test -e /run/hostb/pid || power_off
  wait_until 10 has_keys grants 0 || fail "$(etcd_keys grants)"
  wait_until 10 has_keys queue 0 || fail "$(etcd_keys queue)"
  etcd_stop
  unconfigure_fleet
}

# ---- what happens to hosts and etcd

# What host "b" sends to etcd arrives nowhere. Nobody answers that, not even with an error.
cut() { in_host ip -n hostb neigh replace 10.1.3.102 lladdr 02:00:00:00:ff:ff nud permanent dev mgmt0; }
mend() { in_host ip -n hostb neigh flush to 10.1.3.102 nud permanent dev mgmt0; }

etcd_signal() { # SIGNAL
  # shellcheck disable=SC2016
  in_host sh -c 'kill "-$1" "$(cat /run/etcd/pid)"' sh "$1"
}

# Host "b" becomes one with a pid 1 and a boot id of its own.
power_on() {
  # shellcheck disable=SC2016
  host_spawn power nsenter --net=/run/netns/hostb unshare --mount --pid --fork --kill-child bash -e -c '
    read -r pid _ </proc/self/stat
    mount -t proc proc /proc
    cat /proc/sys/kernel/random/uuid >/run/hostb/boot_id
    mount --bind /run/hostb/boot_id /proc/sys/kernel/random/boot_id
    mount --bind /run/hostb/lib /var/lib/ipu-container-toolkit
    mount --bind /run/hostb/run /run/ipu-container-toolkit
    echo "$pid" >/run/hostb/pid
    while :; do
      sleep infinity &
      wait $!
    done'
  wait_until 10 in_host test -s /run/hostb/pid || fail "$(in_host cat /run/service/power.log)"
  AS_HOST_B=(nsenter --target "$(in_host cat /run/hostb/pid)" --mount --net --pid)
}

# Nothing of what ran on it is there any more, and nothing could end in order.
# shellcheck disable=SC2016
power_off() {
  in_host sh -e -c '
    read -r pid </run/hostb/pid
    rm /run/hostb/pid
    kill -KILL "$pid"
    for _ in $(seq 200); do
      [ -e "/proc/$pid" ] || break
      sleep 0.05
    done
    rm -rf /run/oci-b
    find /run/hostb/run -mindepth 1 -delete'
}

@test "a host that is cut off from etcd is suspect: its containers work on, and nobody gets their IPUs" {
  local there until
  on a ipuctl partition create p0 --size 8 --gcds 2
  there=$(tag_of b)
  agents_up
  take b one IPU_COUNT=32
  take b two IPU_PARTITION=p0 IPU_GCD=0
  until=$((SECONDS + ${CUT_SECONDS:-0}))
  cut
  wait_until 60 sees a "$there" SUSPECT || fail "$(on a ipuctl fleet status)"
  while :; do
    on a ipuctl gc
    run on b ipuctl gc # which etcd does not answer
    works b one
    works b two
    refused_in_one_line a none IPU_COUNT=32
    assert_contains "$output" 'no free block of 32 IPUs'
    refused_in_one_line a none IPU_PARTITION=p0 IPU_GCD=0
    assert_contains "$output" "in use in the fleet by container two on host $there"
    [ "$SECONDS" -lt "$until" ] || break
    sleep 5
  done
  refused_in_one_line b none IPU_COUNT=4
  assert_contains "$output" "$ENDPOINT"
  sees a "$there" SUSPECT
  assert_equal "$(count_keys fences)" 0
  mend
  wait_until 40 sees a "$there" LIVE || fail "$(in_host cat /run/service/agent-b.log)"
  works b one
  works b two
  ends b one
  ends b two
  wait_until 20 both_are_empty || fail "$(on b ipuctl ps)"
  assert_equal "$(claims)" 0
  take a three IPU_COUNT=32
  works a three
}

@test "an etcd that stalls and ends all leases: nothing is killed, a start fails, and who waits keeps the place" {
  local first second
  take a one IPU_COUNT=32
  take b two IPU_COUNT=32
  agents_up
  LIMIT=200 take b first IPU_COUNT=64 IPU_WAIT=180s 3>&- &
  first=$!
  wait_until 20 has_keys queue 1
  LIMIT=200 take a second IPU_COUNT=4 IPU_WAIT=180s 3>&- &
  second=$!
  wait_until 20 has_keys queue 2
  etcd_signal STOP
  refused_in_one_line a none IPU_COUNT=4
  assert_contains "$output" "$ENDPOINT"
  run on a ipuctl gc
  run on b ipuctl gc
  works a one
  works b two
  etcd_signal CONT
  wait_until 20 etcd_answers
  revoke_all
  wait_until 40 sees a "$(tag_of a)" LIVE
  wait_until 40 sees a "$(tag_of b)" LIVE
  wait_until 40 has_keys queue 2 || fail "$(etcd_keys queue)"
  works a one
  works b two
  on a ipuctl gc
  on b ipuctl gc
  ends a one
  ends b two
  wait "$first"
  works b first
  run ! has a second
  ends b first
  wait "$second"
  works a second
}

@test "a host with a container and a waiter loses power: the next waiter is served, and what the host had stays" {
  local there waits lost held grant
  power_on
  there=$(tag_of b)
  agents_up
  take a one IPU_COUNT=32
  take b two IPU_COUNT=16
  held=$(on b ipuctl ps -o json | jq -r '.[].partition')
  grant=$(on b ipuctl ps -o json | jq -r '.[].lease')
  LIMIT=200 take b lost IPU_COUNT=32 IPU_WAIT=180s 3>&- &
  lost=$!
  wait_until 20 has_keys queue 1
  LIMIT=200 take a next IPU_COUNT=32 IPU_WAIT=180s 3>&- &
  waits=$!
  wait_until 20 has_keys queue 2
  power_off
  ! wait "$lost" || fail 'the waiter of the lost host was served'
  ends a one
  wait "$waits"
  works a next
  assert_equal "$(count_keys fences)" 0
  # The first that waits has one as well, for as long as it asks the controller. It may have lost its power then.
  assert_equal "$(count_keys grants "$grant")" 1
  [[ $(count_keys grants) = [23] ]] || fail "$(etcd_keys grants)"
  on a ipuctl gc
  assert_contains "$(on a ipuctl partition list -o json | jq -r '.[].partition')" "$held"
  refused_in_one_line a none IPU_COUNT=32
  wait_until 60 sees a "$there" SUSPECT
  # It comes back, and gives back what its containers had.
  power_on
  on b ipuctl gc
  assert_equal "$(on b ipuctl ps -o json)" '[]'
  assert_equal "$(count_keys grants)" 1
}

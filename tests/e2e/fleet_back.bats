#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An etcd that goes back: an operator restores a snapshot of etcd, or puts back a copy of its data, without the toolkit.
# It lacks what was claimed since, and no GCD or partition may be given twice.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
DATA=/run/etcd/data

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  fleet_up
  both_beat
}

teardown() {
  etcd_answers || etcd_start
  # A test that ended early may have left a question, which keeps partitions from being removed.
  for host in a b; do on "$host" ipuctl fleet beat >/dev/null 2>&1 || true; done
  remove_containers_of_both
  remove_partitions
  in_host sed -i '/^warm = /d' "$CONFIG"
  etcd_stop
  in_host rm -rf /run/etcd/copy /run/etcd/snapshot
  unconfigure_fleet
}

both_beat() {
  on a ipuctl fleet beat
  on b ipuctl fleet beat
}

# A copy of the data of the single member, which is stopped meanwhile.
copy_data() {
  etcd_stop
  in_host cp -a "$DATA" /run/etcd/copy
  etcd_start
}
put_back() {
  etcd_stop
  in_host sh -c "rm -rf $DATA && cp -a /run/etcd/copy $DATA"
  ETCD_OPTIONS=(--force-new-cluster)
  etcd_start
  ETCD_OPTIONS=()
}

@test "a copy of etcd's data is put back: each host notices, and what runs keeps its GCD" {
  on a ipuctl partition create p0 --size 8 --gcds 4
  use a one 0
  copy_data
  use b two 1
  both_beat
  put_back
  assert_equal "$(claims)" 1
  # Before any beat: GCD 1 seems to be free.
  run -1 use a three 1
  assert_contains "$output" 'fleet: etcd has gone back to an older state'
  assert_contains "$output" "run 'ipuctl gc' on each host"
  run on a ipuctl fleet check
  [ "$status" != 0 ]
  assert_contains "$output" 'fleet: etcd has gone back to an older state'
  run -3 on a ipuctl fleet beat
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" 'no container starts with a named partition until each host has told what it has'
  run -1 use a three 1
  assert_contains "$output" "host $(tag_of b) has not told since what its containers have"
  run -3 on b ipuctl fleet beat
  assert_equal "$(claims)" 2
  run -1 use a three 1
  assert_contains "$output" "in use in the fleet by container two on host $(tag_of b)"
  use a three 2
  both_beat
  run -0 on a ipuctl fleet check
  assert_contains "$(on a ipuctl events)" 'etcd has gone back to an older state'
}

@test "a snapshot of etcd is restored: without ipu-agent, 'ipuctl gc' on each host does it" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  etcd_control snapshot save /run/etcd/snapshot >/dev/null 2>&1
  use b two 1
  on b ipuctl gc >/dev/null
  on a ipuctl gc >/dev/null
  etcd_stop
  in_host sh -c "rm -rf $DATA && ETCDCTL_API=3 etcdctl snapshot restore /run/etcd/snapshot --data-dir $DATA >/dev/null 2>&1"
  etcd_start
  run -1 use a three 1
  assert_contains "$output" 'fleet: etcd has gone back to an older state'
  run on a ipuctl gc
  [ "$status" != 0 ]
  run on b ipuctl gc
  [ "$status" != 0 ]
  run -1 use a three 1
  assert_contains "$output" 'container two'
  run -0 on a ipuctl gc
  run -0 on b ipuctl gc
}

@test "a fence that comes back with a copy is forgotten before it ends what runs since" {
  local b
  b=$(tag_of b)
  on a ipuctl host fence --alive "$b"
  copy_data
  on a ipuctl host forget "$b"
  both_beat
  start_for b two '' 4
  put_back
  run -3 on a ipuctl host forget "$b"
  assert_contains "$output" "host $b still has partition" "run 'ipuctl host forget --alive $b'"
  on a ipuctl host forget --alive "$b"
  run -3 on b ipuctl fleet beat
  assert_contains "$output" 'etcd has gone back to an older state'
  run -3 on a ipuctl fleet beat
  both_beat
  assert_equal "$(on b ipuctl ps -o json | jq -r 'map(.state) | join(" ")')" RUNNING
  end_on b two
  wait_until 10 both_are_empty
}

# Has all hosts together keep NUMBER partitions of 4 IPUs warm.
keep() { in_host sed -i "/^warm = /d; s|^controller = .*|&\nwarm = { \"4\" = $1 }|" "$CONFIG"; } # NUMBER
warm_ones() { on a ipuctl partition list -o json | jq -r '.[].partition' | grep ^f- | sort; }
partition_of() { on "$1" ipuctl ps -o json | jq -r '.[0].partition'; } # HOST

@test "a warm partition that was taken since is not given again, and one that is idle is named" {
  local taken idle
  keep 2
  on a ipuctl pool refill
  copy_data
  keep 1 # so that no other one is made
  start_for b two '' 4
  taken=$(partition_of b)
  idle=$(warm_ones | grep -vx "$taken")
  assert_equal "$(wc -l <<<"$idle")" 1
  both_beat
  put_back
  assert_equal "$(count_keys warm /f-)" 2
  run -1 start_for a one '' 4
  assert_contains "$output" 'fleet: etcd has gone back to an older state'
  run -3 on a ipuctl fleet beat
  run -3 on b ipuctl fleet beat
  keep 0
  start_for a one '' 4
  assert_equal "$(partition_of b)" "$taken"
  [[ $(partition_of a) != f-* ]]
  run on a ipuctl fleet check
  [ "$status" != 0 ]
  assert_contains "$output" "$idle"
  [[ $output != *"$taken"* ]]
  end_on a one
  end_on b two
  wait_until 10 both_are_empty
  sim_stop
  in_host rm /var/lib/vipu-simulator.json # an operator removes it, with Graphcore's tool
  sim_start
}

@test "an etcd that moves with all that it had is taken as it is" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  use b two 1
  both_beat
  copy_data
  put_back
  both_beat
  use a one 0
  run -0 on a ipuctl fleet check
}

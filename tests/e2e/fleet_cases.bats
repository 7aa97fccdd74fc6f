#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What two hosts on one controller took from each other before hosts had an identity: the cases that no other file has with
# two hosts on bridges. Most are without a fleet. The other cases:
#   7  one queue                             e2e/fleet_queue
#   8  what is kept warm                     e2e/fleet_warm
#   9  addresses and MACs                    e2e/two_hosts

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
SIM_SOCKET=/run/cases-simulator.sock
IPUOF_FILE=/etc/ipuof.conf.d/shared.conf

setup_file() {
  sim_stop
  # shellcheck disable=SC2034 # sim_start reads it
  local SIM_OPTIONS=(--control "$SIM_SOCKET")
  sim_start
  two_hosts_up
}

teardown_file() {
  two_hosts_down
  restart_sim
}

setup() {
  host_config
  in_host sed -i 's|^range = .*|scheme = "ipu"\nbase = "10.5.64.0"\nmachines = "10.5.0.0/22"|' "$CONFIG"
  in_host truncate --size 0 "$SIM_LOG"
}

teardown() {
  power_of_b up
  sim_faults '{"faults": []}'
  remove_containers_of_both
  ! in_host test -e "$KEPT" || take_disk_back
  ! in_host test -e /run/etcd/pid || leave_fleet
  in_host rm -f /run/hostb/config.toml "$IPUOF_FILE"
  host_config
  remove_partitions
  on b ipuctl gc
  wait_until 10 nothing_is_at_the_controller || fail "$(partitions)"
}

leave_fleet() {
  remove_partitions
  run on b ipuctl fleet leave # it knows the partitions that are gone, until it asks for one again
  etcd_stop
  unconfigure_fleet
}

sim_faults() { in_host vipu-simulator control "$SIM_SOCKET" faults "$1" >/dev/null; } # PLAN
partitions() { on a ipuctl partition list -o json | jq -r '.[].partition'; }
nothing_is_at_the_controller() { [ "$(partitions)" = '' ]; }
# shellcheck disable=SC2016
calls() { sim_log --arg method "$1" --arg name "$2" 'map(select(.method == $method and .partition == $name)) | length'; } # METHOD PARTITION
# A release goes on in the background after the engine's answer.
ends() { # HOST CONTAINER
  end_on "$1" "$2"
  wait_until 10 is_empty "$1" || fail "$(on "$1" ipuctl ps)"
}
state_on() { on "$1" runc --root "/run/oci-$1" state "$2" | jq -r .status; } # HOST CONTAINER

take() { # HOST CONTAINER VARIABLE...
  make_bundle_of "$1" "${@:3}"
  start_on "$1" "$2"
}

# Begins `partition create NAME` on host "b", and returns when its ledger has the intent.
begin_create() { # NAME OPTION...
  # shellcheck disable=SC2016
  on b sh -c 'echo $$ >/run/hostb/create.pid; exec ipuctl partition create "$@"' sh "$@" >"$BATS_TEST_TMPDIR/create" 2>&1 3>&- &
  CREATING=$!
  wait_until 10 intends "$1" || fail "$(cat "$BATS_TEST_TMPDIR/create")"
}
intends() { on b ipuctl ledger dump -o json | jq -e --arg name "$1" '[.partitions[] | select(.name == $name)] | length == 1' >/dev/null; }

KEPT=/run/hostb.kept

# Host "b" has the disk of host "a", and boots with it: only its machine-id is its own.
copy_disk() {
  # shellcheck disable=SC2016
  in_host sh -e -c '
    mv /run/hostb/lib "$1"
    cp -a /var/lib/ipu-container-toolkit /run/hostb/lib
    echo 0123456789abcdef0123456789abcdef >/run/hostb/machine-id' sh "$KEPT"
  in_host python3 -c '
import sqlite3
ledger = sqlite3.connect("/run/hostb/lib/ledger.db")
ledger.execute("UPDATE lease SET boot_id = ?", ["another"])
ledger.commit()'
}
take_disk_back() {
  in_host sh -e -c "rm -rf /run/hostb/lib /run/hostb/machine-id; mv $KEPT /run/hostb/lib"
}
is_intact() { # HOST CONTAINER PARTITION
  assert_equal "$(calls RemovePartition "$3") $(calls ResetPartition "$3")" '0 0'
  assert_equal "$(state_on "$1" "$2")" created
  assert_equal "$(on "$1" ipuctl partition show "$3" -o json | jq -r .state)" ACTIVE
}
power_of_b() { in_host sh -e -c "for link in rnic0 mgmt0; do ip -n hostb link set \$link $1; done"; } # up|down
partition_of() { on "$1" ipuctl ps -o json | jq -r '.[].partition'; } # HOST

@test "case 1: a host with a copy of another one's ledger starts nothing until it has its own, and ends nothing of the other" {
  local partition
  take a one IPU_COUNT=16
  partition=$(partition_of a)
  copy_disk
  run -1 take b two IPU_COUNT=4
  assert_contains "$output" 'the ledger is of another host'
  run -1 on b ipuctl gc
  assert_contains "$output" "run 'ipuctl ledger adopt-host'"
  is_intact a one "$partition"
  run -0 on b ipuctl ledger rebuild
  assert_contains "$output" '1 lease and 0 partitions in it are left to that host'
  take b two IPU_COUNT=16
  run -0 on b ipuctl gc
  assert_equal "$(addresses_and_macs | sort | uniq -d)" ''
  ends b two
  is_intact a one "$partition"
}

@test "case 6: what a dead host had is told, left alone, and free after one fence; the host starts anew when it is back" {
  local dead mine theirs
  dead=$(tag_of b)
  take a one IPU_COUNT=16
  mine=$(partition_of a)
  take b two IPU_COUNT=32
  theirs=$(partition_of b)
  power_of_b down
  on a ipuctl gc
  assert_equal "$(calls RemovePartition "$theirs")" 0
  run -1 take a three IPU_COUNT=32
  assert_contains "$output" '1 of other hosts'
  assert_equal "$(on a ipuctl host list -o json | jq -c --arg host "$dead" '.[] | select(.host == $host) | [.partitions, .ipus]')" '[1,32]'
  run -0 on a ipuctl host fence "$dead"
  assert_contains "$output" "removed partition $theirs"
  take a three IPU_COUNT=32
  is_intact a one "$mine"
  # Its boot has ended the container.
  power_of_b up
  end_on b two
  wait_until 20 is_empty b || fail "$(on b ipuctl ps)"
  run -0 on a ipuctl host forget "$dead"
  take b four IPU_COUNT=16
  is_intact a one "$mine"
  ends b four
}

@test "case 2: a creation that was killed removes nothing that another host made of that name" {
  sim_faults '{"faults": [{"call": "CreatePartition", "partition": "train", "action": "hang", "times": 0}]}'
  begin_create train --size 8
  # shellcheck disable=SC2016
  in_host sh -c 'kill -KILL "$(cat /run/hostb/create.pid)"'
  ! wait "$CREATING" || fail 'it was not killed'
  sim_faults '{"faults": []}'
  on a ipuctl partition create train --size 8
  take a one IPU_PARTITION=train
  run on b ipuctl gc
  run on b ipuctl gc
  assert_equal "$(calls RemovePartition train) $(calls ResetPartition train)" '0 0'
  assert_equal "$(state_on a one)" created
  assert_equal "$(on a ipuctl partition show train -o json | jq -r .state)" ACTIVE
  run -1 take b two IPU_PARTITION=train
  assert_contains "$output" "'train'"
}

@test "case 3: hosts that share a file of IPUoF by 'part' never have the same endpoint" {
  local variables=(IPU_POOL=slices IPU_COUNT=8)
  on a ipuctl partition create whole --size 16 --reconfigurable
  in_host mkdir -p "${IPUOF_FILE%/*}"
  on a ipuctl partition config whole --gcd 0 | in_host tee "$IPUOF_FILE" >/dev/null
  configure_slices "$IPUOF_FILE"
  run on a ipuctl doctor -o json
  assert_equal "$(jq -r '.[] | select(.check == "part of pool slices").result' <<<"$output")" warning
  in_host cp "$CONFIG" /run/hostb/config.toml
  in_host sh -c "echo 'part = \"0-7\"' >>$CONFIG; echo 'part = \"8-15\"' >>/run/hostb/config.toml"
  run on a ipuctl doctor -o json
  assert_equal "$(jq -r '[.[] | select(.check == "part of pool slices")] | length' <<<"$output")" 0
  take a one "${variables[@]}"
  take b two "${variables[@]}"
  assert_equal "$(endpoints_of_both | wc -l)" 16
  assert_equal "$(endpoints_of_both | sort | uniq -d)" ''
  run -1 take a none "${variables[@]}"
  assert_contains "$output" 'no free block of 8 IPUs'
  run -1 take b none "${variables[@]}"
  assert_contains "$output" 'no free block of 8 IPUs'
}

# "ADDRESS PORT" of each IPU of the containers of both hosts.
endpoints_of_both() {
  in_host find /run/ipu-container-toolkit/leases /run/hostb/run/leases -type f -name '*ipuof.conf' -exec cat {} + |
    jq -r '.devices[] | "\(.ip) \(.server_port)"'
}

@test "case 4: a creation that was answered UNAVAILABLE takes nothing that another host made of that name meanwhile" {
  sim_faults '{"faults": [{"call": "CreatePartition", "partition": "p0", "action": "status", "status": "UNAVAILABLE", "delay": "12s"}]}'
  begin_create p0 --size 8 --gcds 2
  # The fault has one creation, and this is the second one.
  wait_until 10 is_asked
  on a ipuctl partition create p0 --size 8 --gcds 2
  take a one IPU_PARTITION=p0 IPU_GCD=0
  ! wait "$CREATING" || fail "$(cat "$BATS_TEST_TMPDIR/create")"
  assert_contains "$(cat "$BATS_TEST_TMPDIR/create")" "which may be another host's"
  run -1 take b two IPU_PARTITION=p0 IPU_GCD=1
  run on b ipuctl gc
  assert_contains "$output" "'ipuctl partition adopt p0' leaves it alone"
  on b ipuctl partition adopt p0
  take b two IPU_PARTITION=p0 IPU_GCD=1
  ends b two
  on b ipuctl partition remove p0
  assert_equal "$(calls RemovePartition p0) $(calls ResetPartition p0)" '0 0'
  assert_equal "$(state_on a one)" created
}

is_asked() { in_host pgrep -P "$(in_host cat /run/hostb/create.pid)" >/dev/null; }

@test "case 5: a partition that runs containers of its host is neither reset nor removed by a host that adopted it" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  take a one IPU_PARTITION=p0 IPU_GCD=0
  on b ipuctl partition adopt p0
  take b two IPU_PARTITION=p0 IPU_GCD=1
  run -1 on b ipuctl partition reset p0
  assert_contains "$output" 'was adopted'
  ends b two
  on b ipuctl gc
  on b ipuctl partition remove p0
  assert_equal "$(calls RemovePartition p0) $(calls ResetPartition p0)" '0 0'
  assert_equal "$(state_on a one)" created
}

@test "case 5 in a fleet: no adoption is needed, and a GCD has one container of all hosts" {
  fleet_up
  on a ipuctl partition create p0 --size 8 --gcds 2
  take a one IPU_PARTITION=p0 IPU_GCD=0
  run ! on b ipuctl partition adopt p0
  assert_equal "${#lines[@]}" 1
  run -1 take b two IPU_PARTITION=p0 IPU_GCD=0
  assert_contains "$output" "in use in the fleet by container one on host $(tag_of a)"
  take b two IPU_PARTITION=p0 IPU_GCD=1
  run -3 on b ipuctl partition remove p0 --force
  assert_equal "$(calls ResetPartition p0)" 0
  assert_equal "$(state_on a one)" created
}

@test "case 10: a refusal counts the containers of all hosts" {
  take a one IPU_COUNT=16
  take b two IPU_COUNT=32
  run -1 take a none IPU_COUNT=32
  assert_contains "$output" 'held by 1 container here and 1 of other hosts)'
  run -1 take b none IPU_COUNT=32
  assert_contains "$output" 'held by 1 container here and 1 of other hosts)'
  ends b two
  take b three IPU_COUNT=32
  ends a one
  run -1 take a none IPU_COUNT=64
  assert_contains "$output" 'held by 0 containers here and 1 of other hosts)'
}

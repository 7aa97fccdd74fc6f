#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What ended without a word is given back; what runs on, without its engine, its shim or its first
# process, keeps all that it has.

load support

BOOT_ID=/proc/sys/kernel/random/boot_id
LEDGER=/var/lib/ipu-container-toolkit

teardown() {
  host_signal simulator CONT 2>/dev/null || true
  in_host umount "$BOOT_ID" 2>/dev/null || true
  in_host sh -c "[ ! -d $LEDGER.aside ] || { rm -rf $LEDGER; mv $LEDGER.aside $LEDGER; }"
  sim_stop
  sim_start
  host_config
  remove_containers
  end_engine
  docker_start
  remove_containers
  remove_partitions
  ipuctl gc
  assert_nothing_left
}

init_of() { docker inspect -f '{{.State.Pid}}' "$1"; }
# Kills a container's first process and its shim. The shim is stopped first: it does not reap the process, and containerd
# does not yet know that the shim is gone, and so removes nothing meanwhile.
kill_with_shim() { # PID
  local shim
  shim=$(in_host ps -o ppid= -p "$1" | tr -d ' ')
  in_host kill -STOP "$shim"
  in_host kill -KILL "$1" "$shim"
}
state_of_lease() { ipuctl ps -o json | jq -r '.[0].state'; }
is_gone() { ! in_host test -e "/proc/$1"; }

# dockerd, containerd and all shims die at once.
kill_engine() {
  host_signal docker KILL
  in_host pkill -KILL -x 'containerd.*' || true
  wait_until 10 no_engine
}
no_engine() { ! in_host pgrep -x 'dockerd|containerd.*' >/dev/null; }

# As far as any of it runs, with what it left running.
end_engine() {
  docker_stop
  in_host pkill -KILL -x 'containerd.*' || true
  wait_until 10 no_engine
  ipuctl ps -o json | jq '.[] | select(.state == "RUNNING" and .pid > 1).pid' | in_host xargs -r kill -KILL || true
}

start_live() {
  DOCKER_OPTIONS+=(--live-restore)
  docker_start
  DOCKER_OPTIONS=()
}

live_restore() {
  docker_stop
  start_live
}

# With the capabilities that its unit has, and no others.
gc_as_unit() {
  local capabilities
  capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$BATS_TEST_DIRNAME/../../packaging/systemd/ipu-container-toolkit-gc.service")
  capabilities=${capabilities,,}
  capabilities=${capabilities//cap_/+}
  in_host setpriv --no-new-privs --bounding-set="-all,${capabilities// /,}" timeout "$LIMIT" ipuctl gc
}

assert_kept() { # LEASE
  assert_contains "$(ipuctl gc)" 'nothing to release'
  assert_equal "$(ipuctl ps -o json | jq -r '.[].lease')" "$1"
  assert_equal "$(state_of_lease)" RUNNING
}

@test "live-restore: dockerd is killed and comes back; the container keeps its IPUs until it ends" {
  live_restore
  start job -e IPU_COUNT=4
  local lease
  lease=$(lease_of job .lease)
  host_signal docker KILL
  assert_kept "$lease"
  start_live
  assert_kept "$lease"
  # shellcheck disable=SC2046
  assert_contains "$(inside job nc -w 2 $(endpoints job | head -n 1))" "$(lease_of job .partition)"
  docker rm --force job
  assert_nothing_left
}

@test "an engine that lost its state: what it started runs on with its IPUs, and is given back at its end" {
  live_restore
  start job -e IPU_COUNT=4
  local init lease
  init=$(init_of job)
  lease=$(lease_of job .lease)
  docker_stop
  in_host sh -c 'umount -l /var/lib/docker && mount -t tmpfs tmpfs /var/lib/docker
    rm -rf --one-file-system /run/docker 2>/dev/null || true'
  docker_start
  assert_equal "$(docker ps --all --quiet)" ''
  assert_kept "$lease"
  in_host kill -KILL "$init"
  wait_until 10 gc_leaves_nothing
}

@test "dockerd, containerd and shim are killed: the container keeps its IPUs until it ends" {
  start job -e IPU_COUNT=4
  local init lease
  init=$(init_of job)
  lease=$(lease_of job .lease)
  kill_engine
  assert_kept "$lease"
  in_host kill -KILL "$init"
  wait_until 10 gc_leaves_nothing
}

@test "--pid=host: the first process ends and another runs on, with its IPUs" {
  start job --pid=host -e IPU_COUNT=4
  local init lease rest
  docker exec --detach job sleep 3601
  init=$(init_of job)
  lease=$(lease_of job .lease)
  wait_until 10 in_host pgrep -f 'sleep 3601' >/dev/null
  rest=$(in_host pgrep -n -f 'sleep 3601')
  kill_engine
  in_host kill -KILL "$init"
  wait_until 10 is_gone "$init"
  assert_kept "$lease"
  assert_contains "$(ipuctl gc --dry-run)" 'would keep lease'
  in_host nsenter --net="/proc/$rest/ns/net" ip link show roce0
  in_host kill -KILL "$rest"
  wait_until 10 gc_leaves_nothing
}

@test "reboot: all leases of the old boot are released, their partitions removed, and nothing else" {
  ipuctl partition create p0 --size 4
  start first -e IPU_COUNT=4
  start second -e IPU_COUNT=8
  start named -e IPU_PARTITION=p0
  in_host sh -c "echo 11111111-2222-3333-4444-555555555555 >/run/boot_id
    mount --bind /run/boot_id $BOOT_ID"
  assert_contains "$(ipuctl gc --dry-run)" 'the host was rebooted'
  assert_equal "$(ipuctl gc | grep -c '^released lease')" 3
  assert_equal "$(ipuctl ps -o json | jq length)" 0
  assert_equal "$(ipuctl partition list -o json | jq -r '.[].partition')" p0
}

@test "the controller is down: gc does what needs none, keeps the rest, and says so" {
  start job -e IPU_COUNT=4
  local init
  init=$(init_of job)
  sim_stop
  kill_engine
  in_host kill -KILL "$init"
  wait_until 10 is_gone "$init"
  run -3 ipuctl gc
  assert_contains "$output" 'is not complete yet'
  assert_equal "$(ipuctl ps -o json | jq -r '.[0] | "\(.state) \(.obstacle != "")"')" 'RELEASING true'
  assert_contains "$(ipuctl gc --dry-run)" 'partition: unknown'
  # shellcheck disable=SC2016
  in_host sh -c '[ -z "$(ls /run/ipu-container-toolkit/leases)" ]'
  sim_start
  assert_contains "$(ipuctl gc)" 'released lease'
}

@test "the controller hangs: the start of a container on another pool does not wait for it" {
  ipuctl partition create big --size 16 --reconfigurable
  ipuctl partition config big --gcd 0 | in_host tee /etc/slices.conf >/dev/null
  configure_slices /etc/slices.conf
  start job -e IPU_COUNT=4 -e IPU_POOL=pod64
  local init
  init=$(init_of job)
  host_signal simulator STOP
  kill_with_shim "$init"
  wait_until 10 is_gone "$init"
  start other -e IPU_COUNT=4 -e IPU_POOL=slices
  # It runs, and the attempt to give back what the dead one had, which it started, is not over.
  wait_until 10 is_held_up
  assert_equal "$(lease_of other .partition | cut -c 1-2)" c-
  host_signal simulator CONT
  wait_until 30 only_other_is_left
}
is_held_up() {
  [ "$(ipuctl ps -o json | jq -r '[.[] | .state + .obstacle] | sort | join(" ")')" = 'RELEASING RUNNING' ]
}
only_other_is_left() { [ "$(ipuctl ps -o json | jq -r '[.[].pool] | join(" ")')" = slices ]; }

@test "a start whose pool is full of what dead containers had gets it" {
  start job -e IPU_COUNT=64
  local init
  init=$(init_of job)
  kill_with_shim "$init"
  wait_until 10 is_gone "$init"
  docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox true
}

@test "gc --dry-run says why for each lease, and makes no ledger where there is none" {
  start job -e IPU_COUNT=4
  local init
  init=$(init_of job)
  assert_contains "$(ipuctl gc --dry-run)" "would keep lease $(lease_of job .lease)"
  kill_engine
  in_host kill -KILL "$init"
  wait_until 10 is_gone "$init"
  run -0 ipuctl gc --dry-run
  assert_contains "$output" 'would release lease'
  assert_contains "$output" "process $init, the container's first process, ended"
  assert_contains "$output" 'partition: there'
  assert_contains "$(gc_as_unit)" 'released lease'
  in_host mv "$LEDGER" "$LEDGER.aside"
  assert_equal "$(ipuctl gc --dry-run)" 'nothing to release'
  assert_equal "$(ipuctl ps -o json)" '[]'
  run ! in_host test -e "$LEDGER"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Options of docker beside a request: each does what it does without one, and takes nothing of what the
# container asked for.

load support
load fake_rdma

setup_file() {
  fake_rdma_up 10.5.204.{1..60}
  host_config
  in_host sed -i 's/^range = .*/range = "10.5.204.1-10.5.204.60"/' /etc/ipu-container-toolkit/config.toml
}

teardown_file() {
  host_config
  fake_rdma_down
}

teardown() {
  remove_containers
  assert_nothing_left
}

# The line KEY of the status of a container's first process.
status_of() { # NAME KEY
  inside "$1" sed -n "s/^$2:[[:space:]]*//p" /proc/1/status
}

@test "docker exec sees what the first process sees, as root and as another user" {
  start job -e IPU_COUNT=4
  assert_works job
  assert_equal "$(docker exec --user 1000 job cat /run/ipu/lease.json)" "$(inside job cat /run/ipu/lease.json)"
}

@test "--init" {
  start job --init -e IPU_COUNT=4
  assert_equal "$(inside job cat /proc/1/comm)" docker-init
  assert_works job
}

@test "--user: the files can be read, the device nodes opened" {
  start job --user 1000:1000 -e IPU_COUNT=4
  assert_equal "$(inside job id -u)" 1000
  assert_works job
}

@test "--read-only" {
  start job --read-only -e IPU_COUNT=4
  run ! inside job touch /written
  assert_works job
}

@test "--cap-drop ALL" {
  start job --cap-drop ALL -e IPU_COUNT=4
  assert_equal "$(status_of job CapBnd)" 0000000000000000
  assert_works job
}

@test "--security-opt no-new-privileges" {
  start job --security-opt no-new-privileges -e IPU_COUNT=4
  assert_equal "$(status_of job NoNewPrivs)" 1
  assert_works job
}

@test "all that makes a container tight, at once" {
  start job --init --user 1000:1000 --read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 50 \
    -e IPU_COUNT=4
  assert_works job
}

@test "--cgroupns=private" {
  start job --cgroupns=private -e IPU_COUNT=4
  [ "$(cgroup_namespace job)" != "$(in_host readlink /proc/self/ns/cgroup)" ]
  assert_works job
}

@test "--cgroupns=host" {
  start job --cgroupns=host -e IPU_COUNT=4
  assert_equal "$(cgroup_namespace job)" "$(in_host readlink /proc/self/ns/cgroup)"
  assert_works job
}

cgroup_namespace() { inside "$1" readlink /proc/1/ns/cgroup; }

@test "docker update keeps the device rules" {
  start job -e IPU_COUNT=4
  docker update --cpu-shares 512 --memory 256m --memory-swap 256m job
  assert_equal "$(docker inspect -f '{{.HostConfig.CpuShares}}' job)" 512
  assert_works job
  inside job mknod /tmp/umad c 231 3
  run inside job cat /tmp/umad
  assert_contains "$output" 'Operation not permitted'
}

@test "docker pause, while gc looks, and unpause" {
  start job -e IPU_COUNT=4
  local before
  before=$(lease_of job .lease)
  docker pause job
  ipuctl gc >/dev/null
  assert_equal "$(ipuctl ps -o json | jq -r '.[].state')" RUNNING
  docker unpause job
  assert_equal "$(lease_of job .lease)" "$before"
  assert_works job
}

@test "a restart policy gives a container that dies a new lease" {
  local before
  start job --restart=always -e IPU_COUNT=4
  before=$(lease_of job .lease)
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' job)"
  wait_until 20 has_another_lease job "$before"
  wait_until 10 has_leases 1
  assert_works job
  docker rm --force job
}

has_another_lease() { # NAME LEASE
  local lease
  lease=$(lease_of "$1" .lease 2>/dev/null) && [ "$lease" != "$2" ]
}

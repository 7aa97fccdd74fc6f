#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# However a container ends, everything comes back.

load support

teardown() {
  host_config
  remove_containers
  assert_nothing_left
}

@test "a container that ends by itself" {
  docker run --runtime=ipu --name job -e IPU_COUNT=4 busybox true
  assert_nothing_left
}

@test "a container that fails" {
  run -3 docker run --runtime=ipu --name job -e IPU_COUNT=4 busybox sh -c 'exit 3'
  assert_nothing_left
}

@test "docker stop" {
  start job -e IPU_COUNT=4
  docker stop --time 1 job
  assert_nothing_left
}

@test "docker kill" {
  start job -e IPU_COUNT=4
  docker kill job
  assert_nothing_left
}

@test "docker rm --force" {
  start job -e IPU_COUNT=4
  docker rm --force job
  assert_nothing_left
}

@test "SIGKILL to the container's first process" {
  start job -e IPU_COUNT=4
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' job)"
  assert_nothing_left
}

@test "SIGKILL to containerd's shim" {
  start job -e IPU_COUNT=4
  local init
  init=$(docker inspect -f '{{.State.Pid}}' job)
  in_host kill -KILL "$(in_host ps -o ppid= -p "$init" | tr -d ' ')"
  # containerd 2 may have done so already.
  in_host kill -KILL "$init" || run ! in_host test -e "/proc/$init"
  # Nobody calls a hook then: it is for the next start, and for `ipuctl gc`.
  wait_until 10 gc_leaves_nothing
}

@test "a command that does not exist" {
  run -127 docker run --runtime=ipu --name job -e IPU_COUNT=4 busybox no-such-command
  assert_contains "$output" no-such-command
  assert_nothing_left
}

@test "a start that fails in runc, after ours" {
  run ! docker run --runtime=ipu --name job -e IPU_COUNT=4 --sysctl kernel.no_such=1 busybox true
  assert_nothing_left
}

@test "docker restart: the container works again, with a new lease" {
  local before endpoint
  start job -e IPU_COUNT=4
  before=$(lease_of job .lease)
  docker restart --time 1 job
  [ "$(lease_of job .lease)" != "$before" ]
  endpoint=$(endpoints job | head -n 1)
  # shellcheck disable=SC2086
  assert_contains "$(inside job nc -w 2 $endpoint)" "$(lease_of job .partition)"
  wait_until 10 has_leases 1
}

@test "docker stop and docker start: the container works again" {
  start job -e IPU_COUNT=4
  docker stop --time 1 job
  docker start job
  lease_of job .partition
}

@test "docker pause, exec and unpause leave the lease alone" {
  local before
  start job -e IPU_COUNT=4
  before=$(lease_of job .lease)
  docker pause job
  docker unpause job
  assert_equal "$(lease_of job .lease)" "$before"
  assert_equal "$(ipuctl ps --output json | jq length)" 1
}

@test "a restart policy: five ends and starts leave one lease and then none" {
  docker run --detach --runtime=ipu --name job --restart=on-failure:5 -e IPU_COUNT=4 busybox sh -c 'exit 1'
  wait_until 30 has_restarted_five_times
  assert_nothing_left
}

has_restarted_five_times() {
  [ "$(docker inspect -f '{{.RestartCount}} {{.State.Running}} {{.State.Restarting}}' job)" = '5 false false' ]
}

@test "the end of one container does not touch another one's" {
  start stays -e IPU_COUNT=4
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  wait_until 10 one_lease_is_left
  # shellcheck disable=SC2046
  assert_contains "$(inside stays nc -w 2 $(endpoints stays | head -n 1))" "$(lease_of stays .partition)"
}

one_lease_is_left() { [ "$(ipuctl ps --output json | jq length)" = 1 ]; }

@test "gc in another pid namespace does not take a running container for an ended one" {
  start job -e IPU_COUNT=4
  assert_contains "$(in_host unshare --pid --fork --mount-proc ipuctl gc)" 'nothing to release'
  assert_equal "$(ipuctl ps --output json | jq -r '.[0].state')" RUNNING
  docker rm --force job
}

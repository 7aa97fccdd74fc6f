#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container without a request is none of our business: with --runtime=ipu it is what it is with runc.

load support

teardown() {
  remove_containers
  assert_nothing_left
}

# Replaces what differs from one start to the next: ids, layers, pids, times, addresses, the runtime's name.
normalise() {
  sed -E 's/[0-9a-f]{64}/ID/g; s/[0-9a-f]{12}\b/SHORT/g; s/"(ipu|runc)"/"RUNTIME"/
    s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g; s/"Pid": [0-9]+/"Pid": PID/
    s/"MacAddress": "([0-9a-f]{2}:){5}[0-9a-f]{2}"/"MacAddress": MAC/
    s/(02:42:ac:11:00:|172\.17\.0\.)[0-9a-f]+/\1N/g; s#/proc/[0-9]+/#/proc/PID/#g'
}

# Starts the same container under both runtimes, one after the other.
start_both() { # DOCKER-OPTION... COMMAND...
  docker run --detach --runtime=runc --hostname h --name under-runc "$@"
  docker run --detach --runtime=ipu --hostname h --name under-ipu "$@"
}

assert_same() { # COMMAND...: with "under-runc" and with "under-ipu" as its last word
  local runc ipu
  runc=$("$@" under-runc 2>&1 | sed 's/under-runc/NAME/' | normalise)
  ipu=$("$@" under-ipu 2>&1 | sed 's/under-ipu/NAME/' | normalise)
  [ -n "$runc" ] || fail "'$*' printed nothing"
  diff <(echo "$runc") <(echo "$ipu")
}

@test "it has no roce0, no IPU variable and no file of ours" {
  docker run --detach --runtime=ipu --name none busybox sleep 3600
  run ! inside none ip link show roce0
  run ! inside none ls /etc/ipuof.conf.d /run/ipu
  run inside none env
  [[ $output != *IPU* ]]
}

@test "docker inspect is the same" {
  start_both -e A=1 -p 80 busybox sleep 3600
  assert_same inspect_without_ports
}

# The host's ports of published ones are a new choice each time.
inspect_without_ports() {
  docker inspect "$1" | jq 'del(.[0].NetworkSettings.Ports)'
}

@test "config.json of the bundle is the same, byte for byte" {
  start_both -e A=1 --memory 64m busybox sleep 3600
  assert_same bundle_of
}

bundle_of() {
  in_host cat "/run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/$(
    docker inspect -f '{{.Id}}' "$1")/config.json"
}

@test "docker logs are the same, byte for byte" {
  # shellcheck disable=SC2016
  start_both busybox sh -c 'echo out; echo err >&2; printf "no newline"'
  docker wait under-runc under-ipu
  diff <(docker logs under-runc 2>/dev/null) <(docker logs under-ipu 2>/dev/null)
  diff <(docker logs under-runc 2>&1 >/dev/null) <(docker logs under-ipu 2>&1 >/dev/null)
  assert_equal "$(docker logs under-ipu 2>/dev/null | wc -c)" 14
  assert_equal "$(docker logs under-ipu 2>&1 >/dev/null | wc -c)" 4
}

@test "environment, limits, capabilities and devices are the same" {
  local what
  start_both busybox sleep 3600
  # shellcheck disable=SC2016
  for what in 'tr "\0" "\n" </proc/1/environ' 'cat /proc/1/limits' 'grep Cap /proc/1/status' 'find /dev' 'ip route | sed "s/src .*//"'; do
    diff <(inside under-runc sh -c "$what") <(inside under-ipu sh -c "$what")
  done
}

@test "exit codes come through" {
  run -0 docker run --rm --runtime=ipu busybox true
  run -3 docker run --rm --runtime=ipu busybox sh -c 'exit 3'
  docker run --detach --runtime=ipu --name killed busybox sleep 3600
  docker kill killed
  assert_equal "$(docker wait killed)" 137
  run -127 docker run --rm --runtime=ipu busybox no-such-command
}

@test "a container named create works" {
  docker run --detach --runtime=ipu --name create busybox sleep 3600
  assert_equal "$(docker exec create echo here)" here
  docker rm --force create
  assert_equal "$(docker ps --all --quiet)" ''
}

@test "IPU_VISIBLE_DEVICES=none declines: no IPUs, no interface" {
  docker run --detach --runtime=ipu --name none -e IPU_COUNT=4 -e IPU_VISIBLE_DEVICES=none busybox sleep 3600
  run ! inside none ip link show roce0
  assert_nothing_left
}

@test "pause, unpause, update, stats, top, cp and exec work" {
  docker run --detach --runtime=ipu --name none busybox sleep 3600
  docker pause none
  docker unpause none
  docker update --memory 64m --memory-swap 64m none
  docker stats --no-stream none
  docker top none
  docker cp none:/bin/busybox - | wc -c
  docker exec none true
}

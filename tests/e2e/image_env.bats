#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an image asks for by its ENV: IPU_WAIT and IPU_PARTITION are only for those who start it.

load support
load bundle
load conformance
load engines

setup_file() {
  # shellcheck disable=SC2016
  in_host sh -c '
    printf "FROM busybox\nENV IPU_COUNT=4 IPU_WAIT=60s\n" | docker build -q -t waits - &&
    printf "FROM busybox\nENV IPU_PARTITION=p0\n" | docker build -q -t names -'
  ipuctl partition create p0 --size 4 >/dev/null
  engines_up
  import_by_podman names IPU_PARTITION=p0
  import_by_podman waits IPU_COUNT=4 IPU_WAIT=60s
}

import_by_podman() { # NAME VARIABLE...
  local variable changes=()
  for variable in PATH=/bin "${@:2}"; do changes+=(--change "ENV $variable"); done
  in_host tar -C /run/busybox -c bin lib lib64 tmp | podman_by ipu import "${changes[@]}" - "$1" >/dev/null
}

teardown_file() {
  docker rmi --force waits names >/dev/null
  podman_by ipu rmi --all --force >/dev/null
  in_host rm -rf "$PODMAN"
  remove_partitions
  assert_nothing_left
}

teardown() {
  remove_containers
  podman_by ipu rm --all --force --time 0 >/dev/null
}

run_image() { run "$1" docker run --rm --runtime=ipu "${@:2}" true; }

@test "an image's IPU_WAIT is not honoured: a full pool refuses at once, and says so" {
  start half -e IPU_COUNT=32
  start quarter -e IPU_COUNT=16
  start eighth -e IPU_COUNT=8
  start rest -e IPU_COUNT=4
  run_image -125 waits
  assert_contains "$output" 'has no free block of 4 IPUs'
  assert_contains "$output" "IPU_WAIT='60s' is not honoured, because only the image sets it; give it with -e"
  run_image -125 -e IPU_WAIT=1s waits
  [[ $output != *'only the image sets it'* ]]
}

@test "who starts the image may wait, also for as long as the image says" {
  start half -e IPU_COUNT=32
  start quarter -e IPU_COUNT=16
  start eighth -e IPU_COUNT=8
  start rest -e IPU_COUNT=4
  docker run --rm --runtime=ipu -e IPU_WAIT=60s waits true 3>&- &
  wait_until 10 has_waiters 1
  docker rm --force rest
  wait $!
}

@test "explain says what was not honoured" {
  docker run --detach --runtime=ipu --name idle waits sleep 3600 >/dev/null
  run -0 ipuctl explain "$(container_id idle)"
  assert_contains "$output" "IPU_WAIT='60s' is not honoured, because only the image sets it"
  local bundle
  bundle=$(in_host sh -c 'echo /run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/*')
  run -0 ipuctl explain --bundle "$bundle"
  assert_contains "$output" "IPU_WAIT='60s' is not honoured, because only the image sets it"
}

@test "an image cannot name a partition" {
  run_image -125 names
  assert_contains "$output" "IPU_PARTITION='p0' is not honoured, because only the image sets it"
  assert_contains "$output" 'without it the container asks for no IPUs'
  run_image -0 -e IPU_COUNT=2 names
  run_image -0 -e IPU_VISIBLE_DEVICES=none names
}

@test "who starts the image may name the partition, also the one that the image names" {
  run_image -0 -e IPU_PARTITION=p0 names
  printf 'IPU_PARTITION=p0\n' | in_host tee /run/variables >/dev/null
  run_image -0 --env-file /run/variables names
}

run_podman() { # STATUS OPTION... IMAGE
  run "$1" podman_by ipu run --rm "--cgroup-parent=/$HOST_CGROUP" "${@:2}" true
}

@test "podman: an image cannot name a partition; its user can, by an annotation" {
  run_podman -126 names
  assert_contains "$output" "IPU_PARTITION='p0' is not honoured, because the image sets it to this value"
  run_podman -126 -e IPU_PARTITION=p0 names
  run_podman -0 --annotation graphcore.ai/ipu.partition=p0 names
  run_podman -0 -e IPU_COUNT=2 names
}

@test "podman: an image's IPU_WAIT is not honoured, and another one is" {
  podman_by ipu run --detach --name idle "--cgroup-parent=/$HOST_CGROUP" waits sleep 3600 >/dev/null
  run -0 ipuctl explain "$(podman_by ipu inspect -f '{{.Id}}' idle)"
  assert_contains "$output" "IPU_WAIT='60s' is not honoured, because the image sets it to this value"
  local bundle
  bundle=$(podman_by ipu inspect -f '{{.OCIConfigPath}}' idle)
  run -0 ipuctl explain --bundle "${bundle%/*}"
  assert_contains "$output" "IPU_WAIT='60s' is not honoured"
  run_podman -0 -e IPU_WAIT=1s waits
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl runtime configure, status, unconfigure.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

load support

FILE=/etc/docker/daemon.json

setup() {
  docker_stop
  in_host mkdir -p /etc/docker
}

teardown() {
  docker_stop
  in_host rm -rf /etc/docker/daemon.json /etc/docker/daemon.json.before-ipu /etc/containerd
  docker_start
}

# dockerd, which knows of runtimes what its file says.
start_docker() { # [TEXT-OF-FILE]
  [ $# -eq 0 ] || printf '%s' "$1" | in_host tee "$FILE" /etc/daemon.before >/dev/null
  # shellcheck disable=SC2034 # read by docker_start
  local DOCKER_RUNTIME=()
  docker_start
}

assert_as_before() {
  in_host cmp "$FILE" /etc/daemon.before
  run ! in_host test -e "$FILE.before-ipu"
}

@test "docker: from an unknown runtime to a container with IPUs and back" {
  start_docker $'{\n    "debug" : true,\n    "shutdown-timeout": 10\n}'
  run ! docker run --rm --runtime=ipu busybox true
  assert_contains "$output" 'ipu'
  run -0 ipuctl runtime configure docker
  assert_contains "$output" '+    "runtimes": {'
  assert_contains "$output" "docker: lists the runtime 'ipu'"
  assert_contains "$(docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox cat /run/ipu/lease.json)" '"partition"'
  assert_equal "$(in_host jq -r '.debug, ."shutdown-timeout"' "$FILE" | xargs)" 'true 10'
  assert_equal "$(ipuctl runtime status docker -o json | jq -c '.[] | [.engine, .file, .runtime, .default, .in_use]')" \
    "[\"docker\",\"$FILE\",\"$BINDIR/ipu-container-runtime\",false,\"yes\"]"
  run -0 ipuctl runtime unconfigure docker
  assert_contains "$output" "docker: lists the runtime 'ipu' until dockerd is started again"
  assert_as_before
  docker_stop
  start_docker
  run ! docker run --rm --runtime=ipu busybox true
}

@test "docker: beside another runtime ours goes at once" {
  start_docker '{"runtimes": {"plain": {"path": "/usr/sbin/runc"}}}'
  ipuctl runtime configure docker
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox test -e /run/ipu/lease.json
  assert_contains "$(ipuctl runtime unconfigure docker)" "docker: does not list any more"
  run ! docker run --rm --runtime=ipu busybox true
  docker run --rm --runtime=plain busybox true
  assert_as_before
}

@test "docker: twice changes nothing, and what is not there is not taken away" {
  start_docker '{"debug": true}'
  ipuctl runtime configure docker
  in_host cp -p "$FILE" /etc/daemon.once
  assert_equal "$(ipuctl runtime configure docker)" "docker: $FILE has the runtime"
  in_host cmp "$FILE" /etc/daemon.once
  ipuctl runtime unconfigure docker
  assert_contains "$(ipuctl runtime unconfigure docker)" "docker: $FILE does not have the runtime"
  assert_as_before
}

@test "docker: a file that was not there is gone again" {
  start_docker
  ipuctl runtime configure docker
  assert_equal "$(in_host jq -r .runtimes.ipu.path "$FILE")" "$BINDIR/ipu-container-runtime"
  ipuctl runtime unconfigure docker
  run ! in_host test -e "$FILE"
}

@test "docker: --dry-run shows the change and makes none" {
  start_docker '{"debug": true}'
  assert_contains "$(ipuctl runtime configure --dry-run docker)" '"ipu"'
  assert_as_before
}

@test "docker: the default runtime is ours only when asked for, and theirs again after" {
  start_docker '{"runtimes": {"plain": {"path": "/usr/sbin/runc"}}, "default-runtime": "plain"}'
  ipuctl runtime configure docker
  assert_equal "$(in_host jq -r '."default-runtime"' "$FILE")" plain
  ipuctl runtime configure --set-default docker
  assert_equal "$(in_host jq -r '."default-runtime"' "$FILE")" ipu
  docker run --rm -e IPU_COUNT=4 busybox test -e /run/ipu/lease.json
  ipuctl runtime unconfigure docker
  assert_as_before
}

@test "docker: what somebody wrote meanwhile stays" {
  start_docker '{"debug": true}'
  ipuctl runtime configure docker
  in_host sh -c "jq '.labels = [\"a=b\"]' $FILE >/etc/daemon.new && cat /etc/daemon.new >$FILE"
  ipuctl runtime unconfigure docker
  assert_equal "$(in_host jq -c . "$FILE")" '{"debug":true,"labels":["a=b"]}'
}

@test "docker: a file that is no JSON, and a runtime of that name, are refused and left alone" {
  start_docker '{"runtimes": {"ipu": {"path": "/usr/sbin/runc"}}}'
  run -1 ipuctl runtime configure docker
  assert_contains "$output" "runtime 'ipu' is '/usr/sbin/runc' already"
  assert_as_before
  docker_stop
  printf '{' | in_host tee "$FILE" /etc/daemon.before >/dev/null
  run -2 ipuctl runtime configure docker
  assert_contains "$output" "$FILE"
  assert_as_before
}

@test "docker: a key that dockerd has as an option is not written to its file" {
  docker_start
  run -2 ipuctl runtime configure docker
  assert_contains "$output" 'was started with --add-runtime'
  run ! in_host test -e "$FILE"
}

@test "containerd: a handler of its CRI plugin, by its own word" {
  in_host mkdir -p /etc/containerd
  in_host sh -c 'printf "version = 2\n[debug]\n  level = \"info\"\n" | tee /etc/containerd/config.toml >/etc/config.before'
  run -0 ipuctl runtime configure containerd
  assert_contains "$output" 'it takes effect when one starts'
  assert_contains "$(in_host containerd --config /etc/containerd/config.toml config dump)" "BinaryName = \"$BINDIR/ipu-container-runtime\""
  ipuctl runtime unconfigure containerd
  in_host cmp /etc/containerd/config.toml /etc/config.before
}

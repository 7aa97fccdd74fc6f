#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl runtime configure, status, unconfigure.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

load support

FILE=/etc/docker/daemon.json

# Each test starts dockerd with what it is about.
setup_file() {
  docker_stop
}

teardown_file() {
  docker_start
}

setup() {
  in_host mkdir -p /etc/docker
}

teardown() {
  docker_stop
  in_host rm -rf /etc/docker/daemon.json /etc/docker/daemon.json.before-ipu /etc/containerd
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
  assert_contains "$output" "docker: lists the runtime 'ipu' until you restart dockerd"
  assert_as_before
  docker_stop
  start_docker
  run ! docker run --rm --runtime=ipu busybox true
}

@test "docker: beside another runtime ours goes at once" {
  start_docker '{"runtimes": {"plain": {"path": "/usr/sbin/runc"}}}'
  ipuctl runtime configure docker
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox test -e /run/ipu/lease.json
  assert_contains "$(ipuctl runtime unconfigure docker)" "docker: no longer lists"
  run ! docker run --rm --runtime=ipu busybox true
  docker run --rm --runtime=plain busybox true
  assert_as_before
}

@test "docker: twice changes nothing, and what is not there is not taken away" {
  start_docker '{"debug": true}'
  ipuctl runtime configure docker
  in_host cp -p "$FILE" /etc/daemon.once
  assert_equal "$(ipuctl runtime configure docker)" "docker: $FILE already has the runtime"
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
  assert_contains "$output" "runtime 'ipu' already exists, with path '/usr/sbin/runc'"
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
  assert_contains "$output" 'has the option --add-runtime'
  run ! in_host test -e "$FILE"
}

@test "docker: so is one that its service would start it with" {
  in_host mkdir -p /etc/systemd/system/docker.service.d
  printf '[Service]\nExecStart=\nExecStart=/usr/sbin/dockerd --add-runtime x=/x\n' |
    in_host tee /etc/systemd/system/docker.service.d/x.conf >/dev/null
  run -2 ipuctl runtime configure docker
  in_host rm -r /etc/systemd/system/docker.service.d
  assert_contains "$output" 'dockerd (by its service) has the option --add-runtime'
  run ! in_host test -e "$FILE"
}

@test "docker: what it has is asked on its own socket, and an unknown answer is no claim" {
  start_docker '{"debug": true}'
  # A context of docker's, which it would take.
  in_host mkdir -p /root/.docker
  echo '{"currentContext": "elsewhere"}' | in_host tee /root/.docker/config.json >/dev/null
  assert_contains "$(host_run env DOCKER_HOST=unix:///none timeout "$LIMIT" ipuctl runtime configure docker)" \
    "docker: lists the runtime 'ipu'"
  in_host rm -r /root/.docker
  in_host mv /run/docker.sock /run/docker.away
  run -0 ipuctl runtime unconfigure docker
  in_host mv /run/docker.away /run/docker.sock
  assert_contains "$output" 'docker: cannot be asked whether it lists'
  assert_contains "$output" 'unix:///run/docker.sock'
}

@test "docker: a default runtime that was replaced is there again after foreign edits" {
  start_docker '{"runtimes": {"plain": {"path": "/usr/sbin/runc"}}, "default-runtime": "plain"}'
  ipuctl runtime configure --set-default docker
  in_host sh -c "jq '.debug = true' $FILE >/etc/daemon.new && cat /etc/daemon.new >$FILE"
  ipuctl runtime unconfigure docker
  assert_equal "$(in_host jq -c . "$FILE")" \
    '{"runtimes":{"plain":{"path":"/usr/sbin/runc"}},"default-runtime":"plain","debug":true}'
  run ! in_host test -e "$FILE.before-ipu"
}

@test "docker: a file that is mounted by itself is left alone" {
  printf '{"debug": true}' | in_host tee "$FILE" /etc/daemon.before >/dev/null
  in_host mount --bind "$FILE" "$FILE"
  run ipuctl runtime configure docker
  in_host umount "$FILE"
  assert_equal "$status" 1
  assert_contains "$output" 'it is a mount point'
  assert_as_before
}

@test "a name that engines have themselves, and a program that is not there, are refused" {
  run -2 ipuctl runtime configure --name runc docker
  assert_contains "$output" "--name 'runc': is the name of a runtime of the engines"
  run -2 ipuctl runtime configure --name 'a b' docker
  in_host mv "$BINDIR/ipu-container-runtime" "$BINDIR/away"
  run ipuctl runtime configure docker
  in_host mv "$BINDIR/away" "$BINDIR/ipu-container-runtime"
  assert_equal "$status" 1
  assert_contains "$output" "use '$BINDIR/ipu-container-runtime' as a runtime: it does not exist"
  run ! in_host test -e "$FILE"
}

@test "auto: what is in the way of one engine keeps no other from being done" {
  printf '{' | in_host tee "$FILE" >/dev/null
  run -1 ipuctl runtime configure
  local podman=/etc/containers/containers.conf.d/ipu-container-toolkit.conf
  in_host test -e "$podman"
  assert_contains "$output" "podman: lists the runtime 'ipu'"
  assert_contains "$output" "ipuctl: $FILE"
  run -1 ipuctl runtime unconfigure auto
  run ! in_host test -e "$podman"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The way of a new user: from nothing installed to a container with IPUs, and back.

load support

FILE=/etc/docker/daemon.json

setup() {
  docker_stop
  uninstall
  in_host mkdir -p /etc/docker
  printf '{\n  "debug": false\n}\n' | in_host tee "$FILE" /etc/daemon.before >/dev/null
  # dockerd, which knows of runtimes what its file says.
  # shellcheck disable=SC2034 # docker_start reads it
  local DOCKER_RUNTIME=()
  docker_start
}

teardown() {
  remove_containers
  docker_stop
  in_host rm -f "$FILE" "$FILE.before-ipu" /etc/daemon.before
  host_install
  host_config
  docker_start
  assert_nothing_left
}

uninstall() {
  make --no-print-directory -s O="$O" DESTDIR="/proc/$HOST_PID/root" BINDIR="$BINDIR" \
    PREFIX="${PREFIX:-/usr/local}" uninstall
}

# What of the product is installed.
installed() { in_host sh -c "cd $BINDIR && ls -d gc-* ipu* 2>/dev/null" | xargs; }

@test "install, configure, docker run, gc-docker, unconfigure, uninstall" {
  assert_equal "$(installed)" ''
  host_install
  assert_equal "$(installed)" 'gc-docker gc-podman ipu-agent ipu-container-hook ipu-container-runtime ipuctl'
  host_config
  run ! docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  ipuctl runtime configure docker
  run -0 docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox cat /run/ipu/lease.json
  assert_equal "$(jq .ipus <<<"$output")" 4
  run -0 in_host gc-docker --count 4 -- --rm busybox cat /run/ipu/lease.json
  assert_equal "$(jq .ipus <<<"$output")" 4
  ipuctl runtime unconfigure docker
  in_host cmp "$FILE" /etc/daemon.before
  run ! in_host test -e "$FILE.before-ipu"
  assert_nothing_left
  uninstall
  assert_equal "$(installed)" ''
}

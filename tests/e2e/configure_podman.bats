#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl runtime configure, status, unconfigure: podman.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

load support
load podman

FILE=/etc/containers/containers.conf.d/ipu-container-toolkit.conf

setup() { set_up_podman; }

teardown() {
  # podman of a user keeps a process for the user's namespace.
  in_host pkill -KILL -x 'podman pause' || true
  tear_down_podman
  assert_nothing_left
}

run_podman() { run_podman_in none "$@"; } # OPTION... -- COMMAND...

# Prints bits 12 and 13 of what an exec may do in a container that has both.
network_capabilities() { # OPTION...
  local capabilities
  run_podman -d --name job --cap-add NET_ADMIN --cap-add NET_RAW "$@" -- sleep 600 >/dev/null
  capabilities=$(in_host timeout "$LIMIT" podman --runtime ipu exec job /bin/busybox sed -n 's/^CapEff:\t//p' /proc/self/status)
  in_host timeout "$LIMIT" podman --runtime ipu rm --force --time 0 job >/dev/null
  echo $((0x$capabilities >> 12 & 3))
}

@test "podman: from an unknown runtime to a container with IPUs and back" {
  run ! run_podman -- true
  assert_equal "$(ipuctl runtime status podman -o json | jq -r '.[].in_use')" no
  run -0 ipuctl runtime configure podman
  assert_contains "$output" "podman: lists the runtime 'ipu'"
  assert_contains "$(run_podman -e IPU_COUNT=4 -- cat /run/ipu/lease.json)" '"ipus": 4'
  assert_equal "$(ipuctl runtime status podman -o json | jq -c '.[] | [.file, .runtime, .default, .in_use]')" \
    "[\"$FILE\",\"$BINDIR/ipu-container-runtime\",false,\"yes\"]"
  # By conmon, too, an exec gets neither CAP_NET_RAW nor CAP_NET_ADMIN where IPUs are.
  assert_equal "$(network_capabilities -e IPU_COUNT=4)" 0
  assert_equal "$(network_capabilities)" 3
  run -0 ipuctl runtime unconfigure podman
  assert_contains "$output" 'podman: no longer lists'
  run ! in_host test -e "$FILE"
  run ! run_podman -- true
}

@test "podman: shows the one line of an error" {
  ipuctl runtime configure podman
  run ! run_podman -e IPU_COUNT=3 -- true
  assert_contains "$output" "ipu: IPU_COUNT='3' is not accepted: give a power of two"
  assert_equal "$(wc -l <<<"$output")" 1
}

@test "podman: by the path of the runtime, what runc says is no log line either" {
  local runc
  ipuctl runtime configure podman
  say() { # RUNTIME
    run -127 in_host timeout "$LIMIT" podman --runtime "$1" run --rm --network none --cgroup-parent "/$HOST_CGROUP" \
      --rootfs /run/podman-e2e /bin/absent || return
    echo "${output/"$1"/RUNTIME}"
  }
  runc=$(say /usr/sbin/runc)
  [[ $runc != *level=error* ]]
  assert_equal "$(say "$BINDIR/ipu-container-runtime")" "$runc"
}

@test "podman: an annotation asks as the environment does" {
  ipuctl runtime configure podman
  assert_contains "$(run_podman --annotation graphcore.ai/ipu.count=2 -- cat /run/ipu/lease.json)" '"ipus": 2'
}

@test "podman: being asked it makes no storage" {
  local before
  in_host rm -rf /run/podman-e2e
  before=$(in_host sh -c 'find /var/lib/containers 2>/dev/null || true')
  ipuctl runtime configure podman
  ipuctl runtime status podman
  run ! in_host test -e /run/podman-e2e
  assert_equal "$(in_host sh -c 'find /var/lib/containers 2>/dev/null || true')" "$before"
}

@test "podman: a drop-in of somebody else's is left alone" {
  in_host mkdir -p "${FILE%/*}"
  echo '[engine]' | in_host tee "$FILE" >/dev/null
  run -1 ipuctl runtime configure podman
  assert_contains "$output" 'move it away'
  run -1 ipuctl runtime unconfigure podman
  assert_equal "$(in_host cat "$FILE")" '[engine]'
}

@test "podman: a user who is not root is told that he cannot have it, and his own files are found" {
  in_host mkdir -p /run/podman-e2e/home
  in_host chown 12345:12345 /run/podman-e2e/home
  local file=/run/podman-e2e/home/.config/containers/containers.conf.d/ipu-container-toolkit.conf
  as_user() { in_host setpriv --reuid 12345 --regid 12345 --clear-groups env "$@"; }
  run -1 as_user HOME=/run/podman-e2e/home ipuctl runtime configure podman
  assert_contains "$output" 'container with IPUs requires root on this host'
  run ! in_host test -e "$file"
  as_user HOME=/run/podman-e2e/home ipuctl runtime configure podman --config "$file"
  assert_contains "$(as_user HOME=/run/podman-e2e/home ipuctl runtime status podman)" "$file"
  as_user HOME=/run/podman-e2e/home ipuctl runtime unconfigure podman
  run ! in_host test -e "$file"
  run -2 as_user -u HOME ipuctl runtime status podman
  assert_contains "$output" 'set HOME'
  run -1 as_user HOME=/run/podman-e2e/home ipuctl runtime configure crio
  assert_contains "$output" "crio: only root can change its files"
}

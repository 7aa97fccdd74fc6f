#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# More of the conformance suite: hosts and bundles that are not as they usually are.

# bats's run sets status, output and stderr; LOW_LEVEL is for remove_all.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load support
load bundle
load conformance

teardown() {
  note_conformance
  remove_all
  in_host sh -c 'rm -rf /run/syslog:job /run/journald:job /run/nodes'
  ipuctl gc >/dev/null
  assert_nothing_left
}

@test "line 25, runc: closed standard streams stay closed, also with a request" {
  use_spy
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  # shellcheck disable=SC2016
  in_host sh -c '
    for program in /run/spy/spy "$1"; do
      "$program" create --bundle "$2" job <&- >&- 2>&-
    done
    :' sh "$RUNTIME" "$BUNDLE"
  diff <(spy_call 1) <(spy_call 2)
}

@test "line 13, crun: a log that is syslog: or journald: is no file" {
  local log
  LOW_LEVEL=crun
  bundle_for crun '.process.env = ["IPU_COUNT=3"]'
  for log in syslog:job journald:job; do
    run -1 --separate-stderr in_host sh -c "cd /run && $RUNTIME --log=$log create --bundle $BUNDLE job"
    assert_equal "$(wc -l <<<"$stderr")" 1
    run ! in_host ls "/run/$log"
  done
}

@test "line 07, runc: config.json keeps its SELinux label" {
  local label=system_u:object_r:container_file_t:s0
  use_spy
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host /usr/bin/python3 -c "import os; os.setxattr('$BUNDLE/config.json', 'security.selinux', b'$label')"
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
  assert_contains "$(in_host cat "$BUNDLE/config.json")" ipu.lease
  assert_equal "$(in_host /usr/bin/python3 -c "import os; print(os.getxattr('$BUNDLE/config.json', 'security.selinux').decode())")" "$label"
}

@test "line 08, runc: without a request the run folder may be missing and unwritable" {
  make_bundle .
  configure_runtime /usr/sbin/runc
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    mkdir -p /run/ipu-container-toolkit
    mount -t tmpfs -o ro tmpfs /run/ipu-container-toolkit
    exec ipu-container-runtime --root "$2" create --bundle "$1" job >/dev/null 2>&1 </dev/null' sh "$BUNDLE" "$STATE"
  assert_equal "$(in_host runc --root "$STATE" state job | jq -r .status)" created
}

@test "line 03, crun: without a request --config may be a path" {
  use_spy
  make_bundle .
  in_host cp "$BUNDLE/config.json" /run/elsewhere.json
  in_host "$RUNTIME" create --bundle "$BUNDLE" --config /run/elsewhere.json job
  in_host rm /run/elsewhere.json
}

@test "line 08, runc: without a request a bundle of another kind is the low-level runtime's matter" {
  local kind
  for kind in true touch; do
    use_spy
    in_host sh -c "rm -rf $BUNDLE; $kind $BUNDLE"
    in_host "$RUNTIME" create --bundle "$BUNDLE" job
  done
  in_host rm -rf "$BUNDLE"
  for kind in 'mkdir' 'ln -s nowhere' 'mkfifo' 'ln -s /etc/passwd' 'truncate -s 20M'; do
    use_spy
    in_host sh -c "rm -rf $BUNDLE && mkdir $BUNDLE && $kind $BUNDLE/config.json"
    # A FIFO would keep the spy.
    [ "$kind" != mkfifo ] || configure_runtime /bin/true
    in_host timeout 10 "$RUNTIME" create --bundle "$BUNDLE" job
  done
}

@test "line 07, runc: text that is no JSON and names no key of ours is the low-level runtime's matter" {
  use_spy
  make_bundle .
  in_host tee "$BUNDLE/config.json" >/dev/null <<<'{"process": {"env": ["MY_IPU_X=1", "x"} "IPU_OTHER'
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
}

@test "line 07, runc: a bundle that is used again has the devices of its new lease alone" {
  make_bundle '.process.env += ["IPU_COUNT=1"]'
  use_spy
  in_host tee "$CONFIG" >/dev/null <<<$'[runtime]\npaths = ["/run/spy/spy"]\n[pool]\nname = "cards"\nprovider = "pcie"'
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    set -e
    mkdir -p /run/nodes
    mount -t tmpfs tmpfs /sys/bus
    mount -t tmpfs tmpfs /run/nodes
    cp -a /dev/null /run/nodes
    for card in 0 1; do
      device=/sys/bus/pci/devices/0000:8$card:00.0
      mkdir -p "$device"
      echo "$card" >"$device/file_name" && echo "$card" >"$device/numa_node" && echo 0x1d95 >"$device/vendor"
      mknod "/run/nodes/ipu$card" c 60 "${card}0"
      mknod "/run/nodes/ipu${card}_ex" c 60 "${card}1"
      mknod "/run/nodes/ipu${card}_mem" c 60 "${card}2"
    done
    mount --bind /run/nodes /dev
    "$1" create --bundle "$2" one
    ipuctl gc >/dev/null
    echo "taints = [0]" >>"$3"
    "$1" create --bundle "$2" two' sh "$RUNTIME" "$BUNDLE" "$CONFIG"
  assert_equal "$(spy_config 1 | jq -r '[.linux.devices[].path] | sort | join(" ")')" '/dev/ipu0 /dev/ipu0_ex /dev/ipu0_mem'
  assert_equal "$(spy_config 2 | jq -r '[.linux.devices[].path] | sort | join(" ")')" '/dev/ipu1 /dev/ipu1_ex /dev/ipu1_mem'
  assert_equal "$(spy_config 2 | jq -r '[.linux.resources.devices[] | select(.major == 60).minor] | sort | join(" ")')" '10 11 12'
}

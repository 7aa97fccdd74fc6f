#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each config.json that a low-level runtime finds, after the product has changed it, is one by the OCI runtime
# specification, whoever made it.

# CONFIG is conformance.bash's.
# shellcheck disable=SC2153

load support
load bundle
load conformance
load engines

SCHEMA=$BATS_TEST_DIRNAME/../data/oci-config.schema.json

setup_file() {
  engines_up
}

teardown() {
  engines_clean
  give_back
}

# For each config.json on standard input "good", or the first thing that is wrong with it.
validate() {
  { jq -c . "$SCHEMA" && jq -c .; } | in_host /usr/bin/python3 -c '
import json, sys
import jsonschema
lines = [json.loads(line) for line in sys.stdin]
jsonschema.Draft7Validator.check_schema(lines[0])
validator = jsonschema.Draft7Validator(lines[0])
for config in lines[1:]:
    wrong = next(validator.iter_errors(config), None)
    print("/".join(map(str, wrong.path)) + " " + wrong.message[:200] if wrong else "good")'
}

# What the spy saw: of EXPECTED containers, each once or oftener, valid, and with our entries.
assert_all_valid() { # EXPECTED
  local all
  all=$(in_host sh -c "cat $SPY/config.*.json" | jq -c .)
  assert_equal "$(sort -u <<<"$all" | wc -l)" "$1"
  assert_equal "$(validate <<<"$all" | sort -u)" good
  jq -es 'all(.annotations["graphcore.ai/ipu.lease"] and .hooks.poststop and
    ([.process.rlimits[] | select(.type == "RLIMIT_MEMLOCK")] | length) == 1)' <<<"$all"
}

@test "the schema takes what engines write, and refuses what is wrong with an entry of ours" {
  local filter good wrong=()
  assert_equal "$(validate <"$BATS_TEST_DIRNAME/../data/docker-config.json")" good
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  use_spy
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
  good=$(spy_config 1)
  assert_equal "$(validate <<<"$good")" good
  for filter in '.hooks.poststop[0].path = "hook"' 'del(.hooks.poststop[0].path)' '.hooks.poststop[0].timeout = "15"' \
    '.hooks.poststop[0].timeout = 0' '.hooks.poststop[0].env = ["PATH"]' '.hooks.createruntime = []' '.hooks.poststop = {}' \
    '.mounts[-1].destination = "etc"' '.mounts[-1].options = "ro"' '.process.rlimits[-1].soft = -1' '.mounts[-1].readonly = true' \
    '.process.rlimits[-1].type = "MEMLOCK"' 'del(.process.rlimits[-1].hard)' '.annotations.x = 1' '.process.env[-1] = 1' \
    '.linux.devices = [{path: "/dev/x"}]' '.linux.devices = [{path: "/dev/x", type: "c", major: "1"}]' \
    '.linux.resources.devices += [{type: "c"}]' '.linux.resources.rdma = {a: {handles: 1}}' \
    '.linux.namespaces += [{type: "net"}]' '.process.capabilities.bounding = ["KILL"]'; do
    wrong+=("$(jq -c "$filter" <<<"$good")")
  done
  printf '%s\n' "${wrong[@]}" | validate >"$BATS_TEST_TMPDIR/verdicts"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/verdicts")" "${#wrong[@]}"
  run ! grep -x good "$BATS_TEST_TMPDIR/verdicts"
}

@test "docker's, with and without options" {
  use_spy /usr/sbin/runc
  docker run --rm --runtime=ipu -e IPU_COUNT=2 busybox true
  docker run --rm --runtime=ipu -e IPU_COUNT=2 --memory 64m --cpus 0.5 --pids-limit 50 --ulimit memlock=65536 --ulimit nofile=99 \
    --cap-add SYS_PTRACE --cap-drop CHOWN --device /dev/null:/dev/other --sysctl net.ipv4.ip_forward=1 --tmpfs /scratch \
    --security-opt no-new-privileges --user 1234:4321 --read-only --hostname h --init=false --tty busybox true
  # Where this machine cannot run it, the spy has seen it.
  docker run --rm --runtime=ipu -e IPU_COUNT=2 --privileged --net=none --pid=host --ipc=host busybox true || true
  assert_all_valid 3
}

@test "containerd's" {
  use_spy /usr/sbin/runc
  engine_run ctr job IPU_COUNT=2 -- true
  ctr run --rm --rootfs --runc-binary "$RUNTIME" --cgroup "/$HOST_CGROUP/job" --env PATH=/bin --env IPU_COUNT=2 --seccomp --privileged \
    --read-only --annotation a=b /run/busybox job true || true
  assert_all_valid 2
}

@test "podman's, with and without options" {
  use_spy /usr/sbin/runc
  engine_run podman job IPU_COUNT=2 -- true
  podman_by ipu run --rm "--cgroup-parent=/$HOST_CGROUP" --env=IPU_COUNT=2 --memory 64m --ulimit memlock=65536 --cap-add SYS_PTRACE \
    --device /dev/null:/dev/other --annotation a=b --annotation graphcore.ai/ipu.count=1 --user 1234:4321 --read-only \
    --tty --rootfs /run/busybox true || true
  podman_by "$RUNTIME" run --rm "--cgroup-parent=/$HOST_CGROUP" --env=IPU_COUNT=2 --privileged --rootfs /run/busybox true || true
  assert_all_valid 3
}

@test "runc's own, with nulls and without members that the specification lets be absent" {
  local filter
  use_spy
  for filter in . '.hooks = null | .annotations = null' '.mounts = null | .process.rlimits = null' \
    'del(.mounts, .hostname, .process.capabilities, .process.rlimits)' 'del(.linux.resources)' \
    '.hooks = {prestart: [{path: "/bin/true"}], poststop: [{path: "/bin/true", args: ["true"], timeout: 1}]}'; do
    make_bundle "$filter | .process.env += [\"IPU_COUNT=2\"]"
    in_host "$RUNTIME" create --bundle "$BUNDLE" job
  done
  assert_all_valid 6
}

@test "with the devices of a card" {
  make_bundle '.process.env += ["IPU_COUNT=1"]'
  use_spy
  in_host tee "$CONFIG" >/dev/null <<<$'[pool]\nname = "cards"\nprovider = "pcie"\n[runtime]\npaths = ["/run/spy/spy"]'
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    set -e
    mount -t tmpfs tmpfs /sys/bus
    mkdir -p "/sys/bus/pci/devices/0000:80:00.0" /run/nodes
    cd "/sys/bus/pci/devices/0000:80:00.0"
    echo 0 >file_name && echo 0 >numa_node && echo 0x1d95 >vendor
    mount -t tmpfs tmpfs /run/nodes
    cp -a /dev/null /run/nodes
    mknod /run/nodes/ipu0 c 60 0 && mknod /run/nodes/ipu0_ex c 60 1 && mknod /run/nodes/ipu0_mem c 60 2
    mount --bind /run/nodes /dev
    exec "$@"' sh "$RUNTIME" create --bundle "$BUNDLE" job
  in_host rmdir /run/nodes
  assert_all_valid 1
  spy_config 1 | jq -e '([.linux.devices[].fileMode] | unique == [438]) and .linux.resources.devices[-1].allow'
}

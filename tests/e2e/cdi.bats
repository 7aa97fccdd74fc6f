#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# CDI files: containers that get IPUs by --device, without the wrapper.

load support
load bundle
load cdi
load podman

FILES=/etc/cdi
ROOT=/run/cdi-root

setup() {
  in_host mkdir "$ROOT"
  in_host cp -a /run/busybox/bin /run/busybox/lib /run/busybox/lib64 /run/busybox/tmp "$ROOT"
}

teardown() {
  local id
  ! in_host test -d /run/podman-e2e || in_host podman rm --all --force --time 0 >/dev/null 2>&1 || true
  for id in $(in_host runc --root "$STATE" list --quiet 2>/dev/null); do
    in_host runc --root "$STATE" delete --force "$id"
  done
  remove_bundle
  tear_down_podman
  ipuctl cdi remove
  host_config
  wait_until 10 has_leases 0
  ipuctl partition remove --force p0
  ! in_host test -e /dev/ipu0 || remove_cards
  in_host rm -rf "$ROOT" "$FILES"
  assert_nothing_left
}

# A host with four cards, linked in pairs.
with_cards() {
  make_cards
  in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null <<END
[pool]
name = "cards"
provider = "pcie"
groups = [[0, 1], [2, 3]]
END
  ipuctl cdi generate --output "$FILES"
}

bundle() { # FILTER DEVICE...
  make_bundle ".root = {path: \"$ROOT\"} | .process.capabilities |= map_values([\"CAP_MKNOD\"]) | $1"
  shift
  inject_cdi "$@"
}

# Created by runc itself.
run_bundle() { # ID
  give_own_cgroup "$1"
  # shellcheck disable=SC2016
  host_run timeout "$LIMIT" sh -c 'runc "$@" </dev/null >/run/cdi.log 2>&1 || { cat /run/cdi.log; exit 1; }' \
    sh --root "$STATE" create --bundle "$BUNDLE" "$1"
}

assert_bundle_refused() { # TEXT...
  local text
  run -1 run_bundle refused
  for text in "$@"; do
    assert_contains "$output" "$text"
  done
}

inside_bundle() { in_host runc --root "$STATE" exec "$@"; }
bundle_cards() { inside_bundle "$1" find /dev -name 'ipu[0-9]' | sort | xargs; }

@test "the files follow the partitions, from generate to remove" {
  run ipuctl cdi refresh
  assert_contains "$output" 'nothing to refresh'
  ipuctl partition create p0 --size 4
  run ! in_host test -e "$FILES/graphcore.ai-partition.json"
  run ipuctl cdi generate --output "$FILES"
  assert_equal "$output" "wrote $FILES/graphcore.ai-partition.json"
  assert_equal "$(ipuctl cdi generate --output "$FILES")" 'the files are up to date'
  assert_equal "$(ipuctl cdi list -o json | jq -r '.[].device')" 'graphcore.ai/partition=p0'
  run ipuctl cdi validate "$FILES/graphcore.ai-partition.json"
  assert_contains "$output" 'is valid: 1 devices of graphcore.ai/partition'
  ipuctl partition remove p0
  run ! in_host test -e "$FILES/graphcore.ai-partition.json"
  ipuctl partition create p0 --size 4
  in_host test -e "$FILES/graphcore.ai-partition.json"
  in_host rm "$FILES/graphcore.ai-partition.json"
  ipuctl gc
  in_host test -e "$FILES/graphcore.ai-partition.json"
  ipuctl cdi remove
  ipuctl gc
  run ! in_host test -e "$FILES/graphcore.ai-partition.json"
}

@test "generate again writes where the files are, by whatever name, and moves them to another directory" {
  ipuctl partition create p0 --size 4
  ipuctl cdi generate --output "$FILES/"
  assert_equal "$(ipuctl cdi generate)" 'the files are up to date'
  in_host test -e "$FILES/graphcore.ai-partition.json"
  assert_equal "$(ipuctl cdi list -o json | jq length)" 1
  # Files that cannot be written leave those that are there.
  in_host touch /run/no-directory
  run ! ipuctl cdi generate --output /run/no-directory
  in_host rm /run/no-directory
  in_host test -e "$FILES/graphcore.ai-partition.json"
  # What stood before is removed, also if an earlier move was cut.
  in_host mkdir -p /run/cdi-other
  in_host cp "$FILES/graphcore.ai-partition.json" /run/cdi-other
  printf '%s\n' "$FILES" /run/cdi-other | in_host tee /var/lib/ipu-container-toolkit/cdi >/dev/null
  run ipuctl cdi generate --output /run/cdi
  assert_contains "$output" 'wrote /run/cdi/graphcore.ai-partition.json' "removed $FILES/graphcore.ai-partition.json"
  run ! in_host test -e /run/cdi-other/graphcore.ai-partition.json
  assert_equal "$(ipuctl cdi list -o json | jq length)" 1
  ipuctl cdi remove
  run ! in_host test -e /run/cdi/graphcore.ai-partition.json
  in_host rmdir /run/cdi-other
}

@test "one command at a time looks and writes: a removal that another one waits for stays" {
  ipuctl partition create p0 --size 4
  ipuctl cdi generate --output "$FILES"
  # It has looked at the memory, and waits for the lock while another command forgets the files.
  # shellcheck disable=SC2016 # the host expands it
  in_host timeout "$LIMIT" sh -euc '
    exec 9>/var/lib/ipu-container-toolkit/cdi.lock
    flock 9
    rm "$1/graphcore.ai-partition.json"
    ipuctl cdi refresh >/run/cdi.log 2>&1 9>&- &
    sleep 1
    kill -0 $!
    ! test -e "$1/graphcore.ai-partition.json"
    rm /var/lib/ipu-container-toolkit/cdi
    exec 9>&-
    wait $!' sh "$FILES"
  ipuctl gc
  run ! in_host test -e "$FILES/graphcore.ai-partition.json"
  assert_equal "$(ipuctl cdi refresh)" "nothing to refresh; 'ipuctl cdi generate' makes the files"
}

@test "cards that go leave no device of a part, and a driver that is away leaves all" {
  with_cards
  devices() { ipuctl cdi list -o json | jq -r '.[].device | sub(".*="; "")' | xargs; }
  assert_equal "$(devices)" '0 1 2 3 all group0 group1'
  ipuctl config set pool.cards.groups '[[0, 1]]'
  assert_equal "$(devices)" '0 1 all group0'
  bundle . graphcore.ai/ipu=all
  assert_equal "$(in_host cat "$BUNDLE/config.json" | jq '[.linux.devices[] | select(.path | test("^/dev/ipu[0-9]$"))] | length')" 2
  ipuctl config set pool.cards.groups '[[0, 1], [2, 3], [4, 5]]'
  assert_equal "$(devices)" '0 1 2 3 group0 group1'
  remove_cards
  ipuctl gc
  ipuctl cdi refresh
  assert_equal "$(devices)" '0 1 2 3 group0 group1'
}

@test "validate says where a file is wrong, and what the host lacks" {
  in_host mkdir -p "$FILES"
  in_host tee "$FILES/wrong.json" >/dev/null <<<'{"cdiVersion": "0.4.0", "kind": "a.b/c", "devices": [
    {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nothing"}]}}]}'
  run -2 ipuctl cdi validate "$FILES/wrong.json"
  assert_contains "$output" 'devices[0].name: needs cdiVersion 0.5.0'
  in_host sed -i 's/0\.4\.0/0.5.0/' "$FILES/wrong.json"
  run -1 ipuctl cdi validate "$FILES/wrong.json"
  assert_contains "$output" "no device node '/dev/nothing'"
}

@test "a partition by its name: lease, interface and files, and given back" {
  ipuctl partition create p0 --size 4
  ipuctl cdi generate --output "$FILES"
  bundle . graphcore.ai/partition=p0
  run_bundle job
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.partition) \(.ipus)"')" 'RUNNING p0 4'
  in_host runc --root "$STATE" start job
  inside_bundle job ip link show roce0
  # shellcheck disable=SC2016
  assert_equal "$(inside_bundle job sh -c 'echo $IPU_PARTITION')" p0
  in_host runc --root "$STATE" delete --force job
  wait_until 10 has_leases 0
}

@test "a partition, and CAP_NET_RAW: refused, with the option to add" {
  ipuctl partition create p0 --size 4
  ipuctl cdi generate --output "$FILES"
  bundle '.process.capabilities.bounding += ["CAP_NET_RAW"]' graphcore.ai/partition=p0
  assert_bundle_refused '--cap-drop NET_RAW'
}

@test "cards by number: exactly these, by a lease, and nobody else has them meanwhile" {
  with_cards
  bundle . graphcore.ai/ipu=0 graphcore.ai/ipu=1
  run_bundle job
  in_host runc --root "$STATE" start job
  assert_equal "$(bundle_cards job)" '/dev/ipu0 /dev/ipu1'
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 2'
  run inside_bundle job cat /dev/ipu1
  assert_contains "$output" 'No such device or address'
  bundle . graphcore.ai/ipu=group0
  assert_bundle_refused 'ipu:'
  bundle . graphcore.ai/ipu=group1
  run_bundle other
  assert_equal "$(ipuctl ps -o json | jq length)" 2
  in_host runc --root "$STATE" delete --force job
  wait_until 10 has_leases 1
  bundle . graphcore.ai/ipu=0
  run_bundle again
}

@test "the same card twice, and all beside another" {
  with_cards
  bundle . graphcore.ai/ipu=0 graphcore.ai/ipu=0
  assert_bundle_refused 'card 0 twice'
  bundle . graphcore.ai/ipu=group0 graphcore.ai/ipu=1
  assert_bundle_refused 'card 1 twice'
  bundle . graphcore.ai/ipu=all graphcore.ai/ipu=0
  assert_bundle_refused 'card 0 twice'
  bundle '.annotations = {"graphcore.ai/ipu.count": "1"}' graphcore.ai/ipu=0
  assert_bundle_refused 'contradict each other'
  has_leases 0
  bundle . graphcore.ai/ipu=all
  run_bundle all
  assert_equal "$(ipuctl ps -o json | jq -r '.[].ipus')" 4
}

@test "with the wrapper: one lease, which the wrapper takes, at each start of the bundle" {
  with_cards
  bundle . graphcore.ai/ipu=2
  create job
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 1'
  in_host ipu-container-runtime --root "$STATE" delete --force job
  wait_until 10 has_leases 0
  create job
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 1'
  bundle . graphcore.ai/ipu=2
  give_own_cgroup refused
  assert_create_refused 'ipu:'
}

@test "podman run --device" {
  set_up_podman
  with_cards
  podman() {
    in_host timeout "$LIMIT" podman "$1" "${@:2}"
  }
  run podman run --rm --runtime /usr/sbin/runc --cgroup-parent "/$HOST_CGROUP" --network none --device graphcore.ai/ipu=1 \
    --rootfs /run/podman-e2e /bin/busybox find /dev -name 'ipu[0-9]'
  assert_equal "$output" /dev/ipu1
  wait_until 10 has_leases 0
  podman run --detach --name job --runtime /usr/sbin/runc --cgroup-parent "/$HOST_CGROUP" --network none \
    --device graphcore.ai/ipu=group0 --rootfs /run/podman-e2e:O /bin/busybox sleep 3600 </dev/null >/dev/null
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 2'
  run podman run --rm --runtime /usr/sbin/runc --cgroup-parent "/$HOST_CGROUP" --network none --device graphcore.ai/ipu=1 \
    --rootfs /run/podman-e2e:O /bin/busybox true
  [ "$status" -ne 0 ]
  assert_contains "$output" 'ipu:'
  podman rm --force --time 0 job >/dev/null
  wait_until 10 has_leases 0
}

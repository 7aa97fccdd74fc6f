#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host with four IPU cards, linked in pairs.

load support

setup_file() {
  make_cards
  # A device of another maker.
  in_host mkdir /sys/bus/pci/devices/0000:90:00.0
  in_host sh -c 'echo 0x15b3 >/sys/bus/pci/devices/0000:90:00.0/vendor'
}

teardown_file() {
  remove_cards
  host_config
}

setup() {
  in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null <<END
[pool]
name = "cards"
provider = "pcie"
groups = [[0, 1], [2, 3]]
END
}

teardown() {
  in_host rm -rf /run/systemd
  remove_containers
  assert_nothing_left
}

cards_in() { inside "$1" find /dev -name 'ipu*' | sort | xargs; }

# What opening a node says. No driver is behind it: that the kernel says so means that the cgroup let
# it through.
assert_allowed() { # NAME NODE
  run inside "$1" cat "$2"
  assert_contains "$output" 'No such device or address'
}

assert_forbidden() { # NAME MINOR
  inside "$1" mknod "/tmp/other$2" c "$CARD_MAJOR" "$2"
  run inside "$1" cat "/tmp/other$2"
  assert_contains "$output" 'Operation not permitted'
}

PAIR0='/dev/ipu0 /dev/ipu0_ex /dev/ipu0_mem /dev/ipu1 /dev/ipu1_ex /dev/ipu1_mem'
PAIR1='/dev/ipu2 /dev/ipu2_ex /dev/ipu2_mem /dev/ipu3 /dev/ipu3_ex /dev/ipu3_mem'

@test "without the wrapper the hook makes the nodes and the rules, and no others" {
  load bundle
  make_bundle '
    .annotations = {"graphcore.ai/ipu.devices": "0,1"} |
    .process.capabilities |= map_values(["CAP_MKNOD"]) |
    .mounts += [{destination: "/run", type: "tmpfs", source: "tmpfs"}, {destination: "/tmp", type: "tmpfs", source: "tmpfs"}] |
    .hooks.createRuntime = [{path: "'"$BINDIR"'/ipu-container-hook", args: ["hook", "createRuntime"], env: ["A=b"]}] |
    .hooks.poststop = [{path: "'"$BINDIR"'/ipu-container-hook", args: ["hook", "poststop"], env: ["A=b"]}]'
  in_host sh -c "runc --root $STATE create --bundle $BUNDLE alone </dev/null >/run/alone.log 2>&1"
  in_host runc --root "$STATE" start alone
  inside() { in_host runc --root "$STATE" exec "$@"; }
  assert_equal "$(cards_in alone)" "$PAIR0"
  assert_equal "$(inside alone stat -c '%t:%T %a' /dev/ipu1_mem)" '3c:5 666'
  for node in $PAIR0; do
    assert_allowed alone "$node"
  done
  assert_forbidden alone 6
  assert_equal "$(inside alone cat /run/ipu/lease.json | jq -c '[.cards[].number]')" '[0,1]'
  in_host runc --root "$STATE" delete --force alone
  in_host rm -rf "$BUNDLE" "$STATE"
}

@test "a container has the nodes of its cards, may open these, and no others" {
  local node
  start job -e IPU_COUNT=2
  assert_equal "$(cards_in job)" "$PAIR0"
  assert_equal "$(inside job stat -c '%t:%T' /dev/ipu1_mem)" 3c:5
  for node in $PAIR0; do
    assert_allowed job "$node"
  done
  assert_forbidden job 6
  assert_forbidden job 11
}

@test "a container with cards has no interface and no file for the fabric" {
  start job -e IPU_COUNT=2 -e IPUOF_CONFIG_PATH=/etc/an-image.conf
  run ! inside job ip link show roce0
  run ! inside job ls /etc/ipuof.conf.d
  run -0 inside job sh -c "tr '\0' '\n' </proc/1/environ"
  assert_contains "$output" PATH=
  [[ $output != *IPUOF* ]]
}

@test "lease.json names the cards" {
  start job -e IPU_COUNT=2
  assert_equal "$(lease_of job '[.cards[] | [.number, .pci, .numa_node]] | tojson')" \
    '[[0,"0000:80:00.0",0],[1,"0000:81:00.0",0]]'
  assert_equal "$(lease_of job '[.cards[].nodes[]] | join(" ")')" "$PAIR0"
}

@test "two containers have different pairs, and a third is refused" {
  start one -e IPU_COUNT=2
  start two -e IPU_COUNT=2
  assert_equal "$(cards_in two)" "$PAIR1"
  assert_refused -e IPU_COUNT=2 -- 'pool "cards" has no free block of 2 IPUs (largest free: 0, held by 2 containers)'
  assert_equal "$(ipuctl pool list -o json | jq -c '.[0].usage')" '{"ipus":4,"used":4,"tainted":0,"largest_free":0}'
  docker rm --force one
  wait_until 10 has_leases 1
  docker run --rm --runtime=ipu -e IPU_COUNT=2 busybox ls /dev/ipu0
}

@test "cards by name: a pair, one of a pair, all in two pairs" {
  start pair -e IPU_VISIBLE_DEVICES=2,3
  assert_equal "$(cards_in pair)" "$PAIR1"
  start single -e IPU_VISIBLE_DEVICES=1
  assert_equal "$(cards_in single)" '/dev/ipu1 /dev/ipu1_ex /dev/ipu1_mem'
  docker rm --force pair single
  wait_until 10 has_leases 0
  start all -e IPU_VISIBLE_DEVICES=0-3
  assert_equal "$(cards_in all)" "$PAIR0 $PAIR1"
}

@test "all cards" {
  start job -e IPU_VISIBLE_DEVICES=all
  assert_equal "$(cards_in job)" "$PAIR0 $PAIR1"
}

@test "cards that are not linked, are taken, or are not there are refused" {
  assert_refused -e IPU_VISIBLE_DEVICES=1,2 -- 'whole groups of linked IPUs'
  assert_refused -e IPU_VISIBLE_DEVICES=0-2 -- 'whole groups of linked IPUs'
  assert_refused -e IPU_VISIBLE_DEVICES=4 -- 'the pool has no IPU'
  start job -e IPU_VISIBLE_DEVICES=3
  assert_refused -e IPU_VISIBLE_DEVICES=2,3 -- 'is held by'
  assert_refused -e IPU_VISIBLE_DEVICES=all -- 'is held by'
}

@test "the host's network may be used with cards" {
  start job --net=host -e IPU_COUNT=2
  assert_equal "$(cards_in job)" "$PAIR0"
  inside job ip link show rnic0
}

@test "docker restart: the cards are there again" {
  start job -e IPU_COUNT=2
  docker restart --time 1 job
  assert_equal "$(cards_in job)" "$PAIR0"
  assert_allowed job /dev/ipu0
  wait_until 10 has_leases 1
}

@test "SIGKILL to the container's first process frees its cards" {
  start job -e IPU_VISIBLE_DEVICES=all
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' job)"
  assert_nothing_left
  start next -e IPU_VISIBLE_DEVICES=all
}

@test "IPU_WAIT waits for a card by its name" {
  start first -e IPU_VISIBLE_DEVICES=0,1
  start second -e IPU_VISIBLE_DEVICES=0,1 -e IPU_WAIT=30s 3>&- &
  local waiting=$!
  wait_until 10 has_waiters 1
  docker rm --force first
  wait "$waiting"
  assert_equal "$(cards_in second)" "$PAIR0"
}

@test "without a configuration the host's cards are one group" {
  in_host rm /etc/ipu-container-toolkit/config.toml
  start job -e IPU_COUNT=4
  assert_equal "$(cards_in job)" "$PAIR0 $PAIR1"
  assert_equal "$(lease_of job .pool)" pcie
  assert_equal "$(ipuctl pool list -o json | jq -r '.[0].provider')" pcie
}

@test "gc-docker: the cards of a logical id, or all" {
  local id
  run -0 in_host gc-docker -- --rm busybox find /dev -name 'ipu*'
  assert_equal "$(sort <<<"$output" | xargs)" "$PAIR0 $PAIR1"
  wait_until 10 has_leases 0
  # 0-3 are single cards, 4 and 5 the pairs.
  for id in '--device-id 5' '--device-id=2 --device-id=3'; do
    # shellcheck disable=SC2086 # several words
    run -0 in_host gc-docker $id -- --rm busybox find /dev -name 'ipu*'
    assert_equal "$(sort <<<"$output" | xargs)" "$PAIR1"
    wait_until 10 has_leases 0
  done
  run -125 in_host gc-docker --device-id 6 -- --rm busybox true
  assert_contains "$output" 'give a number from 0 to 5'
}

@test "gc-docker --host-network: the nodes of the cards, and no lease" {
  assert_equal "$(in_host gc-docker --host-network --device-id 1 --echo -- busybox)" \
    "docker run --ulimit memlock=-1:-1 --net=host --cap-add=IPC_LOCK --ipc=host\
 --device=/dev/ipu1:/dev/ipu1 --device=/dev/ipu1_ex:/dev/ipu1_ex --device=/dev/ipu1_mem:/dev/ipu1_mem busybox"
}

@test "doctor names each card's node that systemd does not find" {
  in_host mkdir -p /run/systemd/system
  run -0 ipuctl doctor -o json
  local advice
  advice=$(jq -r '.[] | select(.check == "device links" and .result == "warning").advice' <<<"$output")
  assert_equal "$(wc -l <<<"$advice")" 12
  assert_contains "$advice" "ln -sf ../ipu1_mem /dev/char/$CARD_MAJOR:5"
}

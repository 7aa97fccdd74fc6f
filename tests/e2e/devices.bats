#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The IPUs one by one, the rails, and who has them.

load support

teardown() {
  remove_containers
  remove_partitions
  host_config
  assert_nothing_left
}

@test "device list has each IPU of the POD, with its partition and the containers that have it" {
  ipuctl partition create p0 --size 4 --gcds 2
  start half -e IPU_PARTITION=p0 -e IPU_GCD=1
  start own -e IPU_COUNT=2
  list=$(ipuctl device list -o json)
  assert_equal "$(jq length <<<"$list")" 64
  assert_equal "$(jq -r '[.[].device][0,63]' <<<"$list" | xargs)" 'pod64/0/0 pod64/0/63'
  jq -e 'all(.kind == "fabric" and .pool == "pod64" and .health == "unknown" and .pci == "" and .nodes == [])' <<<"$list"
  assert_equal "$(jq -r '[.[] | select(.partition == "p0") | .gcd] | sort | join(" ")' <<<"$list")" '0 0 1 1'
  assert_equal "$(jq -r '[.[] | select(.holders[].name == "half") | .gcd] | join(" ")' <<<"$list")" '1 1'
  assert_equal "$(jq -c '[.[] | select(.holders[].name == "own") | [.state, .holders[0].lease]] | unique' <<<"$list")" \
    "[[\"ACTIVE\",\"$(ipuctl ps -o json | jq -r '.[] | select(.name == "own") | .lease')\"]]"
  assert_equal "$(jq '[.[] | select(.holders != [])] | length' <<<"$list")" 4
  run -0 ipuctl device list
  assert_equal "${#lines[@]}" 65
  [[ ${lines[0]} =~ ^DEVICE\ +POOL\ +HEALTH\ +PARTITION\ +CONTAINER\ +NAME\ +TENANT$ ]]
  assert_equal "$(grep -c " $(container_id own) .*own" <<<"$output")" 2
  run -0 ipuctl device list -o wide
  [[ ${lines[0]} == *'STATE   GCD  LEASE'*REASON ]]
}

@test "device show has one, and names what there is not" {
  start own -e IPU_COUNT=1
  device=$(ipuctl device list -o json | jq -r '.[] | select(.holders != []) | .device')
  run -0 ipuctl device show "$device"
  assert_contains "$output" "container $(container_id own) (own), lease"
  assert_equal "$(ipuctl device show "$device" -o json | jq -r '.holders[0].name')" own
  run -1 ipuctl device show pod64/0/64
  assert_equal "$output" "ipuctl: there is no device 'pod64/0/64'; see 'ipuctl device list'"
  run -2 ipuctl device list --pool other
  assert_contains "$output" "there is no pool 'other'"
}

@test "cards have their address, NUMA node, driver and nodes, and who has them" {
  make_cards
  in_host sh -c 'mkdir -p /sys/bus/pci/drivers/ipu && ln -s ../../drivers/ipu /sys/bus/pci/devices/0000:83:00.0/driver'
  printf '[pool]\nname = "cards"\nprovider = "pcie"\ngroups = [[0, 1], [3, 2]]\ntaints = [2]\n' |
    in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null
  start pair -e IPU_VISIBLE_DEVICES=0,1
  list=$(ipuctl device list -o json)
  run -0 ipuctl device list
  show=$(ipuctl device show 0000:83:00.0 -o json)
  by_node=$(ipuctl device show /dev/ipu3_ex -o json)
  csv=$(ipuctl device list -o csv)
  remove_containers
  wait_until 10 has_leases 0
  remove_cards
  host_config
  assert_equal "$(jq -r '[.[].device] | join(" ")' <<<"$list")" 'ipu0 ipu1 ipu3 ipu2'
  assert_equal "$(jq -c '.[1] | [.kind, .pci, .numa, .driver, .holders[0].name, .health, .nodes]' <<<"$list")" \
    '["card","0000:81:00.0",0,"","pair","unknown",["/dev/ipu1","/dev/ipu1_ex","/dev/ipu1_mem"]]'
  assert_equal "$(jq -c '.[3] | [.pci, .numa, .health, .reason, .holders]' <<<"$list")" \
    '["0000:82:00.0",1,"tainted","is tainted in the configuration",[]]'
  [[ ${lines[0]} =~ ^DEVICE\ +POOL\ +PCI\ +NUMA\ +DRIVER\ +HEALTH ]]
  assert_equal "$(jq -r '"\(.device) \(.driver)"' <<<"$show")" 'ipu3 ipu'
  assert_equal "$show" "$by_node"
  assert_equal "$(head -n 1 <<<"$csv" | cut -d , -f 1-3)" device,kind,pool
  assert_equal "$(wc -l <<<"$csv")" 5
}

@test "without a controller, device list says so and has the other pools" {
  start own -e IPU_COUNT=1
  sim_stop
  run -3 ipuctl device list
  assert_contains "$output" refused
  run -3 ipuctl device show pod64/0/0
  sim_start
}

@test "network list has the rails with their addresses, and each interface with its container" {
  start own -e IPU_COUNT=4
  list=$(ipuctl network list -o json)
  assert_equal "$(jq -r '.[0] | "\(.rail) \(.mode) \(.scheme) \(.held) \(.interfaces[0].state)"' <<<"$list")" \
    'rnic0 private range 1 up'
  assert_equal "$(jq -r '.[0] | .free + .held + .quarantined' <<<"$list")" "$(jq -r '.[0].range' <<<"$list" |
    awk -F '[.-]' '{ print ($7 - $3) * 256 + $8 - $4 + 1 }')"
  assert_equal "$(jq -r '.[0].links | length' <<<"$list")" 1
  assert_equal "$(jq -r '.[0].links[0] | "\(.interface) \(.name) \(.state) \(.address) \(.mac)"' <<<"$list")" \
    "roce0 own RUNNING $(address_in own) $(inside own cat /sys/class/net/roce0/address)"
  assert_equal "$(jq -r '.[0].links[0].netns' <<<"$list")" "$(inside own readlink /proc/self/ns/net | tr -dc 0-9)"
  run -0 ipuctl network list
  assert_contains "$output" "$(container_id own)"
  [[ ${lines[0]} =~ ^RAIL\ +INTERFACE\ +STATE\ +MTU\ +NUMA\ +RDMA\ +MODE\ +RANGE\ +FREE\ +HELD ]]
  assert_contains "$output" $'\n\nLINK '
  run -0 ipuctl network list -o yaml
  assert_contains "$output" '- rail: "rnic0"'
}

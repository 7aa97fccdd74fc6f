#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Parents that only a kernel with all drivers has: a bond, one with ipvlans, a wireless one.

load support

teardown() {
  remove_containers
  if [ -e /sys/class/net/bond0 ]; then
    leave_bond
  fi
  [ ! -e /sys/class/net/ipvlan0 ] || ip link delete ipvlan0
  if [ -d /sys/module/mac80211_hwsim ]; then
    modprobe --remove mac80211_hwsim
  fi
  configure_rail 'parent = "rnic0"'
  assert_nothing_left
}

# Makes rnic0 a part of bond0, which takes over its address and RDMA device.
make_bond() {
  modprobe bonding max_bonds=0
  rdma link delete rxe0
  ip link add bond0 mtu 9000 type bond mode active-backup miimon 100
  ip link set rnic0 down
  ip address flush dev rnic0
  ip link set rnic0 master bond0
  ip address add 10.5.200.1/16 dev bond0
  ip link set bond0 up
  rdma link add rxe0 type rxe netdev bond0
}

leave_bond() {
  rdma link delete rxe0
  ip link delete bond0
  ip address add 10.5.200.1/16 dev rnic0
  ip link set rnic0 up
  rdma link add rxe0 type rxe netdev rnic0
}

@test "the parent may be a bond: TCP and rdma_cm reach the own endpoint" {
  local endpoint
  make_bond
  configure_rail 'parent = "bond0"'
  start bonded -e IPU_COUNT=4
  endpoint=$(first_endpoint bonded)
  # shellcheck disable=SC2086
  assert_contains "$(inside bonded nc -w 5 $endpoint)" "$(lease_of bonded .partition)"
  assert_equal "$(lease_of bonded '.rails[0].rdma.device')" rxe0
  assert_equal "$(cat "$CLASS/rxe0/ports/1/gids/$(lease_of bonded '.rails[0].rdma.gid_index')")" "$(gid_of "$(address_in bonded)")"
  assert_resolves bonded "${endpoint% *}"
}

@test "a parent that is part of a bond is refused, with the bond's name" {
  make_bond
  assert_refused -e IPU_COUNT=4 -- rnic0 bond0
  report "$(grep -o 'ipu: .*' <<<"$output")"
}

@test "a parent with an ipvlan is refused" {
  modprobe ipvlan
  ip link add link rnic0 name ipvlan0 type ipvlan
  assert_refused -e IPU_COUNT=4 -- rnic0 ipvlan
  report "$(grep -o 'ipu: .*' <<<"$output")"
}

@test "a wireless parent is refused, and ipuctl doctor says so" {
  modprobe mac80211_hwsim radios=1
  wait_until 10 test -e /sys/class/net/wlan0
  ip link set wlan0 up
  configure_rail 'parent = "wlan0"'
  assert_refused -e IPU_COUNT=4 -- wlan0 wireless
  run -1 ipuctl doctor
  assert_contains "$(grep wlan0 <<<"$output")" wireless
  report "$(grep wlan0 <<<"$output")"
}

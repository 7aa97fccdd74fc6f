#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A rail with one RDMA device per container, and RDMA traffic between two containers on it. The functions
# vf0 and vf1 are macvlans with software RoCE each, which follow_rxe.sh keeps with its interface.

load support

FUNCTIONS=(vf0 vf1)

setup_file() {
  local name
  # Software RoCE on a macvlan's parent has the macvlan's addresses too, and rdma_cm would choose it.
  rdma link delete rxe0
  for name in "${FUNCTIONS[@]}"; do
    ip link add link rnic0 name "$name" mtu 9000 type macvlan mode bridge
    ip link set "$name" alias "$name" addrgenmode none up
  done
  host_spawn follow "$BATS_TEST_DIRNAME/follow_rxe.sh" "${FUNCTIONS[@]}"
  wait_until 20 functions_are_home
  RAIL_RANGE=10.5.200.220-10.5.200.223 configure_rail 'functions = ["vf0", "vf1"]' \
    'peers = ["10.5.200.220", "10.5.200.221", "10.5.200.222", "10.5.200.223"]'
  start one -e IPU_COUNT=4
  start two -e IPU_COUNT=4
}

teardown_file() {
  local name
  remove_containers
  host_stop follow
  for name in "${FUNCTIONS[@]}"; do
    ip link delete "$name"
  done
  rdma link add rxe0 type rxe netdev rnic0
  configure_rail 'parent = "rnic0"'
  assert_nothing_left
}

functions_are_home() {
  local name
  for name in "${FUNCTIONS[@]}"; do
    [ -e "/sys/class/net/$name" ] && [ -e "$CLASS/rxe-$name" ] || return 1
  done
}

device_in() { lease_of "$1" '.rails[0].rdma.device'; }
gid_index_in() { lease_of "$1" '.rails[0].rdma.gid_index'; }

# What both sides of perftest and pingpong need: their own device and GID.
device_options() { # NAME DEVICE-FLAG INDEX-FLAG
  echo "$2 $(device_in "$1") $3 $(gid_index_in "$1")"
}

# Programs that tell each other their GIDs by TCP do so on docker's network: over roce0 nobody may connect
# to a container.
bridge_address() { docker inspect -f '{{.NetworkSettings.IPAddress}}' "$1"; }

@test "each container has a function as its roce0, and the host has none" {
  local name aliases=
  for name in one two; do
    aliases+="$(nsenter --target "$(docker inspect -f '{{.State.Pid}}' "$name")" --net ip -o link show roce0 | grep -o 'alias vf[01]') "
  done
  assert_equal "$(tr ' ' '\n' <<<"$aliases" | grep vf | sort | paste -sd ' ')" 'vf0 vf1'
  for name in "${FUNCTIONS[@]}"; do
    [ ! -e "/sys/class/net/$name" ]
  done
}

@test "each container can open the RDMA device of its function, and not the other's" {
  local uverbs other
  uverbs=$(uverbs_of "$(device_in one)")
  other=$(uverbs_of "$(device_in two)")
  [ "$uverbs" != "$other" ]
  assert_equal "$(inside one ls /dev/infiniband)" "$(printf 'rdma_cm\n%s' "$uverbs")"
  assert_opens one "/dev/infiniband/$uverbs"
  assert_may_not_open one "/dev/infiniband/$other"
  assert_opens two "/dev/infiniband/$other"
  assert_may_not_open two "/dev/infiniband/$uverbs"
}

@test "lease.json names the GID of the address in the function's own table" {
  local name
  for name in one two; do
    assert_equal "$(cat "$CLASS/$(device_in "$name")/ports/1/gids/$(gid_index_in "$name")")" "$(gid_of "$(address_in "$name")")"
  done
}

@test "rdma_cm resolves the peer and the own IPU-Machine, and no other" {
  local endpoint
  endpoint=$(first_endpoint one)
  assert_resolves one "$(address_in two)"
  assert_resolves one "${endpoint% *}"
  endpoint=$(first_endpoint two)
  assert_does_not_resolve one "${endpoint% *}" "the other tenant's IPU-Machine"
}

@test "ibv_rc_pingpong between two containers" {
  local output
  output=$(between one "ibv_rc_pingpong $(device_options one -d -g) -n 1000" \
    two "ibv_rc_pingpong $(device_options two -d -g) -n 1000 $(bridge_address one)")
  assert_contains "$output" '1000 iters in'
  report "ibv_rc_pingpong: $(grep 'iters in' <<<"$output")"
}

@test "ib_write_bw between two containers" {
  local output
  output=$(between one "ib_write_bw $(device_options one -d -x) -F -n 200" \
    two "ib_write_bw $(device_options two -d -x) -F -n 200 $(bridge_address one)")
  assert_contains "$output" 65536
  report "ib_write_bw: $(awk '$1 == 65536 { print $4 }' <<<"$output") MB/s"
}

@test "ib_write_bw over rdma_cm between two containers" {
  local output
  output=$(between one 'ib_write_bw -R -F -n 200' two "ib_write_bw -R -F -n 200 $(address_in one)")
  assert_contains "$output" 65536
  report "ib_write_bw -R: $(awk '$1 == 65536 { print $4 }' <<<"$output") MB/s"
}

@test "rping between two containers" {
  local output
  output=$(between one "rping -s -C 10 -a $(address_in one)" two "rping -c -v -C 10 -a $(address_in one)")
  assert_equal "$(grep -c '^ping data: rdma-ping-' <<<"$output")" 10
  report "rping: 10 of 10"
}

@test "the frames of RDMA leave by the function, from its own address" {
  local address pid
  address=$(address_in two)
  pid=$(docker inspect -f '{{.State.Pid}}' two)
  nsenter --target "$pid" --net timeout "$LIMIT" tcpdump -lnc 4 -i roce0 udp dst port 4791 and src host "$address" \
    >"$BATS_TEST_TMPDIR/frames" 2>/dev/null &
  local dump=$!
  between one "rping -s -C 20 -a $(address_in one)" two "rping -c -C 20 -a $(address_in one)"
  wait "$dump"
  report "$(tail -n 1 "$BATS_TEST_TMPDIR/frames")"
}

@test "a third container is refused: no function is left" {
  assert_refused -e IPU_COUNT=4 -- vf0
  report "$(grep -o 'ipu: .*' <<<"$output")"
}

@test "when its container has ended, a function is the host's again" {
  docker rm --force one two
  wait_until 20 functions_are_home || fail "$(ip -br link)" "$(rdma link)"
  local name
  for name in "${FUNCTIONS[@]}"; do
    assert_equal "$(ip -4 -o address show dev "$name")" ''
  done
}

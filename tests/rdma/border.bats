#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Software RoCE at the border. The kernel sends its frames as UDP through roce0, so that the parent's chains see them,
# unlike those of RDMA hardware. `mine` and `theirs` are two tenants. The fabric has software RoCE too, and a server at
# the IPU-Machine of each tenant.

load support

PINGS=10
# In seconds: how long a client tries.
PATIENCE=15

setup_file() {
  rdma_on_fabric
  start_tenants
}

teardown_file() {
  stop_tenants
  host_stop server
  in_pod nft delete table netdev far
  in_pod rdma link delete rxe-fabric
  ip -n pod address flush dev fab0
  # With its last address an interface loses its routes.
  ip -n pod route replace 10.5.0.0/16 dev fab0
  configure_rail 'parent = "rnic0"'
  assert_nothing_left
}

# Runs a command of the host in the network of `mine`, or of the fabric.
beside_mine() { nsenter --target "$PID" --net "$@"; }
in_pod() { ip netns exec pod "$@"; }

# The fabric gets its second RDMA device after rxe0, which keeps its number.
rdma_on_fabric() {
  in_pod rdma link add rxe-fabric type rxe netdev fab0
  host_spawn server ip netns exec pod rping -s -P
  in_pod nft -f - <<'END'
table netdev far {
  set arrived { type ipv4_addr; flags dynamic; counter; }
  chain arriving {
    type filter hook ingress device fab0 priority 0;
    udp dport 4791 update @arrived { ip daddr }
  }
}
END
}

# Sets OWN and OTHER, the IPU-Machines of `mine` and `theirs`, and PID and ADDRESS of `mine`. A docker command takes
# seconds here.
start_tenants() {
  local machine
  start mine -e IPU_COUNT=4
  start theirs -e IPU_COUNT=4
  export PID ADDRESS OWN OTHER
  PID=$(docker inspect -f '{{.State.Pid}}' mine)
  ADDRESS=$(address_in mine)
  OWN=$(first_endpoint mine | cut -d ' ' -f 1)
  OTHER=$(first_endpoint theirs | cut -d ' ' -f 1)
  rdma_to_mine
  for machine in "$OWN" "$OTHER"; do
    # Only addresses of the interface itself have GIDs.
    ip -n pod address replace "$machine/32" dev fab0
    wait_until 10 has_gid rxe-fabric "$machine"
  done
}

# Software RoCE on a macvlan's parent receives nothing for the macvlan. Therefore rxe0 moves to the roce0 of `mine`,
# where the container opens it by the device node that it has.
rdma_to_mine() {
  rdma link delete rxe0
  beside_mine rdma link add rxe0 type rxe netdev roce0
  assert_equal "$(inside mine ls /dev/infiniband)" "$(printf 'rdma_cm\n%s' "$(uverbs_of rxe0)")"
  wait_until 10 has_gid rxe0 "$ADDRESS"
}

stop_tenants() {
  remove_containers
  # rxe0 goes with roce0.
  wait_until 10 test ! -e "$CLASS/rxe0"
  rdma link add rxe0 type rxe netdev rnic0
}

has_gid() { ! has_no_gid "$@"; } # DEVICE ADDRESS

# What CAP_NET_ADMIN in the network of `mine` can do: it has no filter, a route to all of the fabric, and needs to ask
# for no MAC.
open_mine() {
  local mac
  mac=$(ip -n pod -j link show fab0 | jq -r '.[0].address')
  beside_mine nft flush ruleset
  beside_mine ip route replace 10.5.0.0/16 dev roce0 metric 1
  beside_mine ip neigh replace "$OTHER" lladdr "$mac" dev roce0 nud permanent
}

# How many pings come back.
count_pings() { grep -c '^ping data: rdma-ping-' || true; }

# How many pings of `mine` come back from an IPU-Machine.
answered_by() { # MACHINE
  inside mine timeout "$PATIENCE" rping -c -v -C "$PINGS" -a "$1" 2>&1 | count_pings
}

# How many pings of an IPU-Machine come back from `mine`.
answered_to() { # MACHINE
  in_pod timeout "$PATIENCE" rping -c -v -C "$PINGS" -I "$1" -a "$ADDRESS" 2>&1 | count_pings
}

# How many frames of RoCE v2 came to the fabric for an IPU-Machine.
arrived_at() { # MACHINE
  in_pod nft -j list set netdev far arrived |
    jq --arg address "$1" '[.. | .elem? | objects | select(.val == $address).counter.packets] | add // 0'
}

# How many frames a rule of the border, in nftables, has counted.
counted() { # CHAIN COMMENT
  nft -j list chain netdev ipu-border "$1" |
    jq --arg comment "$2" '[.nftables[].rule | select(.comment == $comment).expr[].counter.packets] | add'
}

# Fails if frames of `mine` come to the other tenant's IPU-Machine. Software RoCE gives up the queue pair whose frame is
# dropped. Here it is that of all connections, so the device is made anew.
assert_theirs_is_closed() {
  local before
  before=$(arrived_at "$OTHER")
  assert_equal "$(answered_by "$OTHER")" 0
  assert_equal "$(arrived_at "$OTHER")" "$before"
  rdma_to_mine
}

# Shows that the tests with a border would see the frames.
assert_theirs_is_open() {
  local before
  before=$(arrived_at "$OTHER")
  assert_equal "$(answered_by "$OTHER")" "$PINGS"
  [ "$(arrived_at "$OTHER")" -gt "$before" ]
  report "without the border: $(($(arrived_at "$OTHER") - before)) frames arrived"
}

@test "rping to the own IPU-Machine passes the border, which counts both directions" {
  assert_equal "$(answered_by "$OWN")" "$PINGS"
  [ "$(counted from-ipv4 'RoCE v2 to a peer')" -ge "$PINGS" ]
  [ "$(counted to-ipv4 'RoCE v2 from a peer')" -ge "$PINGS" ]
  [ "$(arrived_at "$OWN")" -ge "$PINGS" ]
  report "$(counted from-ipv4 'RoCE v2 to a peer') frames out, $(counted to-ipv4 'RoCE v2 from a peer') in"
}

@test "the border drops and counts RoCE v2 to another tenant's IPU-Machine, when the container's filter is gone" {
  local before
  open_mine
  before=$(counted from-container 'all else')
  assert_theirs_is_closed
  [ "$(counted from-container 'all else')" -gt "$before" ]
  report "$(($(counted from-container 'all else') - before)) frames dropped, none arrived"
  assert_equal "$(answered_by "$OWN")" "$PINGS"
}

@test "the border drops and counts RoCE v2 from another tenant's IPU-Machine" {
  local before
  docker exec --detach mine rping -s -P
  wait_until 10 listens mine
  ip -n pod neigh replace "$ADDRESS" lladdr "$(lease_of mine '.rails[0].mac')" dev fab0 nud permanent
  assert_equal "$(answered_to "$OWN")" "$PINGS"
  before=$(counted to-container 'all else')
  assert_equal "$(answered_to "$OTHER")" 0
  [ "$(counted to-container 'all else')" -gt "$before" ]
  report "$(($(counted to-container 'all else') - before)) frames dropped"
  nft delete table netdev ipu-border
  assert_equal "$(answered_to "$OTHER")" "$PINGS"
  inside mine killall rping
}

@test "without the border, RoCE v2 to another tenant's IPU-Machine arrives" {
  assert_theirs_is_open
}

@test "the border by tc: RoCE v2 passes to the own IPU-Machine, and to no other" {
  stop_tenants
  sed -i 's/^\[network\]$/&\nfilter = "tc"/' "$PRODUCT_CONFIG"
  start_tenants
  open_mine
  assert_contains "$(tc filter show dev rnic0 egress)" ipu-border
  assert_equal "$(answered_by "$OWN")" "$PINGS"
  assert_theirs_is_closed
  tc qdisc delete dev rnic0 clsact
  assert_theirs_is_open
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Containers that share the RDMA device of the rail's RNIC, on real device nodes, cgroups v2 and systemd.

load support

setup_file() {
  start bridged -e IPU_COUNT=4
  start alone -e IPU_COUNT=4 --net=none
  docker run --detach --name plain --device /dev/infiniband/rdma_cm --device "/dev/infiniband/$(uverbs_of rxe0)" \
    busybox sleep 3600
}

teardown_file() {
  remove_containers
  assert_nothing_left
}

@test "the machine: RDMA devices are shared, cgroups are v2, systemd is pid 1" {
  assert_contains "$(rdma system show)" 'netns shared'
  assert_equal "$(stat -f -c %T /sys/fs/cgroup)" cgroup2fs
  assert_equal "$(cat /proc/1/comm)" systemd
  assert_contains "$(docker info -f '{{.CgroupDriver}} {{.CgroupVersion}}')" 'systemd 2'
  report "kernel $(uname -r), docker $(docker version -f '{{.Server.Version}}'), $(rdma system show)"
}

@test "a container has the rail's uverbs and rdma_cm, and no other RDMA device" {
  local name node
  for name in bridged alone; do
    assert_equal "$(inside "$name" ls /dev/infiniband)" "$(printf 'rdma_cm\n%s' "$(uverbs_of rxe0)")"
    for node in rdma_cm "$(uverbs_of rxe0)"; do
      assert_equal "$(inside "$name" stat -c %t:%T "/dev/infiniband/$node")" "$(node_number "/dev/infiniband/$node")"
    done
  done
}

@test "a container can open its RDMA devices, and not umad" {
  local name
  for name in bridged alone; do
    assert_opens "$name" /dev/infiniband/rdma_cm
    assert_opens "$name" "/dev/infiniband/$(uverbs_of rxe0)"
    assert_may_not_open "$name" /dev/infiniband/umad0
  done
}

@test "ibv_devinfo in a container shows the rail's device with an active port, and no other" {
  local devices
  devices=$(inside alone ibv_devinfo)
  assert_equal "$(grep -c hca_id <<<"$devices")" 1
  assert_contains "$devices" rxe0
  assert_contains "$devices" PORT_ACTIVE
}

@test "lease.json names device, port, and the index of the address's RoCE v2 GID" {
  local name index gid
  for name in bridged alone; do
    assert_equal "$(lease_of "$name" '.rails[0].rdma.device')" rxe0
    assert_equal "$(lease_of "$name" '.rails[0].rdma.port')" 1
    assert_equal "$(lease_of "$name" '.rails[0].rdma.gid_type')" 'RoCE v2'
    index=$(lease_of "$name" '.rails[0].rdma.gid_index')
    gid=$(gid_of "$(address_in "$name")")
    assert_equal "$(cat "$CLASS/rxe0/ports/1/gids/$index")" "$gid"
    assert_equal "$(cat "$CLASS/rxe0/ports/1/gid_attrs/types/$index")" 'RoCE v2'
    assert_equal "$(inside "$name" cat "$CLASS/rxe0/ports/1/gids/$index")" "$gid"
  done
  gid_table rxe0 | while IFS= read -r entry; do report "GID $entry"; done
}

@test "an address takes one entry of the GID table" {
  local name
  for name in bridged alone; do
    assert_equal "$(gid_table rxe0 | grep -c " $(gid_of "$(address_in "$name")") ")" 1
  done
  assert_equal "$(gid_table rxe0 | grep -c ' roce0 ')" 2
}

@test "the devices survive systemctl daemon-reload" {
  systemctl daemon-reload
  assert_opens bridged /dev/infiniband/rdma_cm
  assert_opens bridged "/dev/infiniband/$(uverbs_of rxe0)"
  assert_may_not_open bridged /dev/infiniband/umad0
}

@test "the devices survive docker update" {
  docker update --cpus 1 bridged
  assert_equal "$(inside bridged cat /sys/fs/cgroup/cpu.max)" '100000 100000'
  assert_opens bridged /dev/infiniband/rdma_cm
  assert_opens bridged "/dev/infiniband/$(uverbs_of rxe0)"
  assert_may_not_open bridged /dev/infiniband/umad0
}

@test "rdma_cm resolves an IPU-Machine of the own partition" {
  local name endpoint
  for name in bridged alone; do
    endpoint=$(first_endpoint "$name")
    assert_resolves "$name" "${endpoint% *}"
    assert_resolves "$name" "${endpoint% *}" "$(address_in "$name")"
  done
}

@test "rdma_cm on the host resolves what the next tests forbid a container" {
  local endpoint
  endpoint=$(first_endpoint alone)
  assert_equal "$(/usr/local/libexec/resolve "${endpoint% *}")" resolved
  assert_equal "$(/usr/local/libexec/resolve 10.5.1.77)" resolved
}

@test "rdma_cm does not resolve another tenant's IPU-Machine" {
  local endpoint
  endpoint=$(first_endpoint alone)
  assert_does_not_resolve bridged "${endpoint% *}" "the other tenant's IPU-Machine"
  endpoint=$(first_endpoint bridged)
  assert_does_not_resolve alone "${endpoint% *}" "the other tenant's IPU-Machine"
}

@test "rdma_cm does not resolve an IPU-Machine that is nobody's" {
  assert_does_not_resolve bridged 10.5.1.77 'an IPU-Machine of nobody'
}

@test "rdma_cm does not resolve another container" {
  assert_does_not_resolve bridged "$(address_in alone)" 'the other container'
  assert_does_not_resolve alone "$(address_in bridged)" 'the other container'
}

@test "rdma_cm does not resolve the host or the controller" {
  local name target
  for name in bridged alone; do
    for target in 10.5.200.1 10.1.3.1 172.17.0.1 10.1.3.101; do
      assert_does_not_resolve "$name" "$target" "the host or the controller"
    done
  done
}

@test "a GID is gone from the table when its container is" {
  local address
  start short -e IPU_COUNT=1
  address=$(address_in short)
  assert_contains "$(gid_table rxe0)" "$(gid_of "$address")"
  docker rm --force short
  wait_until 10 has_no_gid rxe0 "$address" || fail "still there: $(gid_table rxe0)"
}

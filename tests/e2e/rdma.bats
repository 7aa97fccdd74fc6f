#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host whose rail has an RDMA device, as far as that can be without one: see fake_rdma.bash.

load support
load fake_rdma

setup_file() {
  # The address that the next container gets.
  fake_rdma_up 10.5.203.1
  host_config
  in_host sed -i 's/^range = .*/range = "10.5.203.1-10.5.203.2"/' /etc/ipu-container-toolkit/config.toml
  start rdma -e IPU_COUNT=4
}

teardown_file() {
  host_config
  remove_containers
  fake_rdma_down
}

@test "the container has the rail's uverbs and rdma_cm, and no other RDMA device" {
  assert_equal "$(inside rdma ls /dev/infiniband)" 'rdma_cm
uverbs3'
  assert_equal "$(inside rdma stat -c '%t:%T' /dev/infiniband/uverbs3)" e7:c3
  assert_equal "$(inside rdma stat -c '%t:%T' /dev/infiniband/rdma_cm)" a:3a
}

@test "the device cgroup lets the container open them" {
  # No driver is behind the node: that the kernel says so means that the cgroup let it through.
  run inside rdma cat /dev/infiniband/uverbs3
  assert_contains "$output" 'No such device or address'
}

@test "the device cgroup lets the container open no other RDMA device" {
  inside rdma mknod /tmp/umad c 231 3
  run inside rdma cat /tmp/umad
  assert_contains "$output" 'Operation not permitted'
}

@test "lease.json names the RDMA device and its port" {
  assert_equal "$(lease_of rdma '.rails[0].rdma.device')" mlx5_2
  assert_equal "$(lease_of rdma '.rails[0].rdma.port')" 1
}

@test "lease.json names the GID of the container's address" {
  assert_equal "$(address_in rdma)" 10.5.203.1
  assert_equal "$(lease_of rdma '.rails[0].rdma.gid_index')" 9
  assert_equal "$(lease_of rdma '.rails[0].rdma.gid_type')" 'RoCE v2'
}

@test "a container whose GID never comes is refused, and nothing of it stays" {
  in_host sed -i '/^parent/a max_gids = 64' /etc/ipu-container-toolkit/config.toml
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\ngid_wait = "200ms"'
  assert_refused -e IPU_COUNT=4 -- 'mlx5_2' 'no RoCE v2 GID for 10.5.203.2' gid_wait
  wait_until 10 has_leases 1
}

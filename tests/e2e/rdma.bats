#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host whose rail has an RDMA device. The kernel here has none, so the host's sysfs tells of one; the
# device nodes, the cgroup rules and the refusals are real.

load support

setup_file() {
  # shellcheck disable=SC2016
  in_host sh -c '
    set -e
    class=/run/fake-class
    mkdir -p $class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs $class/misc/rdma_cm \
      $class/infiniband_verbs/uverbs3 $class/infiniband_mad/umad3
    echo rnic0 >$class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/0
    echo mlx5_2 >$class/infiniband_verbs/uverbs3/ibdev
    echo 231:195 >$class/infiniband_verbs/uverbs3/dev
    echo 10:58 >$class/misc/rdma_cm/dev
    mount -t overlay overlay -o lowerdir=$class:/sys/class /sys/class'
  start rdma -e IPU_COUNT=4
}

teardown_file() {
  remove_containers
  in_host umount /sys/class
  in_host rm -r /run/fake-class
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

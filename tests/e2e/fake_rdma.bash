# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests of a host whose rail has an RDMA device. The kernel here has none, so the host's sysfs tells of
# one, mlx5_2; the device nodes, the cgroup rules and the refusals are real.

# The RNIC's table holds a GID for each ADDRESS, of those that containers get, as if it were theirs.
fake_rdma_up() { # ADDRESS...
  # shellcheck disable=SC2016
  host_run sh -c '
    set -e
    class=/run/fake-class
    port=$class/infiniband/mlx5_2/ports/1
    mkdir -p $port/gid_attrs/ndevs $port/gid_attrs/types $port/gids $class/misc/rdma_cm \
      $class/infiniband_verbs/uverbs3 $class/infiniband_mad/umad3
    echo mlx5_2 >$class/infiniband_verbs/uverbs3/ibdev
    echo 231:195 >$class/infiniband_verbs/uverbs3/dev
    echo 10:58 >$class/misc/rdma_cm/dev
    set_gid() { # INDEX ADDRESS INTERFACE
      printf "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n" $(echo "$2" | tr . " ") >$port/gids/$1
      echo "RoCE v2" >$port/gid_attrs/types/$1
      echo "$3" >$port/gid_attrs/ndevs/$1
    }
    set_gid 0 10.5.200.1 rnic0
    for empty in 1 2 3; do echo 0000:0000:0000:0000:0000:0000:0000:0000 >$port/gids/$empty; done
    index=9
    for address; do
      set_gid $index $address roce0
      index=$((index + 1))
    done
    mount -t overlay overlay -o lowerdir=$class:/sys/class /sys/class' sh "$@"
}

fake_rdma_down() {
  host_run umount /sys/class
  host_run rm -r /run/fake-class
}

# A container has what it asked for: its user can read the files, reach the IPUs, open the devices.
assert_works() { # NAME
  local endpoint partition
  partition=$(lease_of "$1" .partition)
  endpoint=$(first_endpoint "$1")
  # shellcheck disable=SC2086
  assert_contains "$(inside "$1" nc -w 2 $endpoint)" "$partition"
  assert_contains "$(inside "$1" ip -o -4 address show roce0)" " $(address_in "$1")/32"
  assert_may_open "$1"
}

# No driver is behind the nodes: that the kernel says so means that mode and cgroup let it through.
assert_may_open() { # NAME
  local node
  for node in uverbs3 rdma_cm; do
    run inside "$1" dd if=/dev/infiniband/$node of=/dev/null count=1
    # shellcheck disable=SC2154
    assert_contains "$output" 'No such device'
  done
}

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

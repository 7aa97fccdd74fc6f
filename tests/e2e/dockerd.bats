#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Options of dockerd itself: user namespaces, and ours as the default runtime.

load support
load fake_rdma

setup_file() {
  fake_rdma_up 10.5.204.{1..20}
  host_config
  in_host sed -i 's/^range = .*/range = "10.5.204.1-10.5.204.20"/' /etc/ipu-container-toolkit/config.toml
  in_host cp -a /etc/passwd /etc/group /run/
  in_host touch /etc/subuid /etc/subgid
  in_host cp -a /etc/subuid /etc/subgid /run/
  in_host sh -c 'echo remap:x:100000:100000::/:/bin/false >>/etc/passwd
    echo remap:x:100000: >>/etc/group
    echo remap:100000:65536 | tee -a /etc/subuid >>/etc/subgid'
  # A sysfs can be mounted in a user namespace only where all of one is seen, and the fake covers a part.
  in_host mkdir /run/sysfs
  in_host mount -t sysfs sysfs /run/sysfs
  # In a user namespace a container's device node is the host's, with its mode.
  in_host mkdir -p /dev/infiniband
  in_host mknod --mode=0666 /dev/infiniband/uverbs3 c 231 195
  in_host mknod --mode=0666 /dev/infiniband/rdma_cm c 10 58
}

teardown_file() {
  docker_stop
  in_host umount /run/sysfs
  in_host rm -r /run/sysfs /dev/infiniband
  in_host rm -rf /var/lib/docker/100000.100000
  in_host mv /run/passwd /run/group /run/subuid /run/subgid /etc/
  host_config
  fake_rdma_down
  docker_start
}

teardown() {
  remove_containers
  assert_nothing_left
}

restart_docker() { # OPTION...
  # shellcheck disable=SC2034 # of host.sh
  local DOCKER_OPTIONS=("$@")
  docker_stop
  docker_start
}

# The host's user that is root in a container.
root_of() { # NAME
  local root
  read -r _ root _ < <(inside "$1" cat /proc/1/uid_map)
  echo "$root"
}

@test "--userns-remap: a container's root is another user of the host, and has its IPUs" {
  restart_docker --userns-remap remap:remap
  start job -e IPU_COUNT=4
  assert_equal "$(root_of job)" 100000
  assert_works job
  docker restart --time 1 job
  assert_works job
}

@test "--userns-remap: a container without a request, and one with --userns=host" {
  restart_docker --userns-remap remap:remap
  docker run --rm --runtime=ipu busybox test ! -e /run/ipu
  start job --userns=host -e IPU_COUNT=4
  assert_equal "$(root_of job)" 0
  assert_works job
}

@test "as the default runtime: BuildKit builds with runc, and an image's request takes no IPUs until it runs" {
  restart_docker --default-runtime ipu
  in_host mkdir -p /run/build
  in_host tee /run/build/Dockerfile >/dev/null <<'END'
FROM busybox
ENV IPU_COUNT=4
RUN test ! -e /run/ipu/lease.json
END
  in_host env DOCKER_BUILDKIT=1 timeout "$LIMIT" docker build --quiet --tag asks /run/build
  in_host rm -r /run/build
  docker run --rm asks test -e /run/ipu/lease.json
}

@test "as the default runtime: the old builder builds with IPUs, and leaves no file of ours in the image" {
  restart_docker --default-runtime ipu
  in_host mkdir -p /run/build
  in_host tee /run/build/Dockerfile >/dev/null <<'END'
FROM busybox
ENV IPU_COUNT=4
RUN test -s /run/ipu/lease.json && test -s /etc/ipuof.conf.d/ipuof.conf
END
  in_host env DOCKER_BUILDKIT=0 timeout "$LIMIT" docker build --quiet --tag built /run/build
  in_host rm -r /run/build
  run -0 docker run --rm --runtime=runc built find /run/ipu /etc/ipuof.conf.d ! -type d
  assert_equal "$output" ''
}

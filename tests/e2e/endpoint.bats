#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The V-IPU endpoint of a container, asked by a program that asks as poprun does.

load support

LIBRARIES=(-v /run/launcher:/bin/launcher:ro -v /lib:/lib:ro -v /lib64:/lib64:ro -v /usr/lib:/usr/lib:ro)

teardown() {
  remove_containers
  remove_partitions
  assert_nothing_left
  assert_equal "$(in_host pgrep -x ipu-vipu-endpoi || true)" ''
}

# A container with an endpoint, in which the launcher can run.
serve() { # NAME [DOCKER-OPTION...]
  local name=$1
  shift
  start "$name" -e IPU_VIPU_ENDPOINT=1 "${LIBRARIES[@]}" "$@"
}

endpoint_pids() { in_host pgrep -x ipu-vipu-endpoi; } # the kernel cuts the name
has_endpoints() { [ "$(endpoint_pids | wc -l)" = "$1" ]; }

ask() { # NAME METHOD PARTITION
  inside "$1" launcher call 127.0.0.1:8090 "${@:2}"
}

@test "poprun's calls: a partition of two GCDs, one rank for each, and all IPUs are reached" {
  ipuctl partition create p0 --size 8 --gcds 2
  serve whole -e IPU_PARTITION=p0 -e IPU_GCD=all
  assert_equal "$(lease_of whole .vipu_endpoint)" 127.0.0.1:8090
  run -0 inside whole launcher run localhost:8090 p0 2
  assert_contains "$output" 'server version '
  assert_contains "$output" 'partition p0: 8 IPUs in 2 GCDs'
  assert_contains "$output" 'rank of GCD 0: GCD Id 0, 4 of 4 IPUs'
  assert_contains "$output" 'rank of GCD 1: GCD Id 1, 4 of 4 IPUs'
  # Without the variables of a rank, each GCD has its file.
  assert_equal "$(inside whole sh -c 'ls /etc/ipuof.conf.d | wc -l')" 2
}

@test "a partition of its own: one GCD, and IPU_GCD=all changes nothing" {
  local partition
  serve own -e IPU_COUNT=4 -e IPU_GCD=all
  partition=$(lease_of own .partition)
  run -0 inside own launcher run 127.0.0.1:8090 "$partition" 1
  assert_contains "$output" 'rank of GCD 0: GCD Id 0, 4 of 4 IPUs'
}

@test "without IPU_VIPU_ENDPOINT nothing listens" {
  start plain -e IPU_COUNT=4
  assert_equal "$(endpoint_pids || true)" ''
  run inside plain nc -w 2 127.0.0.1 8090
  [ "$status" -ne 0 ]
}

@test "it runs as its own user, without capabilities, with few descriptors, and is small" {
  local pid
  in_host sh <packaging/make_user.sh
  serve own -e IPU_COUNT=4
  pid=$(endpoint_pids)
  assert_equal "$(in_host ps -o user:20= -p "$pid" | tr -d ' ')" ipu-vipu-endpoint
  # shellcheck disable=SC2016
  assert_equal "$(in_host awk '/^Cap(Inh|Prm|Eff|Bnd|Amb)/ { print $2 }' "/proc/$pid/status" | sort -u)" 0000000000000000
  # shellcheck disable=SC2016
  assert_equal "$(in_host awk '/^(NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$pid/status" | paste -sd ' ')" '1 2'
  # 0 the answers, 2 /dev/null, 3 the socket, 4 the container's first process; the rest is gRPC's own.
  [ "$(in_host sh -c "ls -l /proc/$pid/fd | grep -c -e socket:")" -le 2 ]
  # shellcheck disable=SC2016
  [ "$(in_host awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")" -lt 40000 ]
}

@test "it ends with the container, however that ends" {
  serve stopped -e IPU_COUNT=4
  has_endpoints 1
  docker rm --force stopped
  wait_until 10 has_endpoints 0
  serve killed -e IPU_COUNT=4
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' killed)"
  wait_until 10 has_endpoints 0
  wait_until 10 has_leases 0
}

@test "one that died does not keep the container or its lease" {
  serve own -e IPU_COUNT=4
  in_host kill -KILL "$(endpoint_pids)"
  wait_until 10 has_endpoints 0
  ipuctl gc
  assert_equal "$(leases)" 1
  docker rm --force own
  wait_until 10 has_leases 0
}

@test "a container that cannot have one is refused in one line" {
  ipuctl partition create p0 --size 8 --gcds 2
  assert_refused -e IPU_VIPU_ENDPOINT=1 -e IPU_PARTITION=p0 -e IPU_GCD=0 -- "IPU_VIPU_ENDPOINT='1' is not accepted" 'give IPU_GCD=all too'
  assert_refused -e IPU_VIPU_ENDPOINT=yes -e IPU_COUNT=4 -- 'give 0 or 1'
  start other -e IPU_COUNT=4 -e IPU_VIPU_ENDPOINT=1
  run -125 docker run --rm --runtime=ipu --network=container:other -e IPU_VIPU_ENDPOINT=1 -e IPU_COUNT=4 busybox true
  assert_contains "$output" 'port 8090 of 127.0.0.1 is in use'
  wait_until 10 has_leases 1
  has_endpoints 1
}

@test "a missing program fails the start, and leaves nothing" {
  local program=/usr/local/libexec/ipu-container-toolkit/ipu-vipu-endpoint
  in_host mv "$program" "$program.away"
  run -125 docker run --rm --runtime=ipu -e IPU_VIPU_ENDPOINT=1 -e IPU_COUNT=4 busybox true
  in_host mv "$program.away" "$program"
  assert_contains "$output" "start '$program': execute it: No such file or directory"
  wait_until 10 has_leases 0
}

@test "the administrator can forbid it" {
  in_host sed -i '$ a [policy]\nvipu_endpoint = false' /etc/ipu-container-toolkit/config.toml
  run -125 docker run --rm --runtime=ipu -e IPU_VIPU_ENDPOINT=1 -e IPU_COUNT=4 busybox true
  in_host sed -i '/^\[policy\]$/,$ d' /etc/ipu-container-toolkit/config.toml
  assert_contains "$output" 'policy.vipu_endpoint of this host is false'
}

@test "a connection that is left open, and more than it takes, keep nobody from a later call" {
  serve own -e IPU_COUNT=4
  for _ in $(seq 20); do
    inside own sh -c 'nc 127.0.0.1 8090 </dev/zero >/dev/null 2>&1 & sleep 0.1; kill $!' || true
  done
  run -0 ask own list x
}

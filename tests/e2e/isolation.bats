#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a container with IPUs must not reach, by whatever it does in its own namespaces. Two tenants run at
# once: `bridged` on docker's bridge, `alone` with --net=none. A container without IPUs shows that each
# target would answer.

load support

setup_file() {
  docker run --detach --runtime=runc --name plain busybox sleep 3600
  start bridged -e IPU_COUNT=4
  start alone -e IPU_COUNT=4 --net=none
}

teardown_file() {
  remove_containers
  assert_nothing_left
}

# The addresses of the host, each with a server on port 9999.
HOST_ADDRESSES='10.5.200.1 10.1.3.1 172.17.0.1'

@test "each target answers a container without IPUs" {
  local endpoint host
  for endpoint in "$(first_endpoint bridged)" "$(first_endpoint alone)"; do
    # shellcheck disable=SC2086
    assert_contains "$(inside plain nc -w 2 $endpoint)" 'c-'
  done
  inside plain nc -w 2 10.1.3.101 8090
  for host in $HOST_ADDRESSES; do
    assert_equal "$(inside plain nc -w 2 "$host" 9999)" 'the host'
  done
}

@test "dial reaches the own endpoint in each way that the other tests try" {
  local endpoint name
  for name in bridged alone; do
    endpoint=$(first_endpoint "$name")
    # shellcheck disable=SC2086
    {
      inside "$name" dial $endpoint
      inside "$name" dial $endpoint "$(address_in "$name")"
      inside "$name" dial $endpoint 0.0.0.0 roce0
    }
  done
}

@test "two tenants have different partitions, IPUs and addresses" {
  [ "$(lease_of bridged .partition)" != "$(lease_of alone .partition)" ]
  [ "$(address_in bridged)" != "$(address_in alone)" ]
  assert_equal "$({ endpoints bridged; endpoints alone; } | sort -u | wc -l)" 8
}

@test "each tenant reaches its own endpoints" {
  local name endpoint targets
  for name in bridged alone; do
    mapfile -t targets < <(endpoints "$name")
    assert_equal "${#targets[@]}" 4
    for endpoint in "${targets[@]}"; do
      # shellcheck disable=SC2086
      assert_contains "$(inside "$name" nc -w 2 $endpoint)" "$(lease_of "$name" .partition)"
    done
  done
}

@test "on docker's bridge: the other tenant's endpoint is out of reach" {
  # shellcheck disable=SC2046
  assert_unreachable bridged $(first_endpoint alone)
}

@test "with --net=none: the other tenant's endpoint is out of reach" {
  # shellcheck disable=SC2046
  assert_unreachable alone $(first_endpoint bridged)
}

@test "an endpoint of another partition on the own IPU-Machine is out of reach" {
  local machine own port
  start half -e IPU_COUNT=2
  start other -e IPU_COUNT=2
  own=$(first_endpoint half)
  read -r machine port <<<"$(first_endpoint other)"
  assert_equal "$machine" "${own% *}"
  assert_unreachable half "$machine" "$port"
  docker rm --force half other
}

@test "on docker's bridge: the controller is out of reach" {
  assert_unreachable bridged 10.1.3.101 8090
}

@test "with --net=none: the controller is out of reach" {
  assert_unreachable alone 10.1.3.101 8090
}

@test "on docker's bridge: the host's addresses are out of reach" {
  local host
  for host in $HOST_ADDRESSES; do
    assert_unreachable bridged "$host" 9999
  done
}

@test "with --net=none: the host's addresses are out of reach" {
  local host
  for host in $HOST_ADDRESSES; do
    assert_unreachable alone "$host" 9999
  done
}

@test "tenants do not reach each other over the fabric" {
  in_host docker exec --detach alone nc -ll -p 7777 -e echo neighbour
  wait_until 5 inside alone nc -w 1 127.0.0.1 7777
  assert_unreachable bridged "$(address_in alone)" 7777
}

@test "a tenant cannot change its address, routes or filter" {
  local name
  for name in bridged alone; do
    run ! inside "$name" ip address add 10.5.200.99/32 dev roce0
    run ! inside "$name" ip route add 10.5.1.0/24 dev roce0
    run ! inside "$name" ip link set roce0 address 02:00:00:00:00:01
  done
}

@test "docker's own network works: the bridge forwards to a container without IPUs" {
  docker run --detach --runtime=runc --name server busybox nc -ll -p 80 -e echo served
  local address
  address=$(docker inspect -f '{{.NetworkSettings.IPAddress}}' server)
  wait_until 5 inside plain nc -w 1 "$address" 80
  assert_equal "$(inside bridged nc -w 2 "$address" 80)" served
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A tenant with a V-IPU endpoint, which asks it for what is not its own.

load attack

LIBRARIES=(-v /run/launcher:/bin/launcher:ro -v /lib:/lib:ro -v /lib64:/lib64:ro -v /usr/lib:/usr/lib:ro)
CONTROLLER=10.1.3.101:8090

teardown() {
  remove_containers
  remove_partitions
  assert_nothing_left
}

serve() { # NAME [DOCKER-OPTION...]
  start "$1" -e IPU_VIPU_ENDPOINT=1 "${LIBRARIES[@]}" "${@:2}"
}

# What a program on the host gets from the controller, and a container from its endpoint.
from_host() { answer "$1" refused in_host /run/launcher call "$CONTROLLER" "${@:2}"; } # YES METHOD PARTITION
from_tenant() { answer "$1" refused inside tenant launcher call 127.0.0.1:8090 "${@:2}"; }

# Whether a list names the victim's partition.
list_from_host() { in_host /run/launcher call "$CONTROLLER" list x | grep -q victim && echo listed || echo hidden; }
list_from_tenant() { inside tenant launcher call 127.0.0.1:8090 list x | grep -q victim && echo listed || echo hidden; }

@test "attack: the list of all partitions, from a V-IPU endpoint" {
  row - 'a container with IPU_VIPU_ENDPOINT=1'
  ipuctl partition create victim --size 4
  undefended listed list_from_host
  serve tenant -e IPU_COUNT=4
  defended hidden list_from_tenant
}

@test "attack: the IPUoF configuration of another tenant's partition, from a V-IPU endpoint" {
  row - 'a container with IPU_VIPU_ENDPOINT=1'
  ipuctl partition create victim --size 4
  undefended read from_host read config victim
  serve tenant -e IPU_COUNT=4
  defended refused from_tenant read config victim
  assert_equal "$(from_tenant read status victim)" refused
}

@test "attack: a reset and a removal of a partition, through a V-IPU endpoint" {
  local own method
  row - 'a container with IPU_VIPU_ENDPOINT=1'
  ipuctl partition create victim --size 4
  serve tenant -e IPU_COUNT=4
  own=$(lease_of tenant .partition)
  undefended reset from_host reset reset victim
  defended refused from_tenant reset reset victim
  for method in reset remove create; do
    assert_equal "$(from_tenant changed "$method" victim)" refused
    assert_equal "$(from_tenant changed "$method" "$own")" refused
  done
  assert_equal "$(ipuctl partition show victim -o json | jq -r .state)" ACTIVE
}

@test "attack: the V-IPU endpoint of another container" {
  row - 'a container'
  serve tenant -e IPU_COUNT=4
  start other -e IPU_COUNT=4 "${LIBRARIES[@]}"
  undefended read from_tenant read list x
  # It listens on the loopback address of its own namespace alone.
  other() { answer read refused inside other launcher call "$1" list x; }
  defended refused other 127.0.0.1:8090
  assert_equal "$(other "$(address_in tenant):8090")" refused
  assert_equal "$(other "$(docker inspect -f '{{.NetworkSettings.IPAddress}}' tenant):8090")" refused
}

@test "attack: a way out of the namespace, in the place of a V-IPU endpoint" {
  local pid
  row - 'the process ipu-vipu-endpoint'
  serve tenant -e IPU_COUNT=4
  # What it could do if it were taken over: its filter kills or refuses what makes a socket or a process.
  pid=$(in_host pgrep -x ipu-vipu-endpoi)
  has_filter() { answer confined free in_host grep -q '^Seccomp_filters:.*[1-9]' "/proc/$1/status"; }
  undefended free has_filter 1
  defended confined has_filter "$pid"
  # It has the socket that the hook made in the container's namespace, and none of the host's.
  local inside inodes
  inside=/proc/$(docker inspect -f '{{.State.Pid}}' tenant)/net
  inodes=$(in_host sh -c "ls -l /proc/$pid/fd" | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p' | paste -sd '|')
  [ -n "$inodes" ]
  in_host grep -qwE "$inodes" "$inside/tcp"
  run -1 in_host grep -wE "$inodes" /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6
}

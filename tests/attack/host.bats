#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a container reaches by way of the host: what the host forwards, its services, the controller, and the moments
# in which somebody removed the guard. `victim` has IPUs, `plain` has none.

load attack

NOBODY='a container without IPUs'

# A router of IPv6 has the anycast address of its subnets.
IPV6_ROUTER=/proc/sys/net/ipv6/conf/all/forwarding

# Docker gives a container IPv4 alone.
add_ipv6() { # NAME ADDRESS
  # shellcheck disable=SC2016
  in_host nsenter --net="/proc/$(docker inspect -f '{{.State.Pid}}' "$1")/ns/net" sh -c '
    echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
    ip -6 address add "$1/64" dev eth0 nodad' sh "$2"
}

setup_file() {
  in_host sh -c "cat $IPV6_ROUTER >/run/router.before; echo 1 >$IPV6_ROUTER"
  in_host ip -6 address add fd00:30::1/64 dev docker0 nodad
  host_spawn answering /run/attack/intruder serve 9998
  start victim -e IPU_COUNT=4 -v /run/attack:/run/attack:ro
  docker run --detach --runtime=runc --name plain -v /run/attack:/run/attack:ro busybox sleep 3600
  add_ipv6 victim fd00:30::2
  add_ipv6 plain fd00:30::3
}

teardown_file() {
  in_host ip -6 address del fd00:30::1/64 dev docker0
  in_host sh -c "cat /run/router.before >$IPV6_ROUTER; rm /run/router.before"
  host_stop answering
  remove_containers
  assert_nothing_left
}

teardown() { host_config; }

configure() { # TEXT: further lines of the configuration
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<"$1"
}

guard_forwarding() { # VALUE
  host_config
  configure $'[network]\nguard_forwarding = '"$1"
  ipuctl gc >/dev/null
}

# Whether ADDRESS PORT answers the container.
dialled() { # NAME ADDRESS PORT
  answer reached unreachable inside "$1" nc -w 1 "${@:2}"
}

@test "attack: a connection to the IPU-Machine of a tenant, forwarded by the host" {
  row - "$NOBODY"
  # shellcheck disable=SC2046
  {
    undefended reached dialled plain $(first_endpoint victim)
    guard_forwarding true
    defended unreachable dialled plain $(first_endpoint victim)
    in_host busybox nc -w 2 $(first_endpoint victim)
  }
}

@test "attack: a connection to the controller, forwarded by the host" {
  row - "$NOBODY"
  guard_forwarding false
  undefended reached dialled plain 10.1.3.101 8090
  guard_forwarding true
  defended unreachable dialled plain 10.1.3.101 8090
  in_host busybox nc -w 2 10.1.3.101 8090
  guard_forwarding false
}

heard_by_host() { # NAME ADDRESS...: the first result that differs from the others is seen
  local name=$1 address
  shift
  for address in "$@"; do
    inside "$name" /run/attack/intruder udp "$address" 9998
  done | sort -u
}

# The answer of a service of the host would open the host's address to the container.
@test "attack: UDP packets to the host by broadcast, multicast and anycast" {
  # Of docker's network, of the controller's and of the fabric.
  local ways='172.17.255.255 255.255.255.255 10.1.3.255 10.5.255.255 224.0.0.1 ff02::1 fd00:30::'
  row - 'a container with IPUs'
  # shellcheck disable=SC2086
  {
    undefended answered heard_by_host plain $ways
    defended 'not permitted' heard_by_host victim $ways
  }
}

# ---- somebody removes the guard --------------------------------------------------------------------

@test "attack: a connection to the IPU-Machine of a tenant, forwarded after a flush of the packet filter" {
  row - "$NOBODY"
  guard_forwarding true
  assert_equal "$(forwarded)" unreachable
  in_host /run/attack/raw flush 1 ipu-guard
  undefended reached forwarded
  host_spawn watch setpriv --no-new-privs --bounding-set=-all,+net_admin ipuctl border watch
  defended 'closed within 5 s' closed_again
  host_stop watch
  guard_forwarding false
}

# shellcheck disable=SC2046
forwarded() { dialled plain $(first_endpoint victim); }
is_closed() { [ "$(forwarded)" = unreachable ]; }
closed_again() { answer 'closed within 5 s' open wait_until 5 is_closed; }

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What somebody reaches who got hold of CAP_NET_RAW or CAP_NET_ADMIN in the network namespace of a container with
# IPUs. `web` is attacked or taken over, `victim` is another tenant.

load support

setup_file() {
  start victim -e IPU_COUNT=4
  start web -e IPU_COUNT=4
}

teardown_file() {
  remove_containers
  assert_nothing_left
}

teardown() {
  host_stop watch
  ! in_host test -e /sys/class/net/rnic9 || in_host ip link set rnic9 name rnic0
  host_config
}

configure() { # TEXT: further lines of the configuration
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<"$1"
}

# Runs a program in a container of its own in the network of `web`.
beside_web() { # RUNTIME [DOCKER-OPTION...] -- COMMAND...
  local options=("--runtime=$1")
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  docker run --rm --net=container:web -v /run/attack/raw:/bin/raw:ro -v /run/dial:/bin/dial:ro "${options[@]}" busybox "${@:2}"
}

# The MAC behind which the fabric of the tests has all its addresses.
fabric_mac() {
  # shellcheck disable=SC2046
  inside web dial $(first_endpoint web) >/dev/null
  inside web cat /proc/net/arp | awk '$6 == "roce0" && $4 != "00:00:00:00:00:00" {print $4; exit}'
}

# "ADDRESS PORT" of the other tenant's first IPU.
target() { first_endpoint victim; }

# What a SYN from SOURCE to the endpoint gets, sent from the network of web by a container of plain runc.
syn() { # SOURCE ADDRESS PORT
  beside_web runc -- raw syn roce0 "$(fabric_mac)" "$@"
}

@test "a container that joins gets neither capability, whatever it asks for" {
  local options
  for options in '' '--cap-add NET_RAW --cap-add NET_ADMIN'; do
    # shellcheck disable=SC2086
    run -3 beside_web ipu $options -- raw syn roce0 02:00:00:00:00:01 10.0.0.1 10.0.0.2 80
    assert_contains "$output" 'packet socket: not permitted'
    # shellcheck disable=SC2086
    run -3 beside_web ipu $options -- raw flush
    assert_contains "$output" 'not permitted'
  done
}

@test "a container in another network keeps both" {
  run -0 docker run --rm --runtime=ipu --cap-add NET_ADMIN -v /run/attack/raw:/bin/raw:ro busybox raw flush
  assert_equal "$output" flushed
}

@test "an exec gets neither capability" {
  local name
  docker run --detach --runtime=ipu --net=container:web --cap-add NET_ADMIN --name side -v /run/attack/raw:/bin/raw:ro busybox sleep 3600
  docker cp /run/attack/raw web:/bin/raw
  for name in side web; do
    run -3 docker exec "$name" raw flush
    run -3 docker exec "$name" raw syn roce0 02:00:00:00:00:01 10.0.0.1 10.0.0.2 80
    assert_contains "$output" 'packet socket: not permitted'
    run -0 docker exec --user 7 --env A=b --workdir /tmp "$name" env
    assert_contains "$output" A=b
    assert_equal "$(docker exec --user 7 --workdir /tmp "$name" sh -c 'id -u; pwd')" $'7\n/tmp'
  done
  docker rm --force side
}

@test "an exec in a container without IPUs keeps both" {
  docker run --detach --runtime=ipu --name plain --cap-add NET_ADMIN -v /run/attack/raw:/bin/raw:ro busybox sleep 3600
  run -0 docker exec plain raw flush
  docker rm --force plain
}

@test "a SYN by a packet socket, sent beside plain runc: the own endpoint answers, no other one does" {
  local own
  own=$(address_in web)
  # shellcheck disable=SC2046
  {
    assert_equal "$(syn "$own" $(first_endpoint web))" answered
    assert_equal "$(syn "$own" $(target))" silent
    assert_equal "$(syn "$(address_in victim)" $(target))" silent
    assert_equal "$(syn 10.5.200.1 $(target))" silent
    assert_equal "$(syn "$own" "$(target | cut -d ' ' -f 1)" 22)" silent
  }
}

@test "IPUs do not join a network in which somebody has CAP_NET_ADMIN, unless the policy allows it" {
  docker run --detach --runtime=ipu --cap-add NET_ADMIN --name admin busybox sleep 3600
  assert_refused --net=container:admin -e IPU_COUNT=4 -- 'CAP_NET_ADMIN' 'shared_net_admin = true in [policy]'
  configure $'[policy]\nshared_net_admin = true'
  docker run --rm --runtime=ipu --net=container:admin -e IPU_COUNT=4 busybox true
  docker rm --force admin
}

# Takes the filter and the routes of web away, from beside it.
open_web() {
  assert_equal "$(beside_web runc --cap-add NET_ADMIN -- raw flush)" flushed
  beside_web runc --cap-add NET_ADMIN -- ip route add "$(target | cut -d ' ' -f 1)" dev roce0
}

@test "the filter of the container is gone: the border still lets it reach its own endpoint alone" {
  open_web
  # shellcheck disable=SC2046
  {
    inside web dial $(first_endpoint web) 0.0.0.0 roce0
    assert_unreachable web $(target)
  }
}

@test "a container without IPUs reaches neither the fabric nor the controller by the host, if the host guards them" {
  local endpoint
  endpoint=$(target)
  docker run --detach --runtime=runc --name plain busybox sleep 3600
  # shellcheck disable=SC2086
  inside plain nc -w 2 $endpoint
  inside plain nc -w 2 10.1.3.101 8090
  configure $'[network]\nguard_forwarding = true'
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  # shellcheck disable=SC2086
  {
    assert_no_answer plain nc -w 2 $endpoint
    in_host busybox nc -w 2 $endpoint
  }
  run ! inside plain nc -w 2 10.1.3.101 8090
  in_host busybox nc -w 2 10.1.3.101 8090
  ipuctl gc
  run ! inside plain nc -w 2 10.1.3.101 8090
  host_config
  configure $'[network]\nguard_forwarding = false'
  ipuctl gc
  inside plain nc -w 2 10.1.3.101 8090
  docker rm --force plain
}

# The answer of a service of the host would open the host's address to the container.
@test "a container with IPUs sends the host nothing by multicast, a container without IPUs does" {
  docker run --detach --runtime=ipu --name plain busybox sleep 3600
  run -143 inside plain timeout 1 tftp -g -r file -l /dev/null 224.0.0.1 9999  # waits for an answer
  run ! inside victim timeout 1 tftp -g -r file -l /dev/null 224.0.0.1 9999
  assert_contains "$output" 'not permitted'
  docker rm --force plain
}

has_no_answer() { ! inside "$@" >/dev/null 2>&1; }

@test "a flush of the host's packet filter: border and guard are there again within 5 s" {
  local endpoint
  endpoint=$(target)
  docker run --detach --runtime=runc --name plain busybox sleep 3600
  configure $'[network]\nguard_forwarding = true'
  # With the capability that its unit has, and no other.
  host_spawn watch setpriv --no-new-privs --bounding-set=-all,+net_admin ipuctl border watch
  wait_until 5 has_no_answer plain nc -w 1 "${endpoint% *}" "${endpoint#* }"
  for _ in 1 2 3; do
    in_host /run/attack/raw flush 1 ipu-guard
    in_host /run/attack/raw flush 5 ipu-border
    wait_until 5 has_no_answer plain nc -w 1 "${endpoint% *}" "${endpoint#* }"
    # shellcheck disable=SC2086
    assert_equal "$(syn "$(address_in web)" $endpoint)" silent
  done
  host_stop watch
  host_config
  configure $'[network]\nguard_forwarding = false'
  ipuctl gc
  docker rm --force plain
}

has_mended() { # NUMBER: of times
  [ "$(in_host grep -c 'mended the border of the host' /run/service/watch.log)" -ge "$1" ]
}

# At its next look, after 4 s, the watch would find it too.
@test "a parent that gets another name: the border is on it again within 2 s" {
  local before=rnic0 name times=0 soon=0 begin
  host_spawn watch setpriv --no-new-privs --bounding-set=-all,+net_admin ipuctl border watch
  wait_until 10 in_host pgrep --full 'ipuctl border watch'
  for name in rnic9 rnic0 rnic9 rnic0 rnic9; do
    begin=${EPOCHREALTIME/./}
    in_host ip link set "$before" name "$name"
    before=$name
    times=$((times + 1))
    wait_until 10 has_mended "$times"
    # The first may come shortly before a look, and each other one comes just after one.
    [ "$times" = 1 ] || [ $((${EPOCHREALTIME/./} - begin)) -gt 2000000 ] || soon=$((soon + 1))
  done
  # A busy machine may be late with some of them.
  [ "$soon" -ge 2 ] || fail "only $soon of 4 within 2 s"
  # shellcheck disable=SC2046
  assert_equal "$(syn "$(address_in web)" $(target))" silent
  in_host ip link set rnic9 name rnic0
  wait_until 10 has_mended 6
  # shellcheck disable=SC2046
  assert_equal "$(syn "$(address_in web)" $(target))" silent
  host_stop watch
}

has_border_by_tc() { in_host tc filter show dev rnic0 egress | grep -q ipu-border; }

@test "the border by tc: it takes over from the other one, holds the same attacks, and comes back within 5 s" {
  configure $'[network]\nfilter = "tc"'
  start third -e IPU_COUNT=4
  has_border_by_tc
  # shellcheck disable=SC2046
  {
    assert_equal "$(syn "$(address_in web)" $(first_endpoint web))" answered
    assert_equal "$(syn "$(address_in web)" $(target))" silent
    assert_equal "$(syn "$(address_in victim)" $(target))" silent
  }
  # With the capabilities that its unit has, and no other.
  host_spawn watch setpriv --no-new-privs --bounding-set=-all,+net_admin,+bpf ipuctl border watch
  in_host tc qdisc del dev rnic0 clsact
  wait_until 5 has_border_by_tc
  # shellcheck disable=SC2046
  {
    assert_equal "$(syn "$(address_in web)" $(first_endpoint web))" answered
    assert_equal "$(syn "$(address_in web)" $(target))" silent
  }
  host_stop watch
  docker rm --force third
}

# Shows that the tests above would see it.
@test "without the border, both attacks reach the other tenant" {
  docker rm --force web victim
  configure $'[network]\nfilter = "namespace"'
  setup_file
  # shellcheck disable=SC2046
  {
    assert_equal "$(syn "$(address_in web)" $(target))" answered
    open_web
    inside web dial $(target)
  }
}

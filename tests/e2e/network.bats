#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The network namespaces that containers come with, and the rails that hosts have.

load support
load bundle

setup() {
  host_config
}

teardown() {
  host_config
  remove_containers
  remove_bundle
  if [ ${#SIM_OPTIONS[@]} -gt 0 ]; then
    remove_partitions
    SIM_OPTIONS=()
    restart_sim
  fi
  assert_nothing_left
}

# roce0 of a container, as its namespace has it.
roce0_of() { # NAME
  in_host nsenter --net="/proc/$(docker inspect -f '{{.State.Pid}}' "$1")/ns/net" ip -o link show roce0
}

assert_reaches() { # NAME ENDPOINT: "ADDRESS PORT"
  # shellcheck disable=SC2086
  assert_contains "$(inside "$1" nc -w 2 $2)" 'c-'
}

start_with() { # NAME OTHER: in the other's network
  start "$1" -e IPU_COUNT=4 --net="container:$2"
}

@test "--net=container: one interface, by which both reach the IPUs of both" {
  local container endpoint
  start first -e IPU_COUNT=4
  start_with second first
  assert_equal "$(address_in first)" "$(address_in second)"
  assert_equal "$(roce0_of first)" "$(roce0_of second)"
  [ "$(lease_of first .partition)" != "$(lease_of second .partition)" ]
  for container in first second; do
    for endpoint in "$(first_endpoint first)" "$(first_endpoint second)"; do
      assert_reaches "$container" "$endpoint"
    done
  done
}

@test "--net=container: the second ends, and the first keeps its own" {
  local of_second link
  start first -e IPU_COUNT=4
  link=$(roce0_of first)
  start_with second first
  of_second=$(first_endpoint second)
  docker rm --force second
  wait_until 10 has_leases 1
  # shellcheck disable=SC2086
  assert_unreachable first $of_second
  assert_reaches first "$(first_endpoint first)"
  assert_equal "$(roce0_of first)" "$link"
}

@test "--net=container: the first ends, and the second keeps its own" {
  local of_first
  start first -e IPU_COUNT=4
  start_with second first
  of_first=$(first_endpoint first)
  docker kill first
  wait_until 10 has_leases 1
  # shellcheck disable=SC2086
  assert_unreachable second $of_first
  assert_reaches second "$(first_endpoint second)"
}

@test "--net=container: of a container without IPUs" {
  docker run --detach --runtime=runc --name plain busybox sleep 3600
  start_with second plain
  assert_reaches second "$(first_endpoint second)"
  docker rm --force second
  wait_until 10 has_leases 0
  run ! roce0_of plain
}

@test "--net=host is refused, also by its path" {
  assert_refused -e IPU_COUNT=4 --net=host -- "may not use the host's network" 'leave out the option'
}

@test "--net=host with host_network = \"isolate\": a network of the container's own" {
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nhost_network = "isolate"'
  start job -e IPU_COUNT=4 --net=host
  assert_reaches job "$(first_endpoint job)"
  assert_equal "$(inside job ls /sys/class/net | sort | xargs)" 'lo roce0'
  assert_unreachable job 10.1.3.101 8090
}

@test "containers that end and start at once never see the address or the pool taken" {
  local i
  # One container has all IPUs: each start needs what the one before it gives back.
  for i in 1 2 3 4 5 6; do
    docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox cat /run/ipu/lease.json
  done
  start job -e IPU_COUNT=64
  for i in 1 2 3 4; do
    docker restart --time 0 job
  done
  assert_reaches job "$(first_endpoint job)"
}

@test "an address that another host has is refused with its MAC, set aside, and the next start gets another" {
  local mac
  in_host sed -i 's/^range = .*/range = "10.5.201.1-10.5.201.2"/' /etc/ipu-container-toolkit/config.toml
  # A slow machine needs some time to ask.
  in_host sh -c "printf '[network]\nduplicate_probe = \"1s\"\n' >>/etc/ipu-container-toolkit/config.toml"
  in_host ip -n pod route add local 10.5.201.1 dev lo
  mac=$(in_host ip -n pod -j link show fab0 | jq -r '.[0].address')
  assert_refused -e IPU_COUNT=4 -- 10.5.201.1 "$mac" 'set aside' range
  assert_nothing_left
  start job -e IPU_COUNT=4
  assert_equal "$(address_in job)" 10.5.201.2
  assert_refused -e IPU_COUNT=4 -- '10.5.201.1' "$(container_id job)"
  in_host ip -n pod route del local 10.5.201.1 dev lo
}

@test "a rail whose interface is down is refused, and a running container comes back with it" {
  start job -e IPU_COUNT=4
  in_host ip link set rnic0 down
  assert_refused -e IPU_COUNT=4 -- rnic0 down 'ip link set rnic0 up'
  in_host ip link set rnic0 up
  wait_until 10 assert_reaches job "$(first_endpoint job)"
}

@test "the RNIC vanishes under a running container: its end is as clean as ever" {
  in_host ip link add rnic9 type veth peer name fab9 netns pod
  in_host ip link set rnic9 up
  in_host sed -i 's/rnic0/rnic9/' /etc/ipu-container-toolkit/config.toml
  start job -e IPU_COUNT=4
  in_host ip link delete rnic9
  docker rm --force job
  assert_nothing_left
  assert_refused -e IPU_COUNT=4 -- rnic9 'there is no interface' 'ip link'
}

@test "other peers of a rail are reached, and nothing else of the fabric is" {
  in_host sed -i '/^parent/a peers = ["10.5.1.250:2049"]' /etc/ipu-container-toolkit/config.toml
  host_spawn storage ip netns exec pod busybox nc -ll -p 2049 -e echo storage
  start job -e IPU_COUNT=4
  wait_until 5 inside job nc -w 1 10.5.1.250 2049
  assert_unreachable job 10.5.1.249 2049
  assert_unreachable job 10.5.1.250 8090
  host_stop storage
}

@test "forbidden networks are out of reach by any way, and others of docker's bridge are not" {
  host_spawn bmc ip netns exec pod busybox nc -ll -p 623 -e echo bmc
  in_host ip -n pod address add 10.1.4.7/32 dev ctl0
  in_host ip route add 10.1.4.0/24 dev mgmt0
  in_host ip -n pod route add 172.17.0.0/16 via 10.1.3.1
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nforbidden = ["10.1.4.0/24"]'
  docker run --detach --runtime=runc --name plain busybox sleep 3600
  wait_until 5 inside plain nc -w 1 10.1.4.7 623
  start job -e IPU_COUNT=4
  assert_unreachable job 10.1.4.7 623
  in_host ip -n pod route del 172.17.0.0/16
  in_host ip route del 10.1.4.0/24 dev mgmt0
  in_host ip -n pod address del 10.1.4.7/32 dev ctl0
  host_stop bmc
}

# An IPUoF file of 8 IPUs at ADDRESS... of four IPUs each, as `vipu partition config` writes it.
write_ipuof() { # FILE ADDRESS...
  local file=$1
  shift
  in_host mkdir -p "${file%/*}"
  ipuctl partition create shape --size 4 --reconfigurable >/dev/null
  ipuctl partition config shape --gcd 0 |
    jq '.devices as $four | .devices = [$ARGS.positional | to_entries[] | . as $machine | $four[] |
      .ip = $machine.value | .server_port = 7000 + .device_id | .ipu_id += 4 * $machine.key | .routing_id += 4 * $machine.key]' --args "$@" |
    in_host tee "$file" >/dev/null
  ipuctl partition remove shape >/dev/null
}

@test "two rails: each machine is reached by its own, and what a container does not need it does not get" {
  in_host ip link add rnic1 mtu 9000 type veth peer name fab1 mtu 9000 netns pod
  in_host ip address add 10.6.200.1/16 dev rnic1
  in_host ip link set rnic1 up
  in_host ip -n pod link set fab1 up
  in_host ip -n pod route add local 10.6.1.0/24 dev lo
  in_host ip -n pod route add 10.6.0.0/16 dev fab1
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<END

[[network.rail]]
parent = "rnic1"
subnet = "10.6.0.0/16"
range = "10.6.200.10-10.6.200.20"
END
  write_ipuof /etc/ipuof.conf.d/two.conf 10.5.1.101 10.6.1.101
  configure_slices /etc/ipuof.conf.d/two.conf
  host_spawn machines ip netns exec pod busybox nc -ll -p 7000 -e echo c-machine

  start both -e IPU_POOL=slices -e IPU_COUNT=8
  assert_equal "$(lease_of both '[.rails[].interface] | join(" ")')" 'roce0 roce1'
  wait_until 5 inside both nc -w 1 10.5.1.101 7000
  assert_reaches both '10.6.1.101 7000'
  assert_contains "$(inside both ip route show dev roce1)" 10.6.1.101
  run ! inside both dial 10.6.1.101 7000 0.0.0.0 roce0
  run ! inside both dial 10.5.1.101 7000 0.0.0.0 roce1
  docker rm --force both

  start one -e IPU_POOL=slices -e IPU_COUNT=4
  assert_equal "$(lease_of one '[.rails[].interface] | join(" ")')" roce0
  assert_reaches one '10.5.1.101 7000'
  assert_unreachable one 10.6.1.101 7000
  host_stop machines
  in_host ip link delete rnic1
  in_host rm /etc/ipuof.conf.d/two.conf
}

@test "an IPv6 rail" {
  in_host ip address add fd00:5::1/64 dev rnic0 nodad
  in_host ip -n pod address add fd00:5::101/64 dev fab0 nodad
  in_host ip -n pod address add fd00:5::102/64 dev fab0 nodad
  in_host sed -i -e 's|^subnet = .*|subnet = "fd00:5::/64"|' -e 's|^range = .*|range = "fd00:5::1000-fd00:5::10ff"|' \
    /etc/ipu-container-toolkit/config.toml
  write_ipuof /etc/ipuof.conf.d/six.conf fd00:5::101 fd00:5::102
  configure_slices /etc/ipuof.conf.d/six.conf
  host_spawn machines ip netns exec pod busybox nc -ll -p 7000 -e echo c-machine

  start job -e IPU_POOL=slices -e IPU_COUNT=4
  assert_equal "$(address_in job)" fd00:5::1000
  wait_until 5 inside job nc -w 1 fd00:5::101 7000
  run ! inside job nc -w 2 fd00:5::102 7000
  run ! inside job nc -w 2 fd00:5::1 9999
  host_stop machines
  in_host ip address del fd00:5::1/64 dev rnic0
  in_host ip -n pod address del fd00:5::101/64 dev fab0
  in_host ip -n pod address del fd00:5::102/64 dev fab0
  in_host rm /etc/ipuof.conf.d/six.conf
}

# The fabric's way to a container: by the other end of its function, of which nothing says which it is.
route_to_function() { # CONTAINER
  local index
  index=$(in_host nsenter --net="/proc/$(docker inspect -f '{{.State.Pid}}' "$1")/ns/net" ip -j link show roce0 | jq '.[0].link_index')
  in_host ip -n pod route replace "$(address_in "$1")" dev "$(in_host ip -n pod -j link | jq -r ".[] | select(.ifindex == $index).ifname")"
}

has_link() { in_host ip link show "$1" >/dev/null 2>&1; }

@test "a rail of functions: each container has its own, and the host gets it back" {
  local i
  for i in 0 1; do
    in_host ip link add "vf$i" type veth peer name "fabvf$i" netns pod
    in_host ip -n pod link set "fabvf$i" up
    in_host ip link set "vf$i" up
  done
  in_host sed -i -e 's/^parent = .*/functions = ["vf0", "vf1"]/' -e 's/^range = .*/range = "10.5.202.10-10.5.202.13"/' \
    /etc/ipu-container-toolkit/config.toml
  start one -e IPU_COUNT=4
  start two -e IPU_COUNT=4
  route_to_function one
  route_to_function two
  run ! has_link vf0
  assert_reaches one "$(first_endpoint one)"
  assert_reaches two "$(first_endpoint two)"
  assert_refused -e IPU_COUNT=4 -- functions "$(container_id one)" "$(container_id two)"
  docker rm --force one
  wait_until 10 has_link vf0
  start three -e IPU_COUNT=4
  route_to_function three
  assert_reaches three "$(first_endpoint three)"
  docker rm --force two three
  wait_until 10 has_link vf1
  assert_nothing_left
  for i in 0 1; do in_host ip link delete "vf$i"; done
}

@test "a partition that the controller relocates is followed" {
  local before
  SIM_OPTIONS=(--control /run/simulator.sock --auto-reset-delay 100ms)
  restart_sim
  ipuctl partition create moving --size 4 --relocatable
  start job -e IPU_PARTITION=moving
  before=$(first_endpoint job)
  # Not to where the configuration says that no machine is.
  in_host tee -a /etc/ipu-container-toolkit/config.toml <<<"machines = \"${before% *}/32\"" >/dev/null
  in_host vipu-simulator control /run/simulator.sock agent-down ag1
  wait_until 30 is_not_followed
  assert_equal "$(first_endpoint job)" "$before"
  host_config
  wait_until 30 has_been_followed
  [ "$(first_endpoint job)" != "$before" ]
  # shellcheck disable=SC2046
  assert_contains "$(inside job nc -w 2 $(first_endpoint job))" moving
  # shellcheck disable=SC2086
  assert_unreachable job $before
}

# Until its new place is ACTIVE the controller does not say where that is.
is_not_followed() { [[ $(ipuctl lease refresh 2>&1) == *"change 'machines' of network.rail"* ]]; }
has_been_followed() { [[ $(ipuctl lease refresh 2>/dev/null) == *moving* ]]; }

# docker refuses an address that overlaps a route of the table main, in which prohibit routes once were.
@test "docker network connect: a network in a forbidden subnet is connected, and what it has stays out of reach" {
  host_run sed -i '/^\[\[network.rail/i [network]\nforbidden = ["172.30.0.0/15"]\n' /etc/ipu-container-toolkit/config.toml
  docker network create --subnet 172.30.7.0/24 --gateway 172.30.7.1 other
  start job -e IPU_COUNT=4
  docker network connect other job
  assert_contains "$(inside job ip -4 -o address show)" 172.30.7.2/24
  assert_reaches job "$(first_endpoint job)"
  assert_unreachable job 172.30.7.1 9999
  docker network disconnect other job
  docker network rm other
}

address_by_docker() { docker inspect -f '{{.NetworkSettings.Networks.bridge.IPAddress}}' "$1"; }

@test "docker's own network is forbidden: a container starts, has its address there, and contacts nobody there" {
  local address plain
  docker run --detach --runtime=runc --name plain busybox nc -ll -p 7777 -e echo plain
  plain=$(address_by_docker plain)
  start before -e IPU_COUNT=4
  assert_equal "$(inside before nc -w 2 "$plain" 7777)" plain
  docker rm --force before
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nforbidden = ["172.16.0.0/12"]'
  start job -e IPU_COUNT=4
  address=$(address_by_docker job)
  [[ $address == 172.17.* ]] || fail "docker's network is not in the forbidden one: $address"
  assert_contains "$(inside job ip -4 -o address show dev eth0)" " $address/"
  assert_reaches job "$(first_endpoint job)"
  assert_unreachable job "$plain" 7777
  assert_unreachable job 172.17.0.1 9999
  # Nor does it answer.
  docker exec --detach job nc -ll -p 7777 -e echo job
  wait_until 5 inside job nc -w 1 "$address" 7777
  run ! in_host busybox nc -w 1 "$address" 7777
  docker rm --force job plain
}

# A pod as containerd's CRI plugin makes it, without containerd: the runtime is called with its
# annotations.
@test "a pod: the sandbox has the IPUs, its containers share them, and who is last gives them back" {
  local pid
  make_bundle '.annotations = {"graphcore.ai/ipu.count": "4", "io.kubernetes.cri.container-type": "sandbox",
    "io.kubernetes.cri.sandbox-id": "pod"} | .linux.cgroupsPath += "/pod"'
  create pod
  # Until then threads of runc have CAP_NET_ADMIN there.
  runtime start pod
  pid=$(in_host runc --root "$STATE" state pod | jq .pid)
  BUNDLE=$BUNDLE-app make_bundle '.annotations = {"graphcore.ai/ipu.count": "4",
    "io.kubernetes.cri.container-type": "container", "io.kubernetes.cri.sandbox-id": "pod"} |
    .linux.cgroupsPath += "/app" |
    (.linux.namespaces[] | select(.type == "network")).path = "/proc/'"$pid"'/ns/net"'
  BUNDLE=$BUNDLE-app create app
  assert_equal "$(ipuctl ps --output json | jq -r '[.[].partition] | unique | length')" 1
  assert_equal "$(ipuctl partition list --output json | jq length)" 1
  in_host ipu-container-runtime --root "$STATE" delete --force pod
  wait_until 10 has_leases 1
  assert_equal "$(ipuctl partition list --output json | jq length)" 1
  in_host nsenter --net="/proc/$(in_host runc --root "$STATE" state app | jq .pid)/ns/net" ip link show roce0
  in_host ipu-container-runtime --root "$STATE" delete --force app
  assert_nothing_left
  in_host rm -r "$BUNDLE-app"
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The parts of the storm's world, for sourcing by world.sh: bridges, a controller, three members of etcd, hosts. They are
# processes and links in the namespaces of the world, and end with it.
#
#   host N, in a network namespace of its own      the world's network namespace
#   rnic0  10.5.200.N/16, MTU 9000         ------  brfab: all IPU-Machines, 10.5.1.0/24
#   mgmt0  10.1.3.N/24                     ------  brctl: the V-IPU controller, 10.1.3.101
#   etcd0  10.1.4.N/24                     ------  bretc: the members of etcd, 10.1.4.101 to 103

CONTROLLER=10.1.3.101:8090
ENDPOINTS=10.1.4.101:2379,10.1.4.102:2379,10.1.4.103:2379
declare -A unshare_of pid_of boot_of member_of
controller=

# Runs CONDITION... every 100 ms until it is true; fails after SECONDS.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.1
  done
}

network_up() {
  local bridge number=0
  ip link set lo up
  for bridge in brfab brctl bretc; do
    # Without an address of its own, a bridge takes a new one when a host goes, and the others do not find it.
    ip link add "$bridge" mtu 9000 address "02:00:00:00:00:0$((number += 1))" type bridge forward_delay 0
    ip link set "$bridge" up
  done
  ip address add 10.1.3.101/24 dev brctl
  for number in 101 102 103; do ip address add "10.1.4.$number/24" dev bretc; done
  ip route add local 10.5.1.0/24 dev lo
  ip route add 10.5.0.0/16 dev brfab
}

# ---- the controller

controller_up() {
  vipu-simulator --listen "$CONTROLLER" --pod pod256 --create-delay 50ms --state controller.json --log controller.jsonl \
    --endpoints --fabric 10.5.1.0/24 >>controller.log 2>&1 &
  controller=$!
  wait_until 20 controller_answers || { echo 'the controller does not answer'; return 1; }
}
controller_answers() { busybox nc -w 1 "${CONTROLLER%:*}" "${CONTROLLER#*:}" </dev/null >/dev/null 2>&1; }
controller_down() {
  kill -KILL "$controller"
  wait "$controller" 2>/dev/null
}

# ---- etcd

etcd_up() { # MEMBER
  local address=10.1.4.10$1
  etcd --name "m$1" --data-dir "etcd$1" --listen-client-urls "http://$address:2379" \
    --advertise-client-urls "http://$address:2379" --listen-peer-urls "http://$address:2380" \
    --initial-advertise-peer-urls "http://$address:2380" --initial-cluster-state new --log-level error \
    --initial-cluster m1=http://10.1.4.101:2380,m2=http://10.1.4.102:2380,m3=http://10.1.4.103:2380 >>"etcd$1.log" 2>&1 &
  member_of[$1]=$!
}
etcd_down() { # MEMBER
  kill -KILL "${member_of[$1]}" 2>/dev/null
  wait "${member_of[$1]}" 2>/dev/null
  unset "member_of[$1]"
}
# A member that comes back at once may find its port in use, and ends.
etcd_tend() {
  local member
  for member in "${!member_of[@]}"; do kill -0 "${member_of[$member]}" 2>/dev/null || etcd_up "$member"; done
}
etcd_control() { ETCDCTL_API=3 etcdctl --endpoints "$ENDPOINTS" "$@"; }
etcd_answers() { etcd_control --command-timeout 2s get / >/dev/null 2>&1; }

# ---- hosts

# Host N boots, with a new boot id and the state directory of its last boot.
host_up() { # N
  local n=$1 link
  boot_of[$n]=$((${boot_of[$n]:-0} + 1))
  ip netns add "host$n"
  for link in fab ctl etc; do
    ip link add "$link$n" mtu 9000 type veth peer name "in$link" mtu 9000 netns "host$n"
    ip link set "$link$n" master "br$link" up
  done
  ip -n "host$n" link set infab name rnic0 address "02:00:00:00:01:0$n"
  ip -n "host$n" link set inctl name mgmt0 address "02:00:00:00:02:0$n"
  ip -n "host$n" link set inetc name etcd0 address "02:00:00:00:03:0$n"
  ip -n "host$n" address add "10.5.200.$n/16" dev rnic0
  ip -n "host$n" address add "10.1.3.$n/24" dev mgmt0
  ip -n "host$n" address add "10.1.4.$n/24" dev etcd0
  for link in lo rnic0 mgmt0 etcd0; do ip -n "host$n" link set "$link" up; done
  mkdir -p "host$n/state"
  [ -e "host$n/machine-id" ] || tr -d - </proc/sys/kernel/random/uuid >"host$n/machine-id"
  rm -f "host$n/pid"
  nsenter --net="/run/netns/host$n" unshare --mount --pid --ipc --uts --propagation private --fork --kill-child \
    bash host.sh "$n" "${boot_of[$n]}" >>"host$n/log" 2>&1 &
  unshare_of[$n]=$!
  wait_until 30 test -s "host$n/pid" || { echo "host $n does not start"; return 1; }
  pid_of[$n]=$(cat "host$n/pid")
}

# Loses power.
host_down() { # N
  local link
  printf '%s\tended\t-\t%s.%s\n' "$EPOCHREALTIME" "$1" "${boot_of[$1]}" >>held/world
  kill -KILL "${pid_of[$1]}"
  wait "${unshare_of[$1]}" 2>/dev/null
  ip netns delete "host$1"
  for link in fab ctl etc; do ip link delete "$link$1" 2>/dev/null; done
  rm -f "host$1/pid"
}

# What each tenant may have of the 256 IPUs: see worker.sh. It is so little that their workers meet their limits. The requests
# for 64 IPUs have a tenant of their own, which never borrows, so nobody who comes later is served before.
tenants_up() {
  on 1 ipuctl tenant set large --guaranteed 256 --limit 256 &&
    on 1 ipuctl tenant set gold --guaranteed 16 --limit 24 &&
    on 1 ipuctl tenant set silver --guaranteed 8 --limit 16 &&
    on 1 ipuctl tenant set guest --limit 8 --borrow-time 1s
} >/dev/null

# Runs a command on host N.
on() { # N COMMAND...
  nsenter --target "${pid_of[$1]}" --mount --net --pid --ipc --uts timeout --kill-after 5 60 "${@:2}"
}

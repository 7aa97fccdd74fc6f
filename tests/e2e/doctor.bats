#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What ipuctl doctor says of the throw-away host, and of one with each thing wrong but for those of doctor_table.bats.

load support
load fake_rdma

CONFIG=/etc/ipu-container-toolkit/config.toml

teardown() {
  in_host ip link delete br0 2>/dev/null || true
  in_host ip address delete 10.5.200.50/32 dev rnic0 2>/dev/null || true
  in_host ip link set rnic0 nomaster up
  in_host ip -n pod link set fab0 up
  fake_rdma_down 2>/dev/null || true
  in_host rm -rf /run/systemd /dev/infiniband /dev/char
  host_config
  remove_containers
  assert_nothing_left
}

# What doctor finds of one check, as "RESULT: FINDING".
finding_of() { # CHECK
  ipuctl doctor --output json 2>/dev/null | jq -r --arg check "$1" '.[] | select(.check == $check) | "\(.result): \(.finding)"'
}

# doctor fails with one failed check, which says TEXT and what to do.
assert_failed() { # CHECK TEXT
  run -1 --separate-stderr ipuctl doctor --output json
  # shellcheck disable=SC2154
  assert_contains "$stderr" 'ipuctl: 1 of '
  assert_equal "$(jq -r '.[] | select(.result == "failed").check' <<<"$output")" "$1"
  assert_contains "$(jq -r '.[] | select(.result == "failed").finding' <<<"$output")" "$2"
  [ -n "$(jq -r '.[] | select(.result == "failed").advice' <<<"$output")" ]
}

# The configuration with ANOTHER value of a rail's key.
set_key() { # KEY VALUE
  in_host sed -i "s|^$1 = .*|$1 = $2|" "$CONFIG"
}

# doctor says that the configuration is wrong, with TEXT.
assert_misconfigured() { # TEXT
  run -2 --separate-stderr ipuctl doctor --output json
  assert_contains "$stderr" "$1"
  assert_equal "$(jq -r '.[] | select(.check == "configuration").result' <<<"$output")" failed
  assert_contains "$(jq -r '.[] | select(.check == "configuration").finding' <<<"$output")" "$1"
}

# Names and addresses: docker0 loses its carrier some time after the last container.
links() { in_host ip -brief link | awk '{ print $1, $3 }'; }

@test "a good host has no failed check, and doctor leaves nothing behind" {
  local before
  before=$(links)
  run -0 ipuctl doctor
  assert_contains "${lines[0]}" 'RESULT'
  assert_contains "$output" 'ok       configuration'
  [[ $output != *failed* ]]
  assert_equal "$(finding_of 'rail rnic0: link')" "ok: 'rnic0', MTU 9000"
  assert_equal "$(finding_of 'rail rnic0: macvlan')" 'ok: a macvlan can be created'
  assert_equal "$(finding_of 'packet filter')" 'ok: the kernel accepts the filter of a container'
  assert_contains "$(finding_of 'controller of pod64')" "ok: $CONTROLLER answers, version "
  assert_equal "$(finding_of programs)" 'ok: the runtime, the hook, the V-IPU client and endpoint are installed'
  assert_equal "$(finding_of 'engine docker')" 'ok: it has the runtime and knows it'
  local left='^ok: 1[0-9][0-9] addresses are left, 0 held, [0-9]+ in quarantine$'
  [[ $(finding_of 'rail rnic0: addresses') =~ $left ]]
  assert_equal "$(links)" "$before"
}

@test "a parent that is missing" {
  set_key parent '"rnic9"'
  assert_failed 'rail rnic9: link' "there is no interface 'rnic9'"
}

@test "a parent that is down" {
  in_host ip link set rnic0 down
  assert_failed 'rail rnic0: link' "'rnic0' is down"
  in_host ip address replace 10.5.200.1/16 dev rnic0
}

@test "a parent without a carrier is a warning" {
  in_host ip -n pod link set fab0 down
  run -0 ipuctl doctor
  assert_equal "$(finding_of 'rail rnic0: link')" "warning: 'rnic0' has no carrier, so nothing is reachable through it"
  in_host ip -n pod link set fab0 up
  in_host ip -n pod route replace 10.5.0.0/16 dev fab0
}

@test "a parent that is a port of a bridge" {
  in_host ip link add br0 type bridge
  in_host ip link set rnic0 master br0
  assert_failed 'rail rnic0: link' "'rnic0' is a port of the bridge 'br0'"
}

@test "the loopback as a parent" {
  set_key parent '"lo"'
  assert_failed 'rail lo: link' "'lo' is the loopback interface"
}

@test "an MTU above the parent's" {
  in_host sed -i '/^parent/a mtu = 9001' "$CONFIG"
  assert_failed 'rail rnic0: link' "MTU 9001 is above the MTU 9000 of 'rnic0'"
}

@test "an address of the host in the range" {
  in_host ip address add 10.5.200.50/32 dev rnic0
  assert_failed 'rail rnic0: range' '10.5.200.50 is an address of this host'
}

@test "no address left" {
  set_key range '"10.5.200.10-10.5.200.10"'
  start job -e IPU_COUNT=1
  assert_failed 'rail rnic0: addresses' '0 addresses are left, 1 held'
}

@test "a range outside of the subnet is a wrong configuration" {
  set_key range '"10.6.0.1-10.6.0.9"'
  assert_misconfigured 'network.rail.range must be inside the subnet 10.5.0.0/16'
}

@test "rails that overlap are a wrong configuration" {
  in_host tee -a "$CONFIG" >/dev/null <<END

[[network.rail]]
parent = "mgmt0"
subnet = "10.5.8.0/24"
range = "10.5.8.1-10.5.8.9"
END
  assert_misconfigured 'network.rail.subnet must be disjoint from all other subnets; 10.5.8.0/24 of mgmt0 overlaps 10.5.0.0/16'
}

@test "no configuration: the rest is looked at" {
  in_host rm "$CONFIG"
  assert_misconfigured "there is no $CONFIG"
  assert_equal "$(finding_of ledger)" 'ok: it can be opened'
}

@test "devices that systemd does not find, where it manages the cgroups" {
  fake_rdma_up 10.5.200.1
  in_host mkdir -p /dev/infiniband /dev/char
  in_host mknod /dev/infiniband/uverbs3 c 231 195
  in_host mknod /dev/infiniband/rdma_cm c 10 58
  assert_equal "$(finding_of 'device links')" ''
  in_host mkdir -p /run/systemd/system
  local lost=", so containers may lose this device at 'systemctl daemon-reload'"
  assert_equal "$(finding_of 'device links')" \
    "warning: /dev/char/231:195 does not point to /dev/infiniband/uverbs3$lost
warning: /dev/char/10:58 does not point to /dev/infiniband/rdma_cm$lost"
  # What it says to do is enough.
  ipuctl doctor -o json | jq -r '.[] | select(.check == "device links").advice' | in_host sh -e
  assert_equal "$(in_host readlink /dev/char/231:195)" ../infiniband/uverbs3
  assert_equal "$(finding_of 'device links')" 'ok: systemd finds the devices of containers'
}

@test "--try starts a container, and says what came back" {
  run ipuctl doctor --try busybox
  assert_contains "$output" 'a container of busybox had 1 IPU, and ended after'
  assert_contains "$output" 'all that the container held came back'
  run -1 ipuctl doctor --try nosuchimage
  assert_contains "$output" 'trial: start'
  assert_contains "$output" 'nosuchimage'
  sim_stop
  run -1 ipuctl doctor --try busybox
  assert_contains "$output" 'ipu: '
  sim_start
}

@test "--fix restores the packet filter, and needs root" {
  in_host sed -i 's/^\[network\]$/&\nguard_forwarding = true/; /guard_forwarding/!s/^\[\[network.rail\]\]$/[network]\nguard_forwarding = true\n\n&/' "$CONFIG"
  ipuctl border remove >/dev/null
  assert_contains "$(finding_of forwarding)" 'warning: the table inet ipu-guard is not there'
  run ipuctl doctor --fix
  assert_contains "$output" 'made again what was missing'
  assert_contains "$(finding_of forwarding)" 'ok: '
  run -1 in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl doctor --fix
  assert_contains "$output" '--fix changes this host; run ipuctl as root'
  ipuctl border remove
}

@test "a program that crashed leaves a record, which doctor shows" {
  host_spawn watch ipuctl border watch
  # It catches SIGSEGV, and is confined.
  # shellcheck disable=SC2016
  wait_until 5 in_host sh -c 'status=/proc/$(cat /run/service/watch.pid)/status
    grep -q "^SigCgt:.*[4-7c-f]..$" "$status" && grep -q "^Seccomp:.*2" "$status"'
  host_signal watch SEGV
  wait_until 5 in_host test -s /run/ipu-container-toolkit/crashes
  assert_contains "$(finding_of crashes)" 'crashed by signal 11 at offset 0x'
  assert_equal "$(in_host cat /run/ipu-container-toolkit/forbidden-calls 2>/dev/null)" ''
  in_host rm /run/ipu-container-toolkit/crashes
  host_stop watch
}

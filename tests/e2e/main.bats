#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a container with IPU_COUNT=4 gets: seen from inside of one that runs.

load support

setup_file() {
  docker run --detach --runtime=runc --name plain busybox sleep 3600
  start main -e IPU_COUNT=4 -e IPUOF_VIPU_API_HOST=10.1.3.101
}

teardown_file() {
  remove_containers
  assert_nothing_left
}

@test "roce0 has one address, a /32 of the configured range" {
  run inside main ip -o -4 address show roce0
  assert_equal "${#lines[@]}" 1
  [[ ${lines[0]} =~ inet\ 10\.5\.200\.([0-9]+)/32 ]]
  [ "${BASH_REMATCH[1]}" -ge 10 ] && [ "${BASH_REMATCH[1]}" -le 200 ]
}

@test "roce0 is up and has the MTU of the RNIC" {
  assert_equal "$(inside main cat /sys/class/net/roce0/mtu)" 9000
  assert_contains "$(inside main ip link show roce0)" 'UP'
}

@test "roce0 has no IPv6 address" {
  assert_equal "$(inside main ip -o -6 address show roce0)" ''
}

@test "the routes of roce0 lead to the container's own IPU-Machines and nowhere else" {
  local routes machines
  routes=$(inside main ip route show dev roce0 | awk '{ print $1 }' | sort)
  machines=$(endpoints main | awk '{ print $1 }' | sort -u)
  [ -n "$machines" ]
  assert_equal "$routes" "$machines"
}

@test "the default route is docker's" {
  assert_equal "$(inside main ip route | grep ^default)" "$(inside plain ip route | grep ^default)"
}

@test "eth0 is as in any container" {
  assert_contains "$(inside main ip -o -4 address show eth0)" '172.17.0.'
}

@test "ipuof.conf describes 4 different IPUs" {
  inside main cat /etc/ipuof.conf.d/ipuof.conf | jq -e '
    (.devices | length) == 4 and (.devices | map([.ip, .device_id]) | unique | length) == 4'
}

@test "IPUOF_CONFIG_PATH points to it and IPUOF_VIPU_API_* is removed" {
  run inside main sh -c "tr '\\0' '\\n' </proc/1/environ"
  assert_contains "$output" 'IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf'
  [[ $output != *IPUOF_VIPU_API* ]]
}

@test "lease.json says lease, partition, IPUs and rail as they are" {
  inside main cat /run/ipu/lease.json | jq -e '
    (.lease | test("^[0-9a-f]{32}$")) and .ipus == 4 and (.rails | length) == 1 and
    (.partition | test("^c-[0-9a-f]{8}-")) and .partition[11:] == .lease[0:12] and .rails[0].interface == "roce0" and (.rails[0] | has("rdma"))'
  assert_contains "$(inside main ip -o -4 address show roce0)" " $(lease_of main '.rails[0].address')/32"
  assert_equal "$(inside main cat /sys/class/net/roce0/address)" "$(lease_of main '.rails[0].mac')"
}

@test "locked memory is unlimited, or what the host can give at most; lease.json says which" {
  local most soft hard
  most=$(highest_memlock)
  read -r soft hard <<<"$(inside main sed -n 's/^Max locked memory//p' /proc/1/limits)"
  assert_equal "$soft ${hard%% *}" "$most $most"
  assert_equal "$(lease_of main .memlock)" "$most"
}

@test "no other limit differs from a plain container's" {
  local limits='grep -v locked /proc/1/limits'
  assert_equal "$(inside main sh -c "$limits")" "$(inside plain sh -c "$limits")"
}

@test "the generated files cannot be written, changed or removed" {
  local file
  for file in /etc/ipuof.conf.d/ipuof.conf /run/ipu/lease.json; do
    assert_equal "$(inside main stat -c '%a %u' "$file")" '444 0'
    run ! inside main sh -c "echo x >>$file"
    run ! inside main chmod 0666 "$file"
    run ! inside main rm "$file"
  done
}

@test "NET_ADMIN and NET_RAW are in no capability set, not even when docker adds them" {
  start added -e IPU_COUNT=1 --cap-add=NET_ADMIN --cap-add=NET_RAW
  local container set sets
  for container in main added; do
    mapfile -t sets < <(inside "$container" sed -n 's/^Cap[A-Z][a-z]*:[^0-9a-f]*//p' /proc/1/status)
    assert_equal "${#sets[@]}" 5
    for set in "${sets[@]}"; do
      assert_equal "$((0x$set & (1 << 12 | 1 << 13)))" 0
    done
  done
}

@test "the devices are those of a plain container: the rail has no RDMA device here" {
  assert_equal "$(inside main find /dev | sort)" "$(inside plain find /dev | sort)"
}

@test "each endpoint answers and names the container's partition" {
  local endpoint partition targets
  partition=$(lease_of main .partition)
  mapfile -t targets < <(endpoints main)
  assert_equal "${#targets[@]}" 4
  for endpoint in "${targets[@]}"; do
    # shellcheck disable=SC2086
    assert_contains "$(inside main nc -w 2 $endpoint)" "$partition"
  done
}

@test "ipuctl ps shows the container with its partition" {
  run ipuctl ps
  assert_contains "$output" "$(lease_of main .partition)"
  assert_contains "$output" "$(docker inspect -f '{{.Id}}' main | cut -c 1-12)"
}

@test "ipuctl partition list shows the partition" {
  assert_contains "$(ipuctl partition list)" "$(lease_of main .partition)"
}

@test "ipuctl lease show says what the container was given" {
  run ipuctl lease show "$(lease_of main .lease)"
  assert_equal "$status" 0
  assert_contains "$output" "$(lease_of main '.rails[0].address')"
}

@test "a published port answers the host and others on its networks" {
  docker run --detach --runtime=ipu --name web -e IPU_COUNT=1 -p 18080:80 busybox nc -ll -p 80 -e echo web
  wait_until 5 published_port_answers 127.0.0.1
  published_port_answers 10.1.3.1
  # The controller's own address would not do: the container may not talk to it.
  in_host ip -n pod address add 10.1.3.102/24 dev ctl0
  assert_equal "$(in_host ip netns exec pod /run/dial 10.1.3.1 18080 10.1.3.102)" web
}

published_port_answers() { # ADDRESS
  [ "$(in_host busybox nc -w 2 "$1" 18080 </dev/null)" = web ]
}

@test "standard output holds what the container wrote and nothing else" {
  run --separate-stderr docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox echo hello
  assert_equal "$output" hello
  # shellcheck disable=SC2154
  assert_equal "$stderr" ''
}

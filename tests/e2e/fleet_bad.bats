#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet and an etcd that is of no use for a while: it is full, its store is of a newer release, or its
# authority is another one. What runs goes on, an end does not hang, and a start fails in one line. Two fleets in one etcd.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
PKI=/run/fleet-pki

setup_file() {
  two_hosts_up
  # shellcheck disable=SC2016
  in_host sh -e -c 'mkdir "$2"
    cd "$2"
    for name in right wrong; do
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" \
        -keyout "$name.key" -out "$name.pem" 2>/dev/null
    done
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout server.key -out server.csr 2>/dev/null
    echo "subjectAltName = IP:$1" >server.ext
    openssl x509 -req -in server.csr -CA right.pem -CAkey right.key -CAcreateserial -days 2 -extfile server.ext \
      -out server.pem 2>/dev/null' sh "${ENDPOINT%:*}" "$PKI"
}

teardown_file() {
  in_host rm -r "$PKI"
  two_hosts_down
}

teardown() {
  etcd_answers || etcd_start
  in_host cp "$PKI/right.pem" "$PKI/ca.pem"
  remove_containers_of_both
  in_host rm -f /run/hostb/config.toml
  remove_partitions
  wait_until 10 has_keys grants 0 || fail "$(etcd_keys grants)"
  run on b ipuctl fleet leave # it knows the partitions that are gone, until it asks for one again
  etcd_stop
  unconfigure_fleet
}

take() { # HOST CONTAINER VARIABLE...
  make_bundle_of "$1" "${@:3}"
  start_on "$1" "$2"
}
refused_in_one_line() { # HOST CONTAINER VARIABLE...
  run -1 take "$@"
  assert_equal "${#lines[@]}" 1
}

# A container that was created has its first process, its interface and its partition.
goes_on() { # HOST CONTAINER
  local pid
  assert_equal "$(on "$1" runc --root "/run/oci-$1" state "$2" | jq -r .status)" created
  pid=$(on "$1" runc --root "/run/oci-$1" state "$2" | jq -r .pid)
  assert_contains "$(in_host nsenter --target "$pid" --net ip -o link show roce0)" UP
  assert_contains "$(partitions)" "$(on "$1" ipuctl ps -o json | jq -r --arg id "$2" '.[] | select(.container == $id).partition')"
}
partitions() { on a ipuctl partition list -o json | jq -r '.[].partition'; }
gc_empties() { on "$1" ipuctl gc && is_empty "$1"; }      # HOST

# Puts values until etcd takes no more.
fill() {
  # shellcheck disable=SC2016
  in_host timeout 60 sh -c '
    for i in $(seq 100); do
      head -c 100000 /dev/zero | tr "\0" x | ETCDCTL_API=3 etcdctl --endpoints "http://$1" put "/others/$i" >/dev/null 2>&1 || exit 0
    done
    exit 1' sh "$ENDPOINT"
  assert_contains "$(etcd_control alarm list)" NOSPACE
}

# Frees what others had, as an operator does.
make_room() {
  local revision
  etcd_control del --prefix /others/ >/dev/null
  revision=$(etcd_control get / -w json | jq .header.revision)
  etcd_control compact "$revision" >/dev/null
  etcd_control defrag >/dev/null
  etcd_control alarm disarm >/dev/null
}

@test "a full etcd: what runs goes on, a start fails in one line, and an end is finished once there is room" {
  ETCD_OPTIONS=(--quota-backend-bytes 2000000)
  fleet_up
  on a ipuctl partition create p0 --size 8 --gcds 2
  take a one IPU_COUNT=4
  use b two 0
  fill
  refused_in_one_line a none IPU_COUNT=4
  assert_contains "$output" 'the store is full (alarm NOSPACE)'
  refused_in_one_line b none IPU_PARTITION=p0 IPU_GCD=1
  assert_contains "$output" 'the store is full (alarm NOSPACE)'
  refused_in_one_line b none IPU_COUNT=4 IPU_WAIT=5s
  assert_contains "$output" 'the store is full (alarm NOSPACE)'
  goes_on a one
  goes_on b two
  end_on a one
  end_on b two
  make_room
  wait_until 20 gc_empties a || fail "$(on a ipuctl ps)"
  wait_until 20 gc_empties b || fail "$(on b ipuctl ps)"
  assert_equal "$(partitions)" p0
  assert_equal "$(claims)" 0
  assert_equal "$(count_keys grants)" 0
  take b three IPU_COUNT=4
}

@test "a store of a newer release: what runs goes on, a start names the version, and an end does not hang" {
  local meta version
  fleet_up
  on a ipuctl partition create p0 --size 8 --gcds 2
  take a one IPU_COUNT=4
  use b two 0
  meta=$(etcd_control get --print-value-only /ipu-container-toolkit/meta)
  version=$(etcd_keys meta)
  # As a newer release would do it: what this one compares is not there any more.
  etcd_control put /ipu-container-toolkit/meta "$(jq -c '.version = 2' <<<"$meta")" >/dev/null
  etcd_control del "$version" >/dev/null
  refused_in_one_line a none IPU_COUNT=4
  assert_contains "$output" 'is of version 2'
  refused_in_one_line b none IPU_PARTITION=p0 IPU_GCD=1
  assert_contains "$output" 'is of version 2'
  goes_on a one
  goes_on b two
  end_on a one
  end_on b two
  run on a ipuctl gc
  run on b ipuctl gc
  etcd_control put "$version" '' >/dev/null
  etcd_control put /ipu-container-toolkit/meta "$meta" >/dev/null
  wait_until 20 gc_empties a || fail "$(on a ipuctl ps)"
  wait_until 20 gc_empties b || fail "$(on b ipuctl ps)"
  assert_equal "$(claims) $(count_keys grants)" '0 0'
}

@test "another authority than etcd's: what runs goes on, a start names its file, and an end does not hang" {
  # shellcheck disable=SC2034 # etcd.bash reads it
  ETCD_SCHEME=https
  ETCD_OPTIONS=(--cert-file "$PKI/server.pem" --key-file "$PKI/server.key")
  # shellcheck disable=SC2034 # etcd.bash reads it
  ETCDCTL_OPTIONS=(--cacert "$PKI/right.pem")
  fleet_up
  in_host cp "$PKI/right.pem" "$PKI/ca.pem"
  in_host sh -c "echo 'ca = \"$PKI/ca.pem\"' >>$CONFIG"
  take a one IPU_COUNT=4
  take b two IPU_COUNT=4
  in_host cp "$PKI/wrong.pem" "$PKI/ca.pem"
  refused_in_one_line a none IPU_COUNT=4
  assert_contains "$output" "$PKI/ca.pem"
  goes_on a one
  goes_on b two
  end_on a one
  run on a ipuctl gc
  assert_equal "$(on a ipuctl ps -o json | jq -r '.[].state')" RELEASING
  in_host rm "$PKI/ca.pem"
  refused_in_one_line a none IPU_COUNT=4
  assert_contains "$output" "$PKI/ca.pem"
  goes_on b two
  in_host cp "$PKI/right.pem" "$PKI/ca.pem"
  wait_until 20 gc_empties a || fail "$(on a ipuctl ps)"
  assert_equal "$(count_keys grants)" 1
}

# Gives host "b" another prefix than host "a" has.
prefix_of_b() { # PREFIX
  in_host sh -c "{ sed '/^prefix = /d' $CONFIG; echo 'prefix = \"$1\"'; } >/run/hostb/config.toml"
}

@test "two fleets in one etcd: containers side by side, and neither sees what the other has" {
  fleet_up
  prefix_of_b /other/
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  take a one IPU_COUNT=4
  take b two IPU_COUNT=4
  on a ipuctl partition create p0 --size 4
  assert_equal "$(on a ipuctl fleet status -o json | jq -r '.hosts[].host')" "$(tag_of a)"
  assert_equal "$(on b ipuctl fleet status -o json | jq -r '.hosts[].host')" "$(tag_of b)"
  assert_equal "$(count_keys grants)" 1
  run -1 use b none 0
  assert_contains "$output" "'p0'"
  on b ipuctl gc
  on a ipuctl gc
  goes_on a one
  goes_on b two
  # What empties one of them leaves the other one alone.
  end_on a one
  on a ipuctl partition remove p0
  wait_until 10 is_empty a
  goes_on b two
  end_on b two
  wait_until 10 is_empty b
  assert_equal "$(etcd_control get --prefix --keys-only /other/grants/)" ''
}

@test "a fleet inside of the prefix of another one is refused, and so is one around it" {
  fleet_up
  in_host sh -c "echo 'prefix = \"/pods/one/\"' >>$CONFIG"
  on a ipuctl fleet beat
  take a one IPU_COUNT=4
  for prefix in /pods/one/inner/ /pods/one/grants/ /pods/; do
    prefix_of_b "$prefix"
    run -2 on b ipuctl fleet beat
    assert_equal "${#lines[@]}" 1
    assert_contains "$output" "choose another 'prefix'"
    refused_in_one_line b none IPU_COUNT=4
    assert_contains "$output" "choose another 'prefix'"
  done
  # A name that only begins like it is another one.
  prefix_of_b /pods/one-more/
  take b two IPU_COUNT=4
  assert_equal "$(on a ipuctl fleet status -o json | jq -r '.hosts[].host')" "$(tag_of a)"
  goes_on a one
  goes_on b two
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An etcd that loses its data: a copy comes back, running containers keep their GCDs, and hosts do not take an empty etcd
# for a new fleet. An etcd that is gone for good: what waits for it ends.

load support
load bundle
# shellcheck source=tests/e2e/two_hosts.bash
source "$BATS_TEST_DIRNAME/two_hosts.bash"
# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"
ENDPOINT=10.1.3.101:2379
ETCD_NETNS=/run/netns/pod
COPY=/run/fleet.json

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  host_config
  in_host sed -i 's|^range = .*|scheme = "ipu"\nbase = "10.5.64.0"\nmachines = "10.5.0.0/22"|' "$CONFIG"
  etcd_start
  configure_fleet
}

teardown() {
  local name
  etcd_answers || etcd_start
  in_host sed -i 's|^prefix = .*||' "$CONFIG"
  remove_containers_of_both
  for name in $(on a ipuctl partition list -o json | jq -r '.[].partition'); do
    on a ipuctl partition remove "$name" >/dev/null
  done
  etcd_stop
  unconfigure_fleet
  in_host rm -f "$COPY"
}

tag_of() { on "$1" ipuctl host list -o json | jq -r '.[] | select(.state == "this host").host'; } # HOST

use() { # HOST CONTAINER GCD
  make_bundle_of "$1" IPU_PARTITION=p0 "IPU_GCD=$3"
  start_on "$1" "$2"
}
end_on() { on "$1" ipu-container-runtime --root "/run/oci-$1" delete --force "$2"; } # HOST CONTAINER
wipe() { etcd_control del --prefix / >/dev/null; }
silence() { etcd_control del --prefix /ipu-container-toolkit/alive/ >/dev/null; }
claims() { etcd_control get --prefix --keys-only /ipu-container-toolkit/partitions/ | grep -c /claims/ || true; }
is_releasing() { [ "$(on a ipuctl ps -o json | jq -r '.[].state')" = RELEASING ]; }

@test "a copy of a lost etcd comes back, and each running container has its GCD" {
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  on a ipuctl partition create p0 --size 8 --gcds 4
  use a one 0
  use b two 1
  run -0 on a ipuctl fleet export "$COPY"
  assert_contains "$output" "to $COPY"
  [ "$(in_host stat -c %a "$COPY")" = 600 ]
  assert_equal "$(in_host jq -r '[.keys[].key | select(startswith("alive"))] | length' "$COPY")" 0
  use a three 2 # after the copy was made
  run -3 on a ipuctl fleet import "$COPY"
  assert_contains "$output" 'is alive below'
  wipe
  # Nobody takes an empty etcd for a new fleet.
  run -1 on a ipuctl fleet beat
  assert_contains "$output" "restore it with 'ipuctl fleet import'"
  run -1 use b four 3
  assert_contains "$output" "restore it with 'ipuctl fleet import'"
  assert_equal "$(etcd_control get --prefix / | wc -l)" 0
  on a ipuctl fleet import "$COPY"
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  run -1 use b four 0
  assert_contains "$output" "in use in the fleet by container one on host $(tag_of a)"
  run -1 on a ipuctl fleet check
  assert_contains "$output" "container three has GCD 2 of partition 'p0' without a claim"
  on a ipuctl gc
  assert_equal "$(claims)" 3
  run -0 on a ipuctl fleet check
  run -1 use b four 2
  assert_contains "$output" 'container three'
  use b four 3
}

@test "an import takes the place of another fleet only if it is told, and a hostile file changes nothing" {
  local text
  on a ipuctl fleet beat
  on a ipuctl fleet export "$COPY"
  on a ipuctl partition create p0 --size 8 --gcds 2
  silence
  run -1 on a ipuctl fleet import "$COPY"
  assert_contains "$output" 'give --replace'
  for text in '' '{' '{"version":2}' '{"version":1,"fleet":"0011223344556677","revision":1,"made_ms":1,"keys":[{"key":"meta","value":""}]}'; do
    in_host sh -c "printf '%s' '$text' >/run/hostile.json"
    run on a ipuctl fleet import /run/hostile.json --replace
    [ "$status" != 0 ]
    assert_equal "${#lines[@]}" 1
    assert_contains "$output" "import '/run/hostile.json'"
  done
  in_host rm /run/hostile.json
  on a ipuctl fleet export - | jq -e '.keys | length == 2'
  # The controller still has the partition that the copy does not know.
  in_host cat "$COPY" | on a ipuctl fleet import - --replace
  run -3 on a ipuctl fleet check
  assert_contains "$output" "this host knows partition 'p0'"
  silence
  on a ipuctl partition remove p0
}

@test "an etcd that is gone for good keeps no lease back" {
  on a ipuctl fleet beat
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  run -3 on a ipuctl fleet leave --lost
  assert_contains "$output" 'etcd answers, so nothing was given up'
  etcd_stop
  end_on a one
  wait_until 20 is_releasing
  run -3 on a ipuctl fleet check
  run -0 on a ipuctl fleet leave --lost
  assert_contains "$output" 'gave up the claim of GCD 0 of partition p0 by container one'
  on a ipuctl gc >/dev/null 2>&1 || true
  assert_equal "$(on a ipuctl ps -o json)" '[]'
  # It comes back after all.
  etcd_start
  on a ipuctl gc
  assert_equal "$(claims)" 0
  on a ipuctl partition remove p0
}

@test "what differs between two hosts of a fleet is told" {
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  run on a ipuctl fleet check -o json
  [ "$status" = 0 ] || fail "$output"
  assert_equal "$(jq -r '.hosts, (.troubles | length)' <<<"$output" | tr '\n' ' ')" '2 0 '
  on a ipuctl doctor -o json >"$BATS_TEST_TMPDIR/doctor" || true
  assert_equal "$(jq -r '.[] | select(.check == "fleet").result' "$BATS_TEST_TMPDIR/doctor")" ok
  # Host b has another prefix, and partitions.
  make_bundle_of b IPU_COUNT=2
  start_on b two
  etcd_control del "/ipu-container-toolkit/hosts/$(tag_of b)" >/dev/null
  run -1 on a ipuctl fleet check
  assert_contains "$output" "host $(tag_of b) has partitions at the controller of pool"
  on b ipuctl fleet beat
  etcd_stop
  on a ipuctl doctor -o json >"$BATS_TEST_TMPDIR/doctor" || true
  assert_equal "$(jq -r '.[] | select(.check == "fleet").result' "$BATS_TEST_TMPDIR/doctor")" failed
}

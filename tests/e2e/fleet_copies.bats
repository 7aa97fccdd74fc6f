#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An etcd that loses its data: a copy comes back, running containers keep their GCDs, and hosts do not take an empty etcd
# for a new fleet. An etcd that is gone for good: what waits for it ends.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
COPY=/run/fleet.json

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() { fleet_up; }

teardown() {
  etcd_answers || etcd_start
  in_host sed -i 's|^prefix = .*||' "$CONFIG"
  remove_containers_of_both
  remove_partitions
  etcd_stop
  unconfigure_fleet
  in_host rm -f "$COPY"
}

wipe() { etcd_control del --prefix / >/dev/null; }
silence() { etcd_control del --prefix /ipu-container-toolkit/alive/ >/dev/null; }
doctor_of_fleet() {
  run --separate-stderr on a ipuctl doctor -o json
  jq -r '.[] | select(.check == "fleet").result' <<<"$output"
}
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
  # GCD 2 seems to be free, until its host has told.
  on b ipuctl fleet beat
  run -1 use b four 2
  assert_contains "$output" "host $(tag_of a) has not told since what its containers have: run 'ipuctl gc' there"
  run -3 on a ipuctl fleet check # for it has not beaten since
  assert_contains "$output" "container three has GCD 2 of partition 'p0' without a claim"
  assert_contains "$output" "host $(tag_of a) has not told since"
  on a ipuctl fleet beat
  assert_equal "$(claims)" 3
  run -0 on a ipuctl fleet check
  run -1 use b four 0
  assert_contains "$output" "in use in the fleet by container one on host $(tag_of a)"
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
  on a ipuctl fleet export - | jq -e '[.keys[] | select(.key | startswith("usage/") | not)] | length == 2'
  # The controller still has the partition that the copy does not know.
  in_host cat "$COPY" | on a ipuctl fleet import - --replace
  run -3 on a ipuctl fleet check
  assert_contains "$output" "this host knows partition 'p0'"
  run -3 on a ipuctl partition remove p0
  assert_contains "$output" 'has not told since'
  on a ipuctl gc >/dev/null
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
  run on a ipuctl gc # etcd is away
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
  assert_equal "$(doctor_of_fleet)" ok
  # Host b has another prefix, and partitions.
  make_bundle_of b IPU_COUNT=2
  start_on b two
  etcd_control del "/ipu-container-toolkit/hosts/$(tag_of b)" >/dev/null
  run -1 on a ipuctl fleet check
  assert_contains "$output" "host $(tag_of b) has partitions at the controller of pool"
  on b ipuctl fleet beat
  etcd_stop
  assert_equal "$(doctor_of_fleet)" failed
}

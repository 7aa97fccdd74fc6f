#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet and the partitions that operators name: a GCD has one container, a partition is neither reset nor
# removed under a container of the other host, and nobody has to adopt it.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  in_host truncate --size 0 "$SIM_LOG"
  fleet_up
}

teardown() {
  in_host rm -f /run/hostb/config.toml
  etcd_answers || etcd_start
  remove_containers_of_both
  remove_partitions
  in_host rm -f /run/hostb/config.toml
  assert_equal "$(etcd_keys partitions)" ''
  etcd_stop
  unconfigure_fleet
}

resets() { sim_log 'map(select(.method == "ResetPartition")) | length'; }

has_claims() { [ "$(claims)" = "$1" ]; }

@test "a partition of one host is used on the other, without an adoption, and each GCD once" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  use b two 1
  assert_equal "$(claims)" 2
  assert_equal "$({ on a ipuctl ps -o json && on b ipuctl ps -o json; } | jq -r '.[].rails[].address' | sort -u | wc -l)" 2
  run -1 use b three 0
  assert_contains "$output" "in use in the fleet by container one on host $(tag_of a) (GCD 0)"
  run -0 on b ipuctl partition show p0
  assert_contains "$output" "container one on host $(tag_of a) (GCD 0)"
  assert_contains "$(on b ipuctl partition list --holders)" "one@$(tag_of a)"
  assert_equal "$(resets)" 0
}

@test "what one host has left is reset before the other uses it, and not under a container" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  end_on a one
  wait_until 10 has_claims 0
  use b two 0
  assert_equal "$(resets)" 1
  use a three 1
  assert_equal "$(resets)" 1
  end_on a three
  wait_until 10 has_claims 1
  wait_until 10 is_empty a
  run -3 on a ipuctl partition reset p0
  assert_contains "$output" "container two on host $(tag_of b)"
  run -3 on a ipuctl partition remove p0 --force
  assert_contains "$output" "container two on host $(tag_of b)"
  end_on b two
  wait_until 10 has_claims 0
  wait_until 10 is_empty b
  run -0 on b ipuctl partition remove p0
  run -1 use a four 0
  assert_contains "$output" "has no partition 'p0'"
}

@test "hosts that want one GCD at the same time: one gets it, and the other one says who has it" {
  local round first second
  on a ipuctl partition create p0 --size 8 --gcds 2
  for round in 1 2 3 4 5 6; do
    make_bundle_of a IPU_PARTITION=p0 IPU_GCD=0
    make_bundle_of b IPU_PARTITION=p0 IPU_GCD=0
    start_on a "a$round" 3>&- >"$BATS_TEST_TMPDIR/a" 2>&1 &
    first=$!
    start_on b "b$round" 3>&- >"$BATS_TEST_TMPDIR/b" 2>&1 &
    second=$!
    wait "$first" && first=0 || first=1
    wait "$second" && second=0 || second=1
    assert_equal "$((first + second))" 1
    grep -q 'in use in the fleet by container' "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" ||
      fail "$(cat "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b")"
    assert_equal "$(claims)" 1
    if [ "$first" = 0 ]; then end_on a "a$round"; else end_on b "b$round"; fi
    wait_until 10 has_claims 0
  done
}

# Gives each host a range of its own. No host asks the fabric who has an address: etcd alone keeps them apart.
ranges_up() {
  in_host sed -i 's|^base = .*|&\nrange = "10.5.200.10-10.5.200.49"|; s|^\[\[network.rail\]\]|[network]\nduplicate_probe = "0s"\n\n&|' "$CONFIG"
  in_host sh -c "sed 's|^range = .*|range = \"10.5.200.50-10.5.200.99\"|' $CONFIG >/run/hostb/config.toml"
}

address_on() { on "$1" ipuctl ps -o json | jq -r ".[] | select(.container == \"$2\").rails[].address"; } # HOST CONTAINER
count_by_ipu() { # how many containers have the address that their IPUs give
  { on a ipuctl ps -o json && on b ipuctl ps -o json; } | jq -s 'map(.[].rails[] | select(.address | startswith("10.5.200.") | not)) | length'
}

@test "hosts that start on one shared GCD at the same time never share an address or a MAC" {
  local round
  ranges_up
  on a ipuctl partition create p0 --size 8 --gcds 2 --shared
  for round in 1 2 3 4 5 6; do
    make_bundle_of a IPU_PARTITION=p0 IPU_GCD=0
    make_bundle_of b IPU_PARTITION=p0 IPU_GCD=0
    start_both_apart "$round"
    assert_equal "$(count_by_ipu)" 1
    end_on a "a$round"
    end_on b "b$round"
    wait_until 10 has_claims 0
  done
}

@test "the address of a shared GCD is that of one container of all hosts, until it has ended" {
  local given
  ranges_up
  on a ipuctl partition create p0 --size 8 --gcds 2 --shared
  use a one 0
  given=$(address_on a one)
  use b two 0
  assert_contains "$(address_on b two)" 10.5.200.5
  in_host sed -i '/^range = /d' /run/hostb/config.toml
  make_bundle_of b IPU_PARTITION=p0 IPU_GCD=0
  run -1 start_on b three
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "address $given of rail 'rnic0', which follows from the IPUs of partition 'p0', is held in the fleet by container one on host $(tag_of a) (GCD 0)"
  assert_contains "$output" "set it in network.rail"
  end_on a one
  wait_until 10 has_claims 1
  use b three 0
  assert_equal "$(address_on b three)" "$given"
}

@test "a request that waits gets the GCD when the container of the other host ends" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  use b two 0 IPU_WAIT=60s 3>&- &
  sleep 1
  end_on a one
  wait $!
  assert_equal "$(on b ipuctl ps -o json | jq -r '.[].container')" two
}

@test "cut off from etcd: what runs goes on, a start fails in one line, and an end is finished later" {
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  use b two 1
  etcd_stop
  make_bundle_of a IPU_PARTITION=p0 IPU_GCD=1
  run -1 start_on a three
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "$ENDPOINT"
  assert_equal "$(on a runc --root /run/oci-a state one | jq -r .status)" created
  make_bundle_of a IPU_COUNT=2
  run -1 start_on a four
  assert_equal "${#lines[@]}" 1
  end_on b two
  wait_until 20 is_releasing
  etcd_start
  wait_until 20 gc_leaves_claims 1
}

gc_leaves_claims() { on b ipuctl gc && has_claims "$1"; } # NUMBER
is_releasing() { [ "$(on b ipuctl ps -o json | jq -r '.[].state')" = RELEASING ]; }

has_stopped() { [ "$(on a runc --root /run/oci-a state one | jq -r .status)" = stopped ]; }

@test "a dead host: its claims go with the fence, and it starts nothing more of the fleet until it is forgotten" {
  local tag
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  tag=$(tag_of a)
  on a ipuctl fleet beat
  run -3 on b ipuctl host fence "$tag"
  assert_contains "$output" 'is alive in the fleet'
  assert_contains "$(on b ipuctl host fence "$tag" --alive --dry-run)" 'by container one on host'
  on b ipuctl host fence "$tag" --alive
  assert_equal "$(claims)" 0
  on a runc --root /run/oci-a kill one KILL
  wait_until 10 has_stopped
  use b two 0
  run -1 use a three 1
  assert_contains "$output" "was declared dead with 'ipuctl host fence'"
  run -1 on a ipuctl fleet beat
  assert_contains "$output" "run 'ipuctl host forget $tag'"
  assert_equal "$(on b ipuctl fleet status -o json | jq -r ".hosts[] | select(.host == \"$tag\").state")" 'FENCED, LIVE'
  run -3 on a ipuctl fleet check
  assert_contains "$output" "host $tag ("
  run -3 on b ipuctl fleet leave
  assert_contains "$output" 'container two has it'
  on a ipuctl gc
  on b ipuctl host forget "$tag"
  use a three 1
}

status_of() { on a runc --root /run/oci-a state "$1" | jq -r .status; } # CONTAINER
have_ended() {
  run on a ipuctl fleet beat # which says that the host is fenced
  [ "$(status_of one) $(status_of two)" = 'stopped stopped' ]
}

@test "a host that lives and was fenced ends what it lost, says why, and gets nothing more" {
  local tag other
  on a ipuctl partition create p0 --size 8 --gcds 2
  use a one 0
  make_bundle_of a IPU_COUNT=2
  start_on a two
  tag=$(tag_of a) other=$(tag_of b)
  on a ipuctl fleet beat
  on b ipuctl host fence "$tag" --alive
  run -1 on a ipuctl fleet beat
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" 'now ending: one, two'
  make_bundle_of a IPU_COUNT=2
  run -1 start_on a later
  assert_contains "$output" "ipuctl host forget $tag"
  wait_until 30 have_ended || fail "$(on a ipuctl ps)"
  assert_contains "$(on a ipuctl explain one)" "declared dead by host $other, and others may have these IPUs: SIG"
  assert_contains "$(in_host cat /var/lib/ipu-container-toolkit/audit.log)" "container one: this host was declared dead by host $other, and others may have these IPUs: SIG"
  on a ipuctl gc
  assert_equal "$(on a ipuctl ps -o json)" '[]'
  run -1 on a ipuctl fleet beat
  ! grep -q 'now ending' <<<"$output" || fail "$output"
  on b ipuctl host forget "$tag"
  on a ipuctl fleet beat
  use a four 1
  on a ipuctl fleet beat
  assert_equal "$(status_of four)" created
}

left() { [ "$(on b ipuctl ps -o json | jq -r '[.[].state] | unique | join(" ")')" = "$1" ]; } # STATES
a_sees() { on a ipuctl fleet status -o json | jq -r --arg tag "$1" 'any(.hosts[]; .host == $tag)'; } # TAG

@test "a host leaves the fleet with the partition that its containers have, goes on alone, and comes back" {
  on b ipuctl partition create p0 --size 8 --gcds 2
  use a one 1
  use b two 0
  make_bundle_of b IPU_COUNT=2
  start_on b three
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  run -3 on b ipuctl fleet leave
  assert_contains "$output" "container one on host $(tag_of a)"
  end_on a one
  wait_until 10 has_claims 1
  run -0 on b ipuctl fleet leave
  assert_contains "$output" 'took partition p0 along'
  assert_equal "$(claims)$(etcd_keys grants)" 0
  assert_equal "$(a_sees "$(tag_of b)")" false
  left RUNNING || fail "$(on b ipuctl ps)"
  # A timer or a user does not join it again.
  run -1 on b ipuctl fleet beat
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "has left fleet"
  run -0 on b ipuctl gc
  assert_equal "$(etcd_keys grants)" ''
  run -1 use b four 1
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "'ipuctl fleet join'"
  run -1 use a five 1
  assert_contains "$output" 'left the fleet with it'
  run -3 on a ipuctl partition adopt p0
  run -3 on a ipuctl host forget "$(tag_of b)"
  assert_contains "$output" 'is still there'
  assert_equal "$(claims)" 0
  # Alone, and then once more in the fleet.
  in_host sh -c "sed '/^\[fleet\]/,\$d' $CONFIG >/run/hostb/config.toml"
  etcd_stop
  use b four 1
  run -1 use b five 0
  assert_contains "$output" 'in use'
  end_on b three
  wait_until 10 left RUNNING || fail "$(on b ipuctl explain three)"
  assert_equal "$(resets)" 0
  in_host rm /run/hostb/config.toml
  etcd_start
  run -0 on b ipuctl fleet join
  assert_equal "$(claims)" 2
  run -1 use a five 1
  assert_contains "$output" "container four on host $(tag_of b)"
  end_on b four
  wait_until 10 has_claims 1
  use a five 1
  assert_equal "$(resets)" 0
}

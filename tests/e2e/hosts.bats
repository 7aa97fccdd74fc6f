#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts on one controller, each with a ledger of its own: what one may take for its own, and what it may not.

load support

LEDGER=/var/lib/ipu-container-toolkit/ledger.db

teardown() {
  remove_containers
  ipuctl host list -o json | jq -r '.[] | select(.state != "this host").host' | while read -r host; do
    ipuctl host fence "$host" >/dev/null && ipuctl host forget "$host" >/dev/null
  done
  ! in_host test -d /run/other-host || in_host rm -r /run/other-host
  remove_partitions
  wait_until 10 gc_leaves_nothing || assert_nothing_left
}

tag_of() { "$@" ipuctl host list -o json | jq -r '.[] | select(.state == "this host").host'; }
partitions() { ipuctl partition list -o json | jq -r '[.[].partition] | sort | join(" ")'; }

# A container and a partition of this host.
hold() {
  start first -e IPU_COUNT=4
  ipuctl partition create p0 --size 4 >/dev/null
}

# The disk of this host, on the other one, after a reboot.
copy_disk() {
  in_host mkdir -p /run/other-host/state
  in_host cp -a /var/lib/ipu-container-toolkit/. /run/other-host/state/
  on_other_host python3 -c '
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1])
ledger.execute("UPDATE lease SET boot_id = ?", ["another"])
ledger.commit()' "$LEDGER"
}

@test "the names of partitions say which host made them" {
  local here there
  start first -e IPU_COUNT=4
  ipuctl reserve mine --ipus 4
  on_other_host ipuctl reserve theirs --ipus 4
  here=$(tag_of in_host) there=$(tag_of on_other_host)
  [ "$here" != "$there" ] || fail "both are $here"
  assert_contains "$(lease_of first .partition)" "c-$here-"
  assert_contains "$(partitions)" "r-$here-"
  assert_contains "$(partitions)" "r-$there-"
  run -0 ipuctl host list
  assert_contains "$output" "$here  2           8     this host"
  assert_contains "$output" "$there  1           4"
  ipuctl reservation end mine
  on_other_host ipuctl reservation end theirs
}

@test "a ledger that was copied to another host starts nothing there, and removes nothing of its own host" {
  local before
  hold
  before=$(partitions)
  copy_disk
  for command in gc 'partition create p1 --size 4' 'partition reset p0' 'partition remove p0' 'drain --timeout 1s' 'reserve job --ipus 4'; do
    # shellcheck disable=SC2086
    run -1 on_other_host ipuctl $command
    assert_contains "$output" 'the ledger is of another host (this is one with another machine-id)'
    assert_contains "$output" "run 'ipuctl ledger adopt-host'"
  done
  run -1 on_other_host ipuctl doctor
  assert_contains "$output" 'the ledger is of another host (this is one with another machine-id)'
  run -0 on_other_host ipuctl ps
  assert_contains "$output" pod64
  run -3 on_other_host ipuctl ledger adopt-host
  assert_contains "$output" "containers there use them, and 'ipuctl ledger rebuild' is what this host needs"
  assert_equal "$(partitions)" "$before"
  # shellcheck disable=SC2046
  assert_contains "$(inside first dial $(first_endpoint first))" partition
}

@test "a rebuild on a copied disk leaves all to the other host" {
  local before
  hold
  before=$(partitions)
  copy_disk
  run -0 on_other_host ipuctl ledger rebuild
  assert_contains "$output" '1 lease and 1 partition in it are left to that host'
  run -0 on_other_host ipuctl gc
  assert_equal "$(partitions)" "$before"
  assert_equal "$(on_other_host ipuctl ps -o json | jq length)" 0
  run -0 on_other_host ipuctl reserve theirs --ipus 4
  run -0 on_other_host ipuctl reservation end theirs
  run -0 on_other_host ipuctl ledger rebuild --force
  run -0 on_other_host ipuctl gc
  assert_equal "$(partitions)" "$before"
}

@test "a host that was repaired adopts its ledger, and releases what it held" {
  start first -e IPU_COUNT=4
  copy_disk
  docker rm --force first
  wait_until 10 has_leases 0
  run -0 on_other_host ipuctl ledger adopt-host
  assert_contains "$output" 'from now on'
  run -0 on_other_host ipuctl gc
  assert_equal "$(on_other_host ipuctl ps -o json | jq length)" 0
  run -0 on_other_host ipuctl ledger adopt-host
  assert_contains "$output" already
}

@test "a dead host is fenced: its partitions are free, those of others stay" {
  local here there before option
  hold
  before=$(partitions)
  on_other_host ipuctl reserve theirs --ipus 8
  here=$(tag_of in_host) there=$(tag_of on_other_host)
  run -2 ipuctl host fence "$here"
  assert_contains "$output" "host $here is this one"
  run -2 ipuctl host fence train
  assert_contains "$output" "'train' is no host"
  run -2 ipuctl host fence unknown
  assert_contains "$output" 'before 0.1'
  for option in '' --dry-run; do
    # shellcheck disable=SC2086 # no option at all
    run -1 ipuctl host fence deadbeef $option
    assert_contains "$output" "no partition at the controllers is of host 'deadbeef'"
  done
  run -3 ipuctl host forget "$there"
  assert_contains "$output" "if the host is dead, run 'ipuctl host fence $there' first"
  run -0 ipuctl host fence "$there" --dry-run
  assert_contains "$output" "would remove partition r-$there-"
  run -0 ipuctl host fence "$there"
  assert_contains "$output" "removed partition r-$there-"
  assert_equal "$(partitions)" "$before"
  run -0 ipuctl host list
  assert_contains "$output" 'fenced at'
  run -0 ipuctl host fence "$there"
  run -0 ipuctl host forget "$there"
  run -1 ipuctl host forget "$there"
  assert_contains "$output" 'is not fenced'
  assert_contains "$(ipuctl events)" "of the dead host $there"
}

@test "a host without a disk removes at boot what it had made, and nothing else" {
  local before
  hold
  before=$(partitions)
  in_host mkdir -p /run/other-host
  in_host sh -c '{ cat /etc/ipu-container-toolkit/config.toml; printf "[host]\nid = \"rack3-7\"\n"; } >/run/other-host/config.toml'
  on_other_host ipuctl reserve theirs --ipus 8
  [ "$(partitions)" != "$before" ]
  # It boots.
  in_host rm -r /run/other-host/state /run/other-host/run
  run -0 on_other_host ipuctl gc
  assert_equal "$(partitions)" "$before"
  # A ledger that stays does not say that what it does not have is from before.
  on_other_host ipuctl reserve theirs --ipus 8
  on_other_host ipuctl reservation end theirs
  run -0 on_other_host ipuctl gc
  assert_equal "$(partitions)" "$before"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The machine has lost its power while containers had IPUs, and has booted again: `once`, and `again`, which docker has to
# start at boot. guest_before_reboot made them. Nobody but the units of the product has cleaned up.

load support

setup_file() { wait_until "$LIMIT" has_booted; }

teardown_file() {
  remove_containers
  assert_nothing_left
}

has_booted() { [[ $(systemctl is-system-running) =~ running|degraded ]]; }

# When a unit came into a state, in microseconds since boot.
instant() { systemctl show --property "$2TimestampMonotonic" --value "$1.service"; } # UNIT STATE

assert_before() { # UNIT STATE UNIT STATE
  [ "$(instant "$1" "$2")" -gt 0 ] || fail "$1 was not run at boot"
  [ "$(instant "$1" "$2")" -le "$(instant "$3" "$4")" ] ||
    fail "$2 of $1: $(instant "$1" "$2"); $4 of $3: $(instant "$3" "$4")"
}

@test "after a power cut, gc releases all leases of before, and then the engines start" {
  assert_before ipu-container-toolkit-gc ExecMainExit containerd ExecMainStart
  assert_before ipu-container-toolkit-gc ExecMainExit docker ExecMainStart
  assert_contains "$(ipuctl events)" 'gc released 2 leases'
}

@test "the host's packet filter stands before an engine starts" {
  assert_before ipu-border ActiveEnter containerd ExecMainStart
  nft list table inet ipu-guard >/dev/null
}

@test "the container that docker starts at boot has new IPUs, and reaches them" {
  wait_until "$LIMIT" is_running again
  # shellcheck disable=SC2046
  assert_contains "$(inside again nc -w 5 $(first_endpoint again))" "$(lease_of again .partition)"
  assert_equal "$(leases)" 1
  assert_equal "$(ipuctl partition list -o json | jq length)" 1
  assert_contains "$(nft list table netdev ipu-border)" "$(address_in again)"
}

is_running() { [ "$(docker inspect -f '{{.State.Running}}' "$1")" = true ]; }

@test "users are served, and the timers are armed" {
  assert_contains "$(host_run runuser -u alice -- timeout "$LIMIT" ipuctl ps)" RUNNING
  assert_contains "$(systemctl list-timers --no-pager)" ipu-container-toolkit-gc.service
  assert_equal "$(systemctl list-units --no-legend --plain --state failed 'ipu-*')" ''
}

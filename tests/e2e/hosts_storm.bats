#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A short storm of two hosts that share a controller and an etcd; `make check-storm` has a long one of four. See
# tests/storm/hosts.bash. SEED=N repeats one run's decisions.

load support
# shellcheck source=tests/storm/storm.bash
source "$BATS_TEST_DIRNAME/../storm/storm.bash"
# shellcheck source=tests/storm/hosts.bash
source "$BATS_TEST_DIRNAME/../storm/hosts.bash"

teardown() { hosts_clean; }

@test "two hosts lose power, etcd, the controller and links: nothing is shared, lost or left, and all agree" {
  local seed=${SEED:-$((RANDOM % 1000))}
  echo "seed $seed"
  hosts_rage 2 4 15 "$seed" 8
  hosts_figures
  hosts_started 8
  hosts_had_no_other_errors
  hosts_never_shared
  hosts_agree
  hosts_leave_nothing
}

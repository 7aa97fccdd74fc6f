#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Some starts while wrappers, hooks, V-IPU clients and the controller are killed; `make check-long` makes 200. See
# tests/storm/starts.bash. STARTS=N sets how many, SEED=N repeats one run's decisions.

load support
# shellcheck source=tests/storm/storm.bash
source "$BATS_TEST_DIRNAME/../storm/storm.bash"
# shellcheck source=tests/storm/starts.bash
source "$BATS_TEST_DIRNAME/../storm/starts.bash"

setup() { storm_begin; }

teardown() {
  storm_stop
  remove_containers
  ipuctl gc
  storm_clean
}

@test "whatever is killed: who waits runs in the end, who does not is told why, and nothing is shared or left" {
  local starts=${STARTS:-16} seed=${SEED:-$((RANDOM % 1000))}
  echo "seed $seed"
  starts_rage "$starts" "$seed" 600
  starts_figures
  starts_were_made "$starts"
  starts_had_no_other_errors
  starts_never_shared
  storm_ends_in_agreement
  storm_leaves_nothing
}

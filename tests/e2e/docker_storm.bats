#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A short storm of containers; `make check-long` has a long one. See tests/storm.

load support
# shellcheck source=tests/storm/storm.bash
source "$BATS_TEST_DIRNAME/../storm/storm.bash"

setup() { storm_begin; }

teardown() { storm_clean; }

@test "16 workers start, hurt and remove containers: nothing is shared, lost or left, and all agree" {
  storm_rage 15 16
  storm_figures
  storm_started 16
  storm_had_no_other_errors
  storm_never_shared
  storm_ends_in_agreement
  storm_leaves_nothing
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The host of all files of this folder, and of tests/attack: that of HOST_PID, which tests/run.sh made for several runs
# of bats, or else one for this run.

setup_suite() {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  OWN_HOST=
  [ -z "${HOST_PID:-}" ] || return 0
  OWN_HOST=yes
  # shellcheck source=tests/e2e/host.bash
  source tests/e2e/host.bash
  e2e_host_up
}

teardown_suite() {
  [ -n "$OWN_HOST" ] || return 0
  # shellcheck source=tests/e2e/conformance.bash
  source tests/e2e/conformance.bash
  # shellcheck source=tests/attack/table.bash
  source tests/attack/table.bash
  {
    print_conformance "$BATS_SUITE_TMPDIR/conformance"
    print_attacks "$BATS_SUITE_TMPDIR/attacks"
  } >&3
  host_down
}

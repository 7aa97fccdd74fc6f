# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Makes the virtual machine, which has just booted, the host of all files of this folder, unless it does so itself.

setup_suite() {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  # shellcheck source=tests/support/host.sh
  source tests/support/host.sh
  # shellcheck source=tests/rdma/guest.bash
  source tests/rdma/guest.bash
  ! systemctl --quiet is-active guest.service || return 0
  guest_network
  configure_rail 'parent = "rnic0"'
  # bats waits for whoever holds its descriptor 3.
  sim_start 3>&-
  guest_docker
}

teardown_suite() {
  # shellcheck source=tests/support/host.sh
  source "$BATS_TEST_DIRNAME/../support/host.sh"
  # shellcheck source=tests/rdma/guest.bash
  source "$BATS_TEST_DIRNAME/guest.bash"
  sim_stop
}

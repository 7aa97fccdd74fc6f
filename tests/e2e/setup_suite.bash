# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One throw-away host for all files of this folder: product installed, simulator and dockerd running.

setup_suite() {
  local compiler
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  # shellcheck source=tests/support/host.sh
  source tests/support/host.sh
  host_up
  host_install
  host_config
  sim_start
  docker_start
  # What containers must not reach: a server on every address of the host.
  host_spawn listener busybox nc -ll -p 9999 -e echo 'the host'
  # What a tenant could run in its container.
  read -ra compiler <<<"${CXX:-g++}"
  "${compiler[@]}" -std=c++20 -O1 -static -o "$BATS_SUITE_TMPDIR/dial" tests/e2e/dial.cc
  host_run tee /run/dial <"$BATS_SUITE_TMPDIR/dial" >/dev/null
  host_run chmod 0755 /run/dial
}

teardown_suite() {
  host_down
}

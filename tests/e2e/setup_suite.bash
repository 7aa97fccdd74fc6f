# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One throw-away host for all files of this folder: product installed, simulator and dockerd running.

setup_suite() {
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
  install_program dial /run/dial
  # What engines are replaced by, and low-level runtimes.
  host_run mkdir -p /run/spy
  install_program spy /run/spy/spy
  install_program odd_caller /run/spy/odd_caller
}

# Builds tests/e2e/NAME.cc, statically, into the host.
install_program() { # NAME PATH
  local compiler
  read -ra compiler <<<"${CXX:-g++}"
  "${compiler[@]}" -std=c++20 -O1 -static -o "$BATS_SUITE_TMPDIR/$1" "tests/e2e/$1.cc"
  host_run tee "$2" <"$BATS_SUITE_TMPDIR/$1" >/dev/null
  host_run chmod 0755 "$2"
}

teardown_suite() {
  # shellcheck source=tests/e2e/conformance.bash
  source tests/e2e/conformance.bash
  print_conformance >&3
  host_down
}

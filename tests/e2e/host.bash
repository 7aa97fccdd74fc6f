# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The throw-away host that the files of this folder and of tests/attack run on, one after the other: product installed, simulator and
# dockerd running. For sourcing in the project's folder.

# shellcheck source=tests/support/host.sh
source tests/support/host.sh

e2e_host_up() {
  host_up && host_install && host_config && sim_start && docker_start || return 1
  # What containers must not reach: a server on every address of the host.
  host_spawn listener busybox nc -ll -p 9999 -e echo 'the host'
  # What a tenant could run in its container; what engines are replaced by, and low-level runtimes.
  host_run mkdir -p /run/spy /run/attack
  install_program launcher /run/launcher && install_program dial /run/dial && install_program spy /run/spy/spy &&
    install_program odd_caller /run/spy/odd_caller && install_program raw /run/attack/raw &&
    install_program frame /run/attack/frame && install_program intruder /run/attack/intruder
}

install_program() { # NAME PATH
  host_run install -m 0755 /dev/stdin "$2" <"$O/bin/$1"
}

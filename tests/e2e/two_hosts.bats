#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a POD, each with a ledger of its own, and one configuration: scheme = "ipu". The second host is a network
# namespace of the first one. Bridges join both to the IPU-Machines and to the controller.

load support
load bundle
# shellcheck source=tests/e2e/two_hosts.bash
source "$BATS_TEST_DIRNAME/two_hosts.bash"

CONFIG=/etc/ipu-container-toolkit/config.toml

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  host_config
  in_host sed -i 's|^range = .*|scheme = "ipu"\nbase = "10.5.64.0"\nmachines = "10.5.0.0/22"|' "$CONFIG"
}

teardown() {
  remove_containers_of_both
  in_host ip -n pod route flush type local dev brfab
}

@test "two hosts with one configuration that start at the same time never share an address or a MAC" {
  local round
  for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
    make_bundle_of a IPU_COUNT=4
    make_bundle_of b IPU_COUNT=4
    start_both_apart "$round"
    on a ipu-container-runtime --root /run/oci-a delete --force "a$round"
    on b ipu-container-runtime --root /run/oci-b delete --force "b$round"
  done
}

@test "an address that another host answers for: the container gets other IPUs, and the first ones go back" {
  local taken
  make_bundle_of a IPU_COUNT=4
  start_on a first
  taken=$(on a ipuctl ps -o json | jq -r '.[].rails[].address')
  on a ipu-container-runtime --root /run/oci-a delete --force first
  wait_until 10 both_are_empty
  in_host ip -n pod route add local "$taken" dev brfab
  # A slow machine needs some time to ask.
  in_host sh -c "printf '[network]\nduplicate_probe = \"1s\"\n' >>$CONFIG"
  make_bundle_of a IPU_COUNT=4
  start_on a second
  assert_equal "$(on a ipuctl ps -o json | jq length)" 1
  [ "$(on a ipuctl ps -o json | jq -r '.[].rails[].address')" != "$taken" ]
  assert_equal "$(on a ipuctl partition list -o json | jq length)" 1
  assert_contains "$(on a ipuctl explain second)" "asks for other IPUs than lease"
}

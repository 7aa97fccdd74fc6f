# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ipu-agent on the host, and users: alice and bob of the group ipu, and carol. For the tests of ipu-agent.

setup_file() {
  in_host groupadd --system ipu
  in_host useradd --system ipu-agent
  for user in alice bob; do in_host useradd --groups ipu "$user"; done
  in_host useradd carol
  agent_start
}

teardown_file() {
  host_stop agent
  # Also if a process of theirs is about to end.
  for user in alice bob carol ipu-agent; do in_host userdel --force "$user"; done
  in_host groupdel ipu
}

setup() {
  host_config
  agent_answers || agent_start
}

teardown() {
  remove_containers
  remove_partitions
  assert_nothing_left
}

agent_start() {
  host_spawn agent ipu-agent
  wait_until 5 agent_answers
}
agent_answers() { ask alice queue >/dev/null 2>&1; }

# Runs a program as a user who has logged in.
as() { # USER COMMAND...
  in_host setpriv --reuid "$1" --regid "$1" --init-groups --inh-caps=-all --bounding-set=-all "${@:2}"
}
ask() { as "$1" timeout "$LIMIT" ipuctl "${@:2}"; } # USER WORD...

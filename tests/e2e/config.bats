#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl config: checks, shows and changes the configuration of the host.

load support

FILE=/etc/ipu-container-toolkit/config.toml

setup_file() { in_host cp -a "$FILE" /run/config.before; }
teardown_file() { in_host rm -f /run/config.before; }
teardown() {
  remove_containers
  in_host cp -a /run/config.before "$FILE"
  assert_nothing_left
}

assert_unchanged() { in_host cmp "$FILE" /run/config.before; }

@test "check: the file in force, another one, and what is wrong in it" {
  assert_contains "$(ipuctl config check)" "$FILE is correct: pools pod64 (10.1.3.101:8090); rails rnic0"
  in_host ipuctl config default | in_host tee /run/default.toml >/dev/null
  assert_contains "$(ipuctl config check /run/default.toml)" '/run/default.toml is correct'
  { ipuctl config default && printf '[policy]\nmax_ipu = 4\n'; } | in_host tee /run/default.toml >/dev/null
  run -2 ipuctl config check /run/default.toml
  local line
  line=$(($(ipuctl config default | wc -l) + 2))
  assert_contains "$output" "/run/default.toml line $line: unknown key 'policy.max_ipu'; accepted here: max_ipus"
  in_host rm /run/default.toml
  run -1 ipuctl config check /run/default.toml
  assert_contains "$output" "there is no /run/default.toml; 'ipuctl config default' prints one"
}

@test "set: the next container has it, and no longer after unset" {
  assert_equal "$(ipuctl config show pool.pod64.name)" "'pod64'"
  run -1 ipuctl config show policy.max_ipus
  local said
  said=$(ipuctl config set policy.max_ipus 2 --dry-run)
  assert_contains "$said" '+max_ipus = 2'
  assert_unchanged
  ipuctl config set policy.max_ipus 2
  assert_equal "$(ipuctl config show policy.max_ipus)" 2
  assert_equal "$(in_host stat -c '%a %u' "$FILE")" "$(in_host stat -c '%a %u' /run/config.before)"
  assert_refused -e IPU_COUNT=4 -- 'give a power of two from 1 to 2'
  ipuctl config set policy.max_ipus 4
  start four -e IPU_COUNT=4
  run -3 ipuctl config set pool.pod64.name other
  assert_contains "$output" '; keep the pool'"'"'s name, provider and file until it has ended'
  ipuctl config unset policy.max_ipus
  start eight -e IPU_COUNT=8
}

@test "set: what would make the file wrong changes nothing, and the error names the key" {
  run -2 ipuctl config set policy.max_ipus 1000
  assert_contains "$output" 'nothing was changed'
  assert_contains "$output" 'policy.max_ipus must be a number from 1 to 256'
  run -2 ipuctl config set policy.max_ipu 4
  assert_contains "$output" "unknown key 'policy.max_ipu'"
  run -2 ipuctl config unset pool.name
  assert_contains "$output" 'pool.name must be set'
  run -2 ipuctl config set policy 4
  run -1 ipuctl config unset policy.max_wait_cri
  assert_contains "$output" 'does not set'
  run -1 in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl config set policy.max_ipus 2
  assert_contains "$output" 'run ipuctl as root'
  assert_unchanged
}

@test "a configuration that is right in this shell alone is not right" {
  in_host sed -i '/^controller = /d' "$FILE"
  run -2 in_host env VIPU_CLI_API_HOST=10.1.3.101 ipuctl config check
  assert_contains "$output" 'this shell has VIPU_CLI_API_HOST, which the engine may not have: write controller = "HOST:PORT"'
  run -2 in_host env VIPU_CLI_API_HOST=10.1.3.101 ipuctl config check "$FILE"
  assert_contains "$output" 'this shell has VIPU_CLI_API_HOST'
  run -2 in_host env VIPU_CLI_API_HOST=10.1.3.101 ipuctl config set policy.max_ipus 2
  assert_contains "$output" 'nothing was changed' 'this shell has VIPU_CLI_API_HOST'
}

@test "a command that is misspelled is named as it was meant" {
  run -2 ipuctl confg check
  assert_contains "$output" "unknown command 'confg' (did you mean 'config'?); see 'ipuctl --help'"
  run -2 ipuctl ps --outptu json
  assert_contains "$output" "(did you mean '--output'?)"
}

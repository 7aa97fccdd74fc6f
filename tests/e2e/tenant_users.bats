#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The tenant of who asks: of gc-docker's caller, whom dockerd does not tell the runtime, and of ipu-agent's.
# shellcheck disable=SC2154 # stderr is set by bats

load support
load bundle
load agent

CONFIG=/etc/ipu-container-toolkit/config.toml

setup() {
  host_config
  in_host tee -a "$CONFIG" >/dev/null <<END

[policy]
tenant_variable = true
default_tenant = "guest"

[[tenant]]
name = "vision"
limit = 16
users = [$(uid_of alice)]

[[tenant]]
name = "nlp"
limit = 8
users = [$(uid_of bob)]

[[tenant]]
name = "guest"
END
  agent_answers || agent_start
}

teardown() {
  remove_containers
  remove_partitions
  host_config
  assert_nothing_left
}

uid_of() { in_host id -u "$1"; }
held() { ipuctl tenant show "$1" --output json | jq -c .held; } # TENANT
has_held() { [ "$(held "$1")" = "$2" ]; }

# gc-docker of a user who may call dockerd, in the group of its socket. SUDO_OF: who is said to have called sudo.
gc_docker_of() { # USER ARGUMENT...
  in_host setpriv --reuid "$1" --regid "$1" --groups "$(in_host stat -c %g /run/docker.sock)" --inh-caps=-all \
    env HOME=/tmp ${SUDO_OF:+"SUDO_UID=$SUDO_OF"} timeout "$LIMIT" gc-docker "${@:2}"
}
# A container that is called as its user.
start_of() { # USER OPTION...
  gc_docker_of "$1" run --detach --network none --name "$1" "${@:2}" busybox sleep 3600 >/dev/null
}

@test "gc-docker: the containers of two users count for the tenants of these users, and another's for the default" {
  run -0 --separate-stderr gc_docker_of alice --count 4 -- --rm busybox cat /run/ipu/lease.json
  assert_equal "$stderr" ''
  start_of alice -e IPU_COUNT=8
  start_of bob -e IPU_COUNT=4
  start_of carol -e IPU_COUNT=2
  assert_equal "$(held vision) $(held nlp) $(held guest)" '8 4 2'
  run -0 ipuctl lease show alice --output json
  assert_equal "$(jq -r .tenant <<<"$output")" vision
  # The share of the user's tenant holds.
  run -125 gc_docker_of bob --count 8 -- --rm busybox true
  assert_contains "$output" "tenant 'nlp' has 4 of at most 8 IPUs"
}

@test "gc-docker: for root it goes by who has called sudo, and for nobody else" {
  SUDO_OF=$(uid_of alice) start_of root -e IPU_COUNT=8
  SUDO_OF=$(uid_of alice) start_of bob -e IPU_COUNT=4
  assert_equal "$(held vision) $(held nlp)" '8 4'
}

@test "gc-docker: a tenant that the user names stays, as whoever may call dockerd can name any" {
  start_of alice -e IPU_COUNT=4 -e IPU_TENANT=nlp
  assert_equal "$(held vision) $(held nlp)" '0 4'
}

@test "gc-docker: where the policy refuses the variable, the default holds, and the user is told" {
  in_host sed -i '/^tenant_variable/d' "$CONFIG"
  run -0 --separate-stderr gc_docker_of alice run --detach --network none --name alice -e IPU_COUNT=4 busybox sleep 3600
  assert_contains "$stderr" "gc-docker: tenant 'vision' has you in its list, but policy.tenant_variable in config.toml"
  assert_contains "$stderr" "so the container counts for tenant 'guest'"
  assert_equal "$(held vision) $(held guest)" '0 4'
  in_host sed -i '/^default_tenant/d' "$CONFIG"
  run -125 gc_docker_of alice --count 4 -- --rm busybox true
  assert_contains "$output" 'so the container names none'
  assert_contains "$output" 'the container names no tenant; give one of vision, nlp, guest'
}

@test "gc-docker: without tenants, and without a configuration to read, the line is as before" {
  local line='docker run --runtime=ipu -e IPU_COUNT=4'
  assert_contains "$(gc_docker_of alice --count 4 --echo -- busybox)" "$line -e IPU_TENANT=vision"
  in_host chmod 0600 "$CONFIG"
  run -0 gc_docker_of alice --count 4 --echo -- busybox
  assert_contains "$output" "$line --shm-size"
  host_config
  run -0 gc_docker_of alice --count 4 --echo -- busybox
  assert_contains "$output" "$line --shm-size"
}

@test "ipu-agent: a reservation is of its caller's tenant, within its share, and gc-docker of this tenant uses it" {
  run -0 ask alice reserve night --ipus 16 --for 1h
  assert_equal "$(held vision)" 16
  run -3 ask alice reserve more --ipus 4 --for 1h
  assert_contains "$output" "tenant 'vision' has 16 of at most 16 IPUs"
  run -0 ask bob reserve day --ipus 4 --for 1h
  assert_equal "$(held nlp)" 4
  run -125 gc_docker_of bob run --rm -e IPU_RESERVATION=night busybox true
  assert_contains "$output" 'is of another tenant'
  start_of alice -e IPU_RESERVATION=night
  assert_equal "$(held vision)" 16
  assert_contains "$(ask alice explain alice)" RUNNING
  docker rm --force alice
  wait_until 10 ipuctl reservation end night
  ask bob reservation end day
  wait_until 10 has_held vision 0
}

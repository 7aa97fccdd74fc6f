#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container that has an RDMA device cannot be checkpointed, and is told so before the low-level runtime
# is called; what becomes of any other one is the low-level runtime's to say.

load support
load bundle
load fake_rdma

OTHER_STATE=/run/oci-other

setup_file() {
  fake_rdma_up 10.5.205.{1..20}
  host_config
  in_host sed -i 's/^range = .*/range = "10.5.205.1-10.5.205.20"/' /etc/ipu-container-toolkit/config.toml
}

teardown_file() {
  host_config
  fake_rdma_down
}

setup() {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
}

teardown() {
  in_host runc --root "$OTHER_STATE" delete --force job 2>/dev/null || true
  remove_bundle
  in_host rm -rf "$OTHER_STATE" /run/image
  in_host sed -i '/^\[network\]/,/^rdma/d' /etc/ipu-container-toolkit/config.toml
  assert_nothing_left
}

# The container "job", which runs.
start_job() {
  create job
  runtime start job
  assert_equal "$(runtime state job | jq -r .status)" running
}

without_times() { sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+-]+Z?/TIME/g'; }

# ipu-container-runtime with these arguments is runc with them, which fails.
assert_left_to_runc() { # ARGUMENT...
  local runc
  # Called by its path, which is in some of its errors.
  run -1 in_host /usr/bin/runc "$@"
  runc=$(without_times <<<"$output")
  run -1 in_host ipu-container-runtime "$@"
  assert_equal "$(without_times <<<"$output")" "$runc"
  [[ $runc != *ipu:* ]]
}

@test "checkpoint of a container with an RDMA device is refused in one line, and the container runs on" {
  start_job
  run -1 --separate-stderr runtime checkpoint --image-path /run/image --leave-running job
  assert_equal "$output" ''
  # shellcheck disable=SC2154
  assert_equal "$(wc -l <<<"$stderr")" 1
  assert_contains "$stderr" 'ipu: container job cannot be checkpointed: it has the RDMA device mlx5_2'
  assert_contains "$stderr" 'let the program save its own state'
  assert_equal "$(in_host jq -r .level "$LOG")" error
  assert_equal "$(in_host jq -r .msg "$LOG")" "$stderr"
  in_host test ! -e /run/image
  assert_equal "$(runtime state job | jq -r .status)" running
  assert_equal "$(ipuctl ps -o json | jq -r '.[].state')" RUNNING
}

@test "to refuse it takes neither runc nor configuration nor ledger" {
  start_job
  run -1 in_host strace -f -o /run/strace -e trace=execve,open,openat,openat2 \
    ipu-container-runtime --root "$STATE" checkpoint job
  # strace's, of ipu-container-runtime, and that of ipu-container-start.
  assert_equal "$(in_host grep -c 'execve(' /run/strace)" 2
  run ! in_host grep -E '/etc/ipu-container-toolkit|ledger\.db' /run/strace
}

@test "docker's containers are found by docker's own root" {
  start job -e IPU_COUNT=4
  local root
  root=$(in_host find /run/docker -path '*/moby/*/state.json')
  root=$(dirname "$(dirname "$root")")
  run -1 in_host ipu-container-runtime --root "$root" checkpoint "$(docker inspect -f '{{.Id}}' job)"
  assert_contains "$output" "ipu: container $(container_id job) cannot be checkpointed"
  docker rm --force job
}

@test "checkpoint of a container with IPUs and without an RDMA device is runc's" {
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nrdma = "off"'
  start_job
  assert_left_to_runc --root "$STATE" checkpoint --image-path /run/image job
}

@test "checkpoint of a container of that name below another root is runc's" {
  start_job
  make_bundle '.linux.cgroupsPath += "-other"'
  in_host sh -c "runc --root $OTHER_STATE run --detach --bundle $BUNDLE job </dev/null >/dev/null 2>&1"
  assert_left_to_runc --root "$OTHER_STATE" checkpoint --image-path /run/image job
}

@test "checkpoint of no container, or of one that does not exist, is runc's" {
  start_job
  assert_left_to_runc --root "$STATE" checkpoint
  assert_left_to_runc --root "$STATE" checkpoint --image-path job none
}

@test "checkpoint where the lease's files cannot be read is runc's" {
  start_job
  in_host find /run/ipu-container-toolkit/leases -name ledger.json -exec truncate --size 100 {} +
  assert_left_to_runc --root "$STATE" checkpoint --image-path /run/image job
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A pool that needs no controller: slices of a partition that was made ahead, as its IPUoF file has it.

load support
load sliced

setup() {
  host_config
  configure_slices "$SLICED"
}

teardown() {
  remove_containers
  wait_until 10 only_the_whole_is_left || fail 'still there:' "$(ipuctl ps)" "$(ipuctl partition list --pool slices)"
}

only_the_whole_is_left() {
  has_leases 0 && [ "$(ipuctl partition list --pool slices -o json)" = '[]' ] &&
    [ "$(ipuctl partition list -o json | jq -c '[.[].partition]')" = '["whole"]' ]
}

start_slice() { # NAME [DOCKER-OPTION...]
  start "$@" -e IPU_POOL=slices -e IPU_COUNT=4
}

ipuof_of() { # NAME FILTER
  inside "$1" cat /etc/ipuof.conf.d/ipuof.conf | jq -cS "$2"
}

sliced() { # FILTER
  in_host cat "$SLICED" | jq -cS "$1"
}

pool_usage() {
  ipuctl pool list --pool slices -o json | jq -c '.[0].usage'
}

@test "four containers have the partition's IPUs among them, a machine each, as its file has them" {
  local name
  for name in one two three four; do
    start_slice "$name"
    assert_equal "$(ipuof_of "$name" .attributes)" "$(sliced .attributes)"
    assert_equal "$(ipuof_of "$name" '[.devices[].device_id] | sort')" '[0,1,2,3]'
    assert_equal "$(ipuof_of "$name" '[.devices[].ip] | unique | length')" 1
    assert_equal "$(lease_of "$name" .pool)" slices
  done
  assert_equal "$(for name in one two three four; do ipuof_of "$name" '.devices[]'; done | sort)" "$(sliced '.devices[]' | sort)"
  assert_equal "$(pool_usage)" '{"ipus":16,"used":16,"tainted":0,"largest_free":0}'
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=4 -- 'pool "slices" has no free block of 4 IPUs (largest free: 0, held by 4 containers)'
}

@test "a slice reaches its own endpoints, and not those of another slice" {
  start_slice one
  start_slice two
  # shellcheck disable=SC2046
  {
    assert_contains "$(inside one dial $(first_endpoint one))" 'partition whole'
    assert_unreachable one $(first_endpoint two)
  }
}

@test "a slice is aligned: one IPU taken leaves room for 8, 4, 2 and 1" {
  local size
  start one -e IPU_POOL=slices -e IPU_COUNT=1
  assert_equal "$(pool_usage)" '{"ipus":16,"used":1,"tainted":0,"largest_free":8}'
  for size in 8 4 2 1; do
    docker run --detach --runtime=ipu -e IPU_POOL=slices -e "IPU_COUNT=$size" busybox sleep 3600
  done
  assert_equal "$(pool_usage)" '{"ipus":16,"used":16,"tainted":0,"largest_free":0}'
}

@test "a slice is free when its container ends, also by SIGKILL, and one that waits gets it" {
  start big -e IPU_POOL=slices -e IPU_COUNT=16
  start_slice next -e IPU_WAIT=30s 3>&- &
  local waiting=$!
  wait_until 10 has_waiters 1
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' big)"
  wait "$waiting"
  assert_equal "$(pool_usage)" '{"ipus":16,"used":4,"tainted":0,"largest_free":8}'
}

@test "tainted IPUs are not given away" {
  in_host sh -c 'echo "taints = [0, 5, 10, 15]" >>/etc/ipu-container-toolkit/config.toml'
  assert_equal "$(pool_usage)" '{"ipus":16,"used":0,"tainted":4,"largest_free":2}'
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=4 -- 'no free block of 4 IPUs (largest free: 2'
}

@test "an IPUoF file that is away or damaged: refused, and what was given is still given back" {
  start_slice one
  in_host mv "$SLICED" /run/p16.conf
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=4 -- "$SLICED"
  in_host sh -c "echo '{' >$SLICED"
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=4 -- "$SLICED"
  docker rm --force one
  wait_until 10 has_leases 0
  in_host mv /run/p16.conf "$SLICED"
}

@test "the other pool is not affected" {
  start one -e IPU_COUNT=4
  assert_equal "$(lease_of one .pool)" pod64
  start two -e IPU_POOL=pod64 -e IPU_COUNT=4
  assert_refused -e IPU_POOL=other -e IPU_COUNT=4 -- 'other'
}

@test "gc-docker: all of the file in /etc/ipuof.conf.d, or of IPUOF_CONFIG_PATH, by the pool that shares it out" {
  local variable
  for variable in A=B "IPUOF_CONFIG_PATH=$SLICED"; do
    run -0 --separate-stderr in_host env "$variable" gc-docker -- --rm busybox cat /run/ipu/lease.json
    # shellcheck disable=SC2154 # set by bats
    assert_equal "$stderr" ''
    assert_equal "$(jq -r '"\(.pool) \(.ipus)"' <<<"$output")" 'slices 16'
    wait_until 10 has_leases 0
  done
}

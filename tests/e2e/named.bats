#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Containers that use a partition made ahead, and share it by its GCDs.

load support

setup() {
  in_host truncate --size 0 "$SIM_LOG"
}

teardown() {
  remove_containers
  remove_partitions
  assert_nothing_left
}

make_partition() { # NAME OPTION...
  ipuctl partition create "$@" >/dev/null
}

# A container of IPU_PARTITION that is there only until it has started.
use() { # PARTITION
  docker run --rm --runtime=ipu -e "IPU_PARTITION=$1" busybox true
}

resets_of() { # PARTITION
  sim_log "map(select(.method == \"ResetPartition\" and .partition == \"$1\")) | length"
}

gcds_held() { ipuctl ps -o json | jq -r '.[] | "\(.partition) \(.gcd) \(.gcds) \(.ipus)"'; }
config_path() { inside "$1" cat /proc/1/environ | tr '\0' '\n' | grep ^IPUOF_CONFIG_PATH= || true; } # NAME

state_of() { ipuctl partition show "$1" -o json | jq -r .state; }

@test "two containers share a partition: each has its own GCD, and reaches that alone" {
  local gcd endpoint targets
  make_partition p0 --size 8 --gcds 2
  for gcd in 0 1; do
    start "gcd$gcd" -e IPU_PARTITION=p0 -e "IPU_GCD=$gcd"
    assert_equal "$(inside "gcd$gcd" cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.attributes["GCD Id"]')" "$gcd"
    assert_equal "$(lease_of "gcd$gcd" '"\(.partition) \(.gcd) \(.ipus)"')" "p0 $gcd 4"
    mapfile -t targets < <(endpoints "gcd$gcd")
    assert_equal "${#targets[@]}" 4
    for endpoint in "${targets[@]}"; do
      # shellcheck disable=SC2086
      assert_contains "$(inside "gcd$gcd" dial $endpoint)" 'partition p0'
    done
  done
  assert_equal "$({ endpoints gcd0; endpoints gcd1; } | sort -u | wc -l)" 8
  # shellcheck disable=SC2046
  {
    assert_unreachable gcd0 $(first_endpoint gcd1)
    assert_unreachable gcd1 $(first_endpoint gcd0)
  }
}

@test "a GCD in use is refused, with the name of who has it" {
  make_partition p0 --size 8 --gcds 2
  start first -e IPU_PARTITION=p0 -e IPU_GCD=0
  assert_refused -e IPU_PARTITION=p0 -e IPU_GCD=0 -- "GCD 0 of partition 'p0' is in use by container $(container_id first)"
  # The other one is free all the same.
  start second -e IPU_PARTITION=p0 -e IPU_GCD=1
}

@test "IPU_GCD=all: a container has all GCDs of its partition, a file for each, and reaches all" {
  local gcd endpoint targets file
  make_partition p0 --size 8 --gcds 2
  start whole -e IPU_PARTITION=p0 -e IPU_GCD=all
  assert_equal "$(gcds_held)" 'p0 0 2 8'
  assert_contains "$(ipuctl ps)" ' all '
  assert_contains "$(ipuctl explain whole)" '8 IPUs of all 2 GCDs'
  assert_equal "$(inside whole ls /etc/ipuof.conf.d)" $'p0_gcd0_ipuof.conf\np0_gcd1_ipuof.conf'
  assert_equal "$(config_path whole)" ''
  for gcd in 0 1; do
    file=$(inside whole cat /run/ipu/lease.json | jq -r ".gcds[$gcd].ipuof_config")
    assert_equal "$(inside whole cat "$file" | jq -r '.attributes["GCD Id"]')" "$gcd"
    mapfile -t targets < <(inside whole cat "$file" | jq -r '.devices[] | "\(.ip) \(.server_port)"')
    assert_equal "${#targets[@]}" 4
    for endpoint in "${targets[@]}"; do
      # shellcheck disable=SC2086
      assert_contains "$(inside whole dial $endpoint)" 'partition p0'
    done
  done
}

@test "all GCDs and one GCD of a partition exclude each other, and the refusal names who has it" {
  make_partition p0 --size 8 --gcds 2
  start first -e IPU_PARTITION=p0 -e IPU_GCD=1
  assert_refused -e IPU_PARTITION=p0 -e IPU_GCD=all -- "not all 2 GCDs of partition 'p0' are free: in use by container $(container_id first) (GCD 1)"
  docker rm --force first
  wait_until 10 has_leases 0
  start whole -e IPU_PARTITION=p0 -e IPU_GCD=all
  assert_refused -e IPU_PARTITION=p0 -e IPU_GCD=1 -- "GCD 1 of partition 'p0' is in use by container $(container_id whole) (all 2 GCDs)"
  docker rm --force whole
  wait_until 10 has_leases 0
  assert_equal "$(state_of p0)" ACTIVE
}

@test "all GCDs survive the loss of the ledger" {
  make_partition p0 --size 8 --gcds 2
  start whole -e IPU_PARTITION=p0 -e IPU_GCD=all
  run -0 ipuctl ledger check
  run -0 ipuctl ledger rebuild --force
  assert_equal "$(gcds_held)" 'p0 0 2 8'
  assert_refused -e IPU_PARTITION=p0 -e IPU_GCD=0 -- "in use by container $(container_id whole) (all 2 GCDs)"
}

@test "IPU_GCD=all is harmless where there is one GCD" {
  make_partition p0 --size 4
  start named -e IPU_PARTITION=p0 -e IPU_GCD=all
  start own -e IPU_COUNT=4 -e IPU_GCD=all
  for container in named own; do
    assert_equal "$(config_path "$container")" IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf
  done
}

@test "of a partition with several GCDs one must be named, and be there" {
  make_partition p0 --size 8 --gcds 2
  assert_refused -e IPU_PARTITION=p0 -- "'p0' has 2 GCDs" 'IPU_GCD=0 to 1, or all with IPU_GCD=all'
  assert_refused -e IPU_PARTITION=p0 -e IPU_GCD=2 -- "'p0' has no GCD 2"
}

@test "it outlives its containers, and is reset between them only" {
  make_partition p0 --size 4
  use p0
  wait_until 10 has_leases 0
  assert_equal "$(state_of p0) $(resets_of p0)" 'ACTIVE 0'
  use p0
  assert_equal "$(resets_of p0)" 1
  wait_until 10 has_leases 0
  use p0
  assert_equal "$(resets_of p0)" 2
}

@test "containers that share a partition at the same time are no reason for a reset" {
  make_partition p0 --size 8 --gcds 2
  start first -e IPU_PARTITION=p0 -e IPU_GCD=0
  start second -e IPU_PARTITION=p0 -e IPU_GCD=1
  docker rm --force second
  wait_until 10 has_leases 1
  start third -e IPU_PARTITION=p0 -e IPU_GCD=1
  assert_equal "$(resets_of p0)" 0
}

@test "a reconfigurable partition is not reset" {
  make_partition p0 --size 4 --reconfigurable
  use p0
  wait_until 10 has_leases 0
  use p0
  assert_equal "$(resets_of p0)" 0
}

@test "a shared partition takes several containers of one GCD" {
  make_partition p0 --size 4 --shared
  start first -e IPU_PARTITION=p0
  start second -e IPU_PARTITION=p0
  assert_equal "$(endpoints first)" "$(endpoints second)"
  assert_equal "$(ipuctl ps -o json | jq -c '[.[].origin]')" '["SHARED","SHARED"]'
  docker rm --force first
  wait_until 10 has_leases 1
  # shellcheck disable=SC2046
  assert_contains "$(inside second dial $(first_endpoint second))" 'partition p0'
}

@test "a partition that is not there is refused, with how to make it" {
  assert_refused -e IPU_PARTITION=p9 -- "pool 'pod64' has no partition 'p9'" 'ipuctl partition create'
}

@test "a partition that another host made is refused and not touched" {
  on_other_host ipuctl partition create foreign --size 4
  assert_refused -e IPU_PARTITION=foreign -- "no partition 'foreign' in this host's ledger"
  run -1 ipuctl partition remove foreign --force
  assert_contains "$output" 'not created by ipuctl on this host'
  run -1 ipuctl partition reset foreign
  ipuctl gc
  assert_equal "$(resets_of foreign)" 0
  assert_equal "$(on_other_host ipuctl partition show foreign -o json | jq -r .state)" ACTIVE
}

# One that the ledger of this host knows nothing of, as vipu makes it.
make_elsewhere() { # NAME OPTION...
  on_other_host ipuctl partition create "$@" >/dev/null
}

kind_of() { ipuctl partition show "$1" -o json | jq -r .kind; }

@test "a partition that somebody else made is adopted: containers have its GCDs, and it is not reset" {
  make_elsewhere theirs --size 8 --gcds 2
  assert_equal "$(kind_of theirs)" OTHER
  assert_equal "$(ipuctl partition adopt theirs)" 'adopt partition (theirs): success.'
  assert_equal "$(kind_of theirs)" FOREIGN
  start first -e IPU_PARTITION=theirs -e IPU_GCD=1
  # shellcheck disable=SC2046
  assert_contains "$(inside first dial $(first_endpoint first))" 'partition theirs'
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.gcd) \(.origin)"')" '1 FOREIGN'
  assert_refused -e IPU_PARTITION=theirs -e IPU_GCD=1 -- "GCD 1 of partition 'theirs' is in use by container $(container_id first)"
  docker rm --force first
  wait_until 10 has_leases 0
  start second -e IPU_PARTITION=theirs -e IPU_GCD=1
  start third -e IPU_PARTITION=theirs -e IPU_GCD=0
  run -1 ipuctl partition reset theirs
  assert_contains "$output" "was adopted, so ipuctl does not reset it; use 'vipu reset partition'"
  assert_equal "$(resets_of theirs)" 0
}

@test "an adopted partition is only forgotten, and stays as it is" {
  make_elsewhere theirs --size 4
  ipuctl partition adopt theirs
  start first -e IPU_PARTITION=theirs
  run -3 ipuctl partition remove theirs --force
  assert_contains "$output" "is in use by $(container_id first)"
  docker rm --force first
  wait_until 10 has_leases 0
  assert_equal "$(ipuctl partition remove theirs --dry-run)" 'would forget partition theirs'
  ipuctl gc
  assert_equal "$(kind_of theirs)" FOREIGN
  run -0 ipuctl partition remove theirs
  assert_contains "$output" 'the controller keeps it, because it was adopted'
  ipuctl gc
  assert_equal "$(kind_of theirs) $(state_of theirs)" 'OTHER ACTIVE'
  assert_equal "$(sim_log 'map(select(.method == "RemovePartition" and .partition == "theirs")) | length')" 0
  assert_equal "$(resets_of theirs)" 0
  assert_refused -e IPU_PARTITION=theirs -- "'ipuctl partition adopt'"
}

@test "what cannot be adopted is refused, and nothing is recorded" {
  local own
  run -1 ipuctl partition adopt p9
  assert_contains "$output" "pool 'pod64' has no partition 'p9'"
  make_partition p0 --size 4
  run -1 ipuctl partition adopt p0
  assert_contains "$output" "partition 'p0' already exists"
  start first -e IPU_COUNT=4
  own=$(lease_of first .partition)
  run -2 ipuctl partition adopt "$own"
  assert_contains "$output" "must not be one that the toolkit gives"
  assert_equal "$(ipuctl ledger dump -o json | jq -r '[.partitions[].name] | join(" ")')" p0
}

@test "SIGKILL to the container's first process: the GCD is free again" {
  make_partition p0 --size 8 --gcds 2
  start first -e IPU_PARTITION=p0 -e IPU_GCD=1
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' first)"
  wait_until 10 has_leases 0
  start second -e IPU_PARTITION=p0 -e IPU_GCD=1
}

@test "SIGKILL to containerd's shim as well: the GCD is free for the next start" {
  local init
  make_partition p0 --size 4
  start first -e IPU_PARTITION=p0
  init=$(docker inspect -f '{{.State.Pid}}' first)
  in_host kill -KILL "$(in_host ps -o ppid= -p "$init" | tr -d ' ')"
  in_host kill -KILL "$init" || true # it may have ended with its shim
  wait_until 10 use p0
  assert_equal "$(resets_of p0)" 1
  wait_until 10 has_leases 0
}

@test "IPU_WAIT waits for a partition that is in use" {
  make_partition p0 --size 4
  start first -e IPU_PARTITION=p0
  start second -e IPU_PARTITION=p0 -e IPU_WAIT=60s 3>&- &
  local waiting=$!
  wait_until 10 has_waiters 1
  assert_equal "$(ipuctl queue -o json | jq -r '.[0].resource')" pod64/p0
  # Only who wants the same waits behind.
  docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true
  docker rm --force first
  wait "$waiting"
  assert_equal "$(lease_of second .partition) $(resets_of p0)" 'p0 1'
}

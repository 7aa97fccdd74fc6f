#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Warm partitions, several pools, and the queue for IPUs.

load support

teardown() {
  remove_containers
  host_config
  ipuctl pool refill >/dev/null
  assert_nothing_left
}

# Adds LINE to the [pool] of the configuration.
configure_pool() { # LINE
  in_host sed -i "s|^timeout = .*|&\n$1|" /etc/ipu-container-toolkit/config.toml
}

warm_names() { ipuctl partition list -o json | jq -r '.[] | select(.kind == "WARM").partition'; }
has_warm() { [ "$(warm_names | wc -l)" = "$1" ]; }

@test "refill makes what is configured, once, and removes what is not wanted any more" {
  configure_pool 'warm = { "4" = 2, "8" = 1 }'
  assert_contains "$(ipuctl pool list)" '4:0/2,8:0/1'
  assert_equal "$(ipuctl pool refill | grep -c '^pool pod64: created w-')" 3
  assert_contains "$(ipuctl pool list)" '4:2/2,8:1/1'
  assert_equal "$(ipuctl pool list -o json | jq -c '.[0].usage')" \
    '{"ipus":64,"used":16,"tainted":0,"largest_free":32}'
  assert_equal "$(ipuctl pool refill --pool pod64)" ''
  host_config
  assert_equal "$(ipuctl pool refill -o json | jq -c '[.[0].made, .[0].removed | length]')" '[0,3]'
}

@test "a refill begins after the time that it is told" {
  configure_pool 'warm = { "4" = 2 }'
  ipuctl pool refill --after 8s >/dev/null 3>&- &
  local job=$!
  sleep 1
  has_warm 0
  wait "$job"
  has_warm 2
  run -2 ipuctl pool refill --after soon
  assert_contains "$output" '--after'
}

@test "refills at the same time make no more than one alone" {
  local jobs=() job
  configure_pool 'warm = { "4" = 2 }'
  for _ in {1..4}; do
    ipuctl pool refill >/dev/null 3>&- &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job"; done
  has_warm 2
}

@test "a start takes a warm partition, and another one is made in the background" {
  configure_pool 'warm = { "4" = 2 }'
  ipuctl pool refill >/dev/null
  local before partition endpoint
  before=$(warm_names)
  start job -e IPU_COUNT=4
  partition=$(lease_of job .partition)
  assert_contains "$before" "$partition"
  endpoint=$(endpoints job | head -n 1)
  # shellcheck disable=SC2086
  assert_contains "$(inside job nc -w 2 $endpoint)" "$partition"
  wait_until 20 has_warm 2
  assert_equal "$(ipuctl partition show "$partition" -o json | jq -r .kind)" LEASE
}

@test "warm partitions are given back when a container needs their IPUs" {
  configure_pool 'warm = { "4" = 2 }'
  ipuctl pool refill >/dev/null
  start big -e IPU_COUNT=64
  has_warm 0
}

@test "queue shows who waits, in order of arrival, and they are served" {
  start big -e IPU_COUNT=64
  start first -e IPU_COUNT=32 -e IPU_WAIT=60s 3>&- &
  local first=$! second
  wait_until 10 has_waiters 1
  start second -e IPU_COUNT=4 -e IPU_WAIT=60s 3>&- &
  second=$!
  wait_until 10 has_waiters 2
  assert_equal "$(ipuctl queue -o json | jq -c '[.[] | [.position, .resource, .ipus]]')" \
    '[[1,"pod64",32],[2,"pod64",4]]'
  run ipuctl queue
  assert_contains "${lines[0]}" 'POSITION  RESOURCE  CONTAINER'
  assert_contains "${lines[1]}" '1         pod64'
  assert_equal "$(ipuctl queue --pool pod64 -o json | jq length)" 2
  docker rm --force big
  wait "$first" "$second"
  has_waiters 0
  lease_of first .partition
  lease_of second .partition
}

@test "a waiter that is killed gives up its place" {
  start big -e IPU_COUNT=64
  host_spawn waiter docker run --rm --runtime=ipu -e IPU_COUNT=4 -e IPU_WAIT=60s busybox true
  wait_until 10 has_waiters 1
  in_host kill -KILL "$(ipuctl queue -o json | jq '.[0].pid')"
  wait_until 10 gc_gives_up_its_place
  has_waiters 0
  host_stop waiter
}

# With its lease, which has no partition yet.
gc_gives_up_its_place() { [[ $(ipuctl gc) == *'released lease '*'removed container '*' from the queue for pod64' ]]; }

@test "partitions of a pool that slices another partition" {
  ipuctl partition create whole --size 4 --reconfigurable
  ipuctl partition config whole --gcd 0 | in_host tee /etc/slices.conf >/dev/null
  configure_slices /etc/slices.conf
  assert_equal "$(ipuctl pool list --pool slices -o json | jq -c '.[0].usage')" \
    '{"ipus":4,"used":0,"tainted":0,"largest_free":4}'
  assert_equal "$(ipuctl partition create half --size 2 --pool slices)" 'create partition (half): success.'
  assert_equal "$(ipuctl partition config half --gcd 0 --pool slices | jq '.devices | length')" 2
  assert_contains "$(ipuctl partition list --pool slices)" ' half      | -  '
  assert_equal "$(ipuctl partition list -o json | jq -c '[.[] | [.partition, .kind]]')" '[["whole","NAMED"]]'
  run -3 ipuctl partition create other --size 4 --pool slices --dry-run
  assert_contains "$output" 'half'
  ipuctl partition remove half --pool slices
  ipuctl partition remove whole
}

@test "several pools: list has them all, and says which cannot be looked at" {
  configure_slices /etc/no-such.conf
  run -3 --separate-stderr ipuctl pool list
  assert_equal "${#lines[@]}" 3
  assert_contains "${lines[1]}" 'pod64   vipu'
  assert_contains "${lines[2]}" 'slices  ipuof     ipuof:/etc/no-such.conf  ?'
  # shellcheck disable=SC2154
  assert_contains "$stderr" "'slices'"
  run -0 ipuctl pool list --pool pod64
  run -0 ipuctl partition list --pool pod64
  run -3 ipuctl partition list --pool slices
}

@test "the installed units run what is installed" {
  local units=${SYSTEMDUNITDIR:-${PREFIX:-/usr/local}/lib/systemd/system} program
  run ! in_host grep -r '@[A-Z]*@' "$units"
  program=$(in_host sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$units/ipu-pool-refill.service")
  in_host test -x "$program"
  in_host test -f "$units/ipu-pool-refill.timer"
}

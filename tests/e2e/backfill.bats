#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Small requests while a large one waits first: in a pool that places by itself, they get IPUs for which it does not wait.

load support
load sliced

# Of IPUs 0 to 7, one container has two; of 8 to 15, three containers have one each.
setup() {
  host_config
  configure_slices "$SLICED"
  start_slice two 2
  start_slice filler2 2
  start_slice filler4 4
  start_slice one1 1
  start_slice one2 1
  start_slice one3 1
  docker rm --force filler2 filler4
  wait_until 10 has_leases 4
}

teardown() {
  # Those that still wait get nothing, and end, before the containers are counted.
  ipuctl queue cancel --all >/dev/null || true
  remove_containers
  wait_until 10 has_leases 0
}

start_slice() { # NAME IPUS [DOCKER-OPTION...]
  local name=$1 ipus=$2
  shift 2
  start "$name" -e IPU_POOL=slices -e "IPU_COUNT=$ipus" "$@"
}

# Starts, in the background, a container that waits, and returns when it does so as one of N. Sets WAITING.
start_waiter() { # NAME IPUS N
  start_slice "$1" "$2" -e IPU_WAIT=60s 3>&- &
  WAITING=$!
  wait_until 10 has_waiters "$3"
}

# The numbers of the container's IPUs in the pool.
ipus_of() { # NAME
  local partition
  partition=$(lease_of "$1" .partition)
  ipuctl partition show "$partition" --pool slices -o json | jq -c '[.ipus[].ipu]'
}

pinned() { ipuctl queue -o json | jq -c '[.[] | .pinned]'; }
is_pinned() { [ "$(pinned)" = "$1" ]; }

@test "a small request passes the large one outside of the block that is pinned for it, and only there" {
  local large behind
  start_waiter large 8 1
  large=$WAITING
  wait_until 10 is_pinned '[{"first":0,"ipus":8}]'
  assert_contains "$(ipuctl queue)" '0-7'
  assert_contains "$(ipuctl explain large)" 'smaller requests leave IPUs 0-7 to it'

  start_slice small 4
  assert_equal "$(ipus_of small)" '[12,13,14,15]'
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=2 -- \
    'the first for 8 IPUs by container' 'IPUs 0-7 and what may be free as soon are kept for it'

  start_waiter behind 2 2
  behind=$WAITING
  docker rm --force one3
  wait "$behind"
  assert_equal "$(ipus_of behind)" '[10,11]'
  assert_equal "$(pinned)" '[{"first":0,"ipus":8}]'

  docker rm --force two
  wait "$large"
  assert_equal "$(ipus_of large)" '[0,1,2,3,4,5,6,7]'
}

@test "of many that come at once, those get IPUs for whom some are left beside the pinned block" {
  local name names=(s1 s2 s3 s4 s5 s6 s7 s8) started=0
  start_waiter large 8 1
  wait_until 10 is_pinned '[{"first":0,"ipus":8}]'
  for name in "${names[@]}"; do start_slice "$name" 1 2>/dev/null 3>&- & done
  for name in "${names[@]}"; do wait_until 30 has_ended_to_start "$name"; done
  for name in "${names[@]}"; do
    [ "$(docker inspect -f '{{.State.Running}}' "$name")" = true ] || continue
    started=$((started + 1))
    [ "$(ipus_of "$name" | jq '.[0]')" -ge 11 ] || fail "$name has an IPU of the pinned block"
  done
  assert_equal "$started" 5
}

has_ended_to_start() { # NAME
  docker inspect -f '{{.State.Status}} {{.State.Error}}' "$1" 2>/dev/null | grep -qv '^created $'
}

@test "the large request takes another block that is free before the pinned one" {
  start_waiter large 8 1
  wait_until 10 is_pinned '[{"first":0,"ipus":8}]'
  docker rm --force one1 one2 one3
  wait "$WAITING"
  assert_equal "$(ipus_of large)" '[8,9,10,11,12,13,14,15]'
}

@test "backfill = false: nobody passes" {
  in_host sh -c 'echo "backfill = false" >>/etc/ipu-container-toolkit/config.toml'
  start_waiter large 8 1
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=4 -- 'others wait for '
  assert_equal "$(pinned)" '[null]'
}

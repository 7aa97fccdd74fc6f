#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Small requests for cards while a large one waits first: see backfill.bats.

load support

setup_file() {
  make_cards 8
  in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null <<END
[pool]
name = "cards"
provider = "pcie"
groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
END
}

teardown_file() {
  remove_cards
  host_config
}

# Of cards 0 to 3, one container has two; of 4 to 7, three containers have one each.
setup() {
  start two -e IPU_COUNT=2
  start filler -e IPU_COUNT=2
  for name in one1 one2 one3; do start "$name" -e IPU_COUNT=1; done
  docker rm --force filler
  wait_until 10 has_leases 4
}

teardown() {
  ipuctl queue cancel --all >/dev/null || true
  remove_containers
  assert_nothing_left
}

cards_of() { lease_of "$1" '[.cards[].number] | tojson'; } # NAME

# Starts, in the background, a container that waits, and returns when it does so as one of N. Sets WAITING.
start_waiter() { # NAME CARDS N
  start "$1" -e "IPU_COUNT=$2" -e IPU_WAIT=60s 3>&- &
  WAITING=$!
  wait_until 10 has_waiters "$3"
}

@test "a small request for cards passes the large one outside of the pinned block, and only there" {
  local large behind
  start_waiter large 4 1
  large=$WAITING
  assert_equal "$(ipuctl queue -o json | jq -c '[.[].pinned]')" '[{"first":0,"ipus":4}]'
  start small -e IPU_COUNT=1
  assert_equal "$(cards_of small)" '[7]'
  assert_refused -e IPU_COUNT=1 -- 'the first for 4 IPUs' 'IPUs 0-3 and what may be free as soon are kept for it'
  assert_refused -e IPU_VISIBLE_DEVICES=4-7 -- 'the first for 4 IPUs' 'a request for named cards, or without backfill, passes no other'

  start_waiter behind 1 2
  behind=$WAITING
  docker rm --force one3
  wait "$behind"
  assert_equal "$(cards_of behind)" '[6]'

  docker rm --force two
  wait "$large"
  assert_equal "$(cards_of large)" '[0,1,2,3]'
}

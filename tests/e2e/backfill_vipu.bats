#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Backfill in a pool with a V-IPU controller, on one host and in a fleet: small requests that name their IPUs pass a large
# one that waits first, and get none for which it waits.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() { host_config; }

teardown() {
  waiting_are a 0 || on a ipuctl queue cancel --all >/dev/null
  remove_containers_of_both
  if [ ${#SIM_OPTIONS[@]} -gt 0 ]; then
    SIM_OPTIONS=() SIM_CREATE_DELAY=
    restart_sim
  fi
  in_host sh -c 'rm -rf /run/bundle-[ab]-* /run/create-*.out'
  if in_host test -e /run/etcd/pid; then
    wait_until 10 has_keys grants 0 || fail "$(etcd_keys grants)"
    etcd_stop
    unconfigure_fleet
  fi
  host_config
}

backfill() { in_host sed -i 's|^controller = .*|&\ncluster = "c-pod64"\nbackfill = true|' "$CONFIG"; }

# Starts one that waits, in the background, and returns when it does so as one of N. Sets WAITING.
wait_for() { # HOST CONTAINER IPUS N
  LIMIT=70 take_ipus "$1" "$2" "$3" IPU_WAIT=60s 3>&- &
  WAITING=$!
  wait_until 10 waiting_are "$1" "$4" || fail "$(on "$1" ipuctl queue)"
}
# Ends a container, and returns when its IPUs are free.
ends() { # HOST CONTAINER
  end_on "$1" "$2"
  wait_until 10 is_gone "$1" "$2" || fail "$(on "$1" ipuctl ps)"
}
lease_on() { on "$1" ipuctl ps -o json | jq -r --arg id "$2" ".[] | select(.container == \$id) | $3"; } # HOST CONTAINER FILTER
is_gone() { [ -z "$(lease_on "$1" "$2" .state)" ]; }
# The first and the last number of a container's IPUs.
ipus_of() { # HOST CONTAINER
  on "$1" ipuctl partition show "$(lease_on "$1" "$2" .partition)" -o json | jq -r '[.ipus[].ipu] | "\(min)-\(max)"'
}
is_pinned() { [ "$(on "$1" ipuctl queue -o json | jq -c '[.[] | .pinned]')" = "$2" ]; } # HOST JSON

# Of IPUs 0 to 31, one container of HOST has eight; of 32 to 63, three of OTHER have four each.
crowd() { # HOST OTHER
  take_ipus "$1" big 32
  take_ipus "$2" x1 4
  take_ipus "$2" x2 4
  take_ipus "$2" x3 4
  take_ipus "$2" filler 16
  ends "$1" big
  take_ipus "$1" eight 8
  ends "$2" filler
  assert_equal "$(ipus_of "$1" eight) $(ipus_of "$2" x1) $(ipus_of "$2" x3)" '0-7 32-35 40-43'
}

# HOST's small requests pass the large one of OTHER.
passes() { # HOST OTHER
  local large behind
  crowd "$@"
  wait_for "$2" large 32 1
  large=$WAITING
  wait_until 10 is_pinned "$1" '[{"first":0,"ipus":32}]' || fail "$(on "$1" ipuctl queue)"
  take_ipus "$1" small 4
  assert_equal "$(ipus_of "$1" small)" 44-47
  take_ipus "$1" middle 16
  assert_equal "$(ipus_of "$1" middle)" 48-63
  run -1 take_ipus "$1" none 4
  assert_contains "$output" "others wait for 'pod64'" 'IPUs 0-31 and what may be free as soon are kept for it'
  wait_for "$1" behind 4 2
  behind=$WAITING
  ends "$2" x2
  wait "$behind"
  assert_equal "$(ipus_of "$1" behind)" 36-39
  waiting_are "$1" 1
  ends "$1" eight
  wait "$large"
  assert_equal "$(ipus_of "$2" large)" 0-31
}

@test "on one host, small requests pass the large one outside of the block that is pinned for it" {
  backfill
  passes a a
}

@test "in a fleet, small requests of one host pass the large one of another" {
  fleet_up
  backfill
  passes a b
}

@test "in a fleet, of many that come at once, none gets IPUs of the pinned block, and no two the same" {
  local i started=0 places=()
  fleet_up
  backfill
  crowd a b
  wait_for b large 32 1
  wait_until 10 is_pinned a '[{"first":0,"ipus":32}]' || fail "$(on a ipuctl queue)"
  for i in 1 2 3 4 5 6; do
    take_ipus a "a$i" 4 >/dev/null 2>&1 3>&- &
    places+=($!)
    take_ipus b "b$i" 4 >/dev/null 2>&1 3>&- &
    places+=($!)
  done
  for i in "${places[@]}"; do ! wait "$i" || started=$((started + 1)); done
  [ "$started" -ge 1 ] || fail 'none was started'
  places=()
  for i in $(on a ipuctl ps -o json | jq -r '.[].container | select(test("^a"))'); do places+=("$(ipus_of a "$i")"); done
  for i in $(on b ipuctl ps -o json | jq -r '.[].container | select(test("^b[0-9]"))'); do places+=("$(ipus_of b "$i")"); done
  assert_equal "${#places[@]}" "$started"
  for i in "${places[@]}"; do [[ " 44-47 48-51 52-55 56-59 60-63 " == *" $i "* ]] || fail "$i"; done
  assert_equal "$(printf '%s\n' "${places[@]}" | sort | uniq -d)" ''
  on b ipuctl queue cancel --all
  ! wait "$WAITING" || fail 'it started'
}

# What a controller may do with IPUs that a request names; then nobody passes, and nothing is left.
check_foreign() { # QUIRK REFUSAL
  local large
  # shellcheck disable=SC2034 # sim_start reads it
  SIM_OPTIONS=(--quirk "$1")
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
  backfill
  crowd a a
  take_ipus a x4 4 # now the controller itself would take four of the pinned block
  wait_for a large 32 1
  large=$WAITING
  wait_until 10 is_pinned a '[{"first":0,"ipus":32}]' || fail "$(on a ipuctl queue)"
  run -1 take_ipus a none 4
  assert_contains "$output" "$2"
  wait_for a behind 4 2
  sleep 3
  waiting_are a 2
  ends a eight
  wait "$large" "$WAITING"
  assert_equal "$(ipus_of a large)" 0-31
  assert_equal "$(on a ipuctl partition list -o json | jq length)" 6
}

@test "a controller that refuses named IPUs: nobody passes" {
  check_foreign named-ipus=PERMISSION_DENIED 'IPUs cannot be named'
}

@test "a controller that gives other IPUs than were named: nobody passes, and what it gave goes back" {
  check_foreign named-ipus=OK "given other IPUs than it named"
}

@test "a controller that lists partitions late: the small request passes" {
  # shellcheck disable=SC2034
  SIM_OPTIONS=(--quirk late-listing=400ms)
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
  backfill
  passes a a
}

is_creating() { [ "$(on a ipuctl partition list -o json | jq length)" = 1 ]; }

@test "a request whose partition is being made keeps it, though another one pins its IPUs meanwhile" {
  local one
  # shellcheck disable=SC2034 # sim_start reads them
  SIM_CREATE_DELAY=15s SIM_OPTIONS=(--quirk late-config=0s)
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
  backfill
  LIMIT=70 take_ipus a one 8 3>&- &
  one=$!
  wait_until 10 is_creating
  wait_for a large 64 1
  wait_until 10 is_pinned a '[{"first":0,"ipus":64}]' || fail "$(on a ipuctl queue)"
  assert_equal "$(lease_on a one .state)" INTENT
  wait "$one"
  assert_equal "$(ipus_of a one)" 0-7
  on a ipuctl queue cancel --all
  ! wait "$WAITING" || fail 'it started'
}

@test "without 'backfill', nobody passes; and it needs a cluster" {
  in_host sed -i 's|^controller = .*|&\ncluster = "c-pod64"|' "$CONFIG"
  crowd a a
  wait_for a large 32 1
  run -1 take_ipus a none 4
  assert_contains "$output" "others wait for 'pod64'"
  is_pinned a '[null]'
  on a ipuctl queue cancel --all
  ! wait "$WAITING" || fail 'it started'
  in_host sed -i 's|^cluster = .*|backfill = true|' "$CONFIG"
  run -2 on a ipuctl config check
  assert_contains "$output" 'cluster must be set: with backfill'
}

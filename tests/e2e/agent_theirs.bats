#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipu-agent: what is a user's own, and what the agent does though nobody asks.

load support
load agent

@test "a user sees the leases and cancels the waits that are theirs, and learns nothing of others'" {
  local waiting absent
  ask alice reserve night --ipus 4
  start job -e IPU_RESERVATION=night
  assert_equal "$(ask alice lease show job -o json | jq -r .ipus)" 4
  run -1 ask bob lease show job
  absent=$output
  run -1 ask bob lease show jab
  assert_equal "${absent//job/jab}" "$output"
  docker rm --force job
  wait_until 10 ask alice reservation end night
  start job -e IPU_COUNT=64
  ask alice reserve night --ipus 64 --wait 60s >"$BATS_TEST_TMPDIR/alice" 2>&1 3>&- &
  waiting=$!
  wait_until 10 has_waiters 1
  run -1 ask bob queue cancel night
  assert_equal "$output" "ipuctl: no container 'night' waits for IPUs; see 'ipuctl queue'"
  assert_equal "$(ask bob queue cancel --all)" 'no wait was cancelled'
  run -2 ask alice queue cancel
  has_waiters 1
  assert_contains "$(ask alice queue cancel night)" night
  wait "$waiting" && fail 'the reservation did not give up'
  has_waiters 0
  assert_contains "$(ipuctl events)" "user $(in_host id -u alice): queue cancel removed"
}

endpoint() { in_host pgrep -x ipu-vipu-endpoi; } # the kernel cuts the name
says_it_answers() { [[ $(ipuctl explain job) == *'attempt 1 in a row to start it again: it answers'* ]]; }
is_back() { endpoint | grep -qvx "$1"; }

@test "an endpoint that died is there again within seconds, and outlives the agent" {
  local before
  start job -e IPU_COUNT=4 -e IPU_VIPU_ENDPOINT=1
  before=$(endpoint)
  in_host kill -KILL "$before"
  wait_until 10 is_back "$before"
  wait_until 20 says_it_answers || fail "$(ipuctl explain job)"
  host_stop agent
  is_back "$before"
  agent_start
}

@test "a user watches what ipu-agent tells, in any format" {
  start job -e IPU_COUNT=4
  run -0 as alice timeout --signal=INT --preserve-status 10 ipuctl ps --watch=1
  [ "$(grep -c '^==== ' <<<"$output")" -ge 4 ]
  assert_contains "$output" other-1
  run -0 ask alice ps -o csv
  assert_contains "$output" other-1
  [[ $output != *"$(container_id job)"* ]]
}

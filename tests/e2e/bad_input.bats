#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a user can get wrong with docker: refused with the key, its value, and what is accepted.

load support

teardown() {
  remove_containers
  assert_nothing_left
}

ACCEPTED='a power of two from 1 to 64'

@test "IPU_COUNT=3" { assert_refused -e IPU_COUNT=3 -- 'IPU_COUNT' "'3'" "$ACCEPTED"; }
@test "IPU_COUNT=0" { assert_refused -e IPU_COUNT=0 -- 'IPU_COUNT' "'0'" "$ACCEPTED"; }
@test "IPU_COUNT=-1" { assert_refused -e IPU_COUNT=-1 -- 'IPU_COUNT' "'-1'" "$ACCEPTED"; }
@test "IPU_COUNT=4x" { assert_refused -e IPU_COUNT=4x -- 'IPU_COUNT' "'4x'" "$ACCEPTED"; }
@test "IPU_COUNT=128, more than the policy allows" { assert_refused -e IPU_COUNT=128 -- 'IPU_COUNT' "$ACCEPTED"; }
@test "IPU_COUNT=999999999999" { assert_refused -e IPU_COUNT=999999999999 -- 'IPU_COUNT' "$ACCEPTED"; }
@test "IPU_COUNT with a space" { assert_refused -e 'IPU_COUNT= 4' -- 'IPU_COUNT' "$ACCEPTED"; }
@test "IPU_COUNT empty" { assert_refused -e IPU_COUNT= -- 'IPU_COUNT' "''" "$ACCEPTED"; }

@test "a value with control characters is shown on one line" {
  assert_refused -e $'IPU_COUNT=4\n\e[31mred' -- 'IPU_COUNT' "$ACCEPTED"
  [[ $output != *$'\e[31m'* ]]
}

@test "--net=host" { assert_refused --net=host -e IPU_COUNT=4 -- 'network'; }
@test "IPU_NETWORK=none" { assert_refused -e IPU_COUNT=4 -e IPU_NETWORK=none -- 'IPU_NETWORK=none'; }
@test "IPU_WAIT=soon" { assert_refused -e IPU_COUNT=4 -e IPU_WAIT=soon -- 'IPU_WAIT' "'soon'" '90s'; }
@test "IPU_WAIT=16m, more than the policy allows" {
  assert_refused -e IPU_COUNT=4 -e IPU_WAIT=16m -- "IPU_WAIT='16m'" 'policy.max_wait of this host' '15m' \
    'let an administrator raise it in config.toml'
}
@test "IPU_WAIT without a count" { assert_refused -e IPU_WAIT=90s -- 'IPU_WAIT' 'IPU_COUNT'; }

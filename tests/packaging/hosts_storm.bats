#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The judge of the storm of many hosts: it finds mistakes that are planted in what a storm left, and no others.

bats_require_minimum_version 1.5.0

JUDGE=$BATS_TEST_DIRNAME/../storm/hosts/judge.sh
ERRORS=$BATS_TEST_DIRNAME/../storm/hosts/errors.awk
readonly A=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa B=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb

# Two containers of two hosts, one after the other, on the same IPUs; then two more, which have GCDs of partition n0.
setup() {
  cd "$BATS_TEST_TMPDIR" || return
  mkdir held events log
  take 10 one 1.1 "$A" c-11111111-aaaaaaaaaaaa 0 1 >>held/1
  echo "12${TAB}give${TAB}one" >>held/1
  take 20 two 2.1 "$B" c-22222222-bbbbbbbbbbbb 0 1 >>held/2
  echo "24${TAB}ended${TAB}-${TAB}2.1" >>held/world
  take 30 three 1.1 lease3 n0 2 3 >>held/1
  echo "34${TAB}give${TAB}three" >>held/1
  take 31 four 3.1 lease4 n0 4 5 >>held/3
  echo "34${TAB}give${TAB}four" >>held/3
  { call start 1 && event hold 9 c-11111111-aaaaaaaaaaaa 0,1 && event free 13 c-11111111-aaaaaaaaaaaa 0,1 &&
    event hold 14 c-22222222-bbbbbbbbbbbb 0,1 && call start 22 && event hold 22 c-22222222-bbbbbbbbbbbb 0,1 &&
    call ListPartitions 23 && event free 25 c-22222222-bbbbbbbbbbbb 0,1 && event hold 26 n0 2,3,4,5; } >controller.jsonl
  { clock 2 27 && claim 3 lease3 0 && claim 4 lease4 1 && clock 5 28 && clock 6 29 && clock 7 33 && clock 8 35 &&
    unclaim 9 lease3 && unclaim 10 lease4 && clock 11 36 && grant 1 "$A" && ungrant 2 "$A" && grant 1 "$B"; } >etcd.jsonl
  echo '{"lease":"'$A'","time":"1970-01-01T00:00:08.500Z"}' >events/1
  echo '{"lease":"'$B'","time":"1970-01-01T00:00:13.500Z"}' >events/2
}
TAB=$'\t'

take() { # TIME NAME BOOT LEASE PARTITION IPU IPU
  local gcd=$(($6 / 2 % 2))
  [[ $5 == n* ]] && gcd=$(($6 / 2 - 1)) || gcd=0
  printf '%s\ttake\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" \
    '{"lease":"'"$4"'","partition":"'"$5"'","rails":[{"address":"10.5.64.'"$6"'","mac":"02::'"$6"'"}],"gcds":[{"gcd":'"$gcd"'}]}' \
    '{"devices":[{"ip":"10.5.1.'$(($6 / 4 + 1))'","device_id":'$((3 - $6 % 4))'},{"ip":"10.5.1.'$(($7 / 4 + 1))'","device_id":'$((3 - $7 % 4))'}]}'
}
call() { if [ "$1" = start ]; then echo '{"time":'"$2"'000,"event":"start"}'; else echo '{"time":'"$2"'000,"method":"'"$1"'"}'; fi; }
event() { echo '{"time":'"$2"'000,"event":"'"$1"'","partition":"'"$3"'","ipus":['"$4"']}'; }

# One revision of etcd.
revision() { # TYPE NUMBER KEY VALUE
  jq -cn --arg type "$1" --argjson number "$2" --arg key "$3" --arg value "$4" '{Events: [(if $type == "put" then
    {kv: {key: ($key | @base64), mod_revision: $number, value: ($value | @base64)}} else
    {type: 1, kv: {key: ($key | @base64), mod_revision: $number}} end)]}'
}
clock() { revision put "$1" /clock "$2"; }
claim() { revision put "$1" "/fleet/partitions/pool/n0/claims/$2" '{"gcd":'"$3"',"gcds":1}'; }
grant() { revision put "$1" "/fleet/grants/pool/$2" '{"ipus":2}'; }
ungrant() { revision delete "$1" "/fleet/grants/pool/$2" ''; }
unclaim() { revision delete "$1" "/fleet/partitions/pool/n0/claims/$2" ''; }

judged() { # sets "output" to what the judge finds
  run -0 bash "$JUDGE" .
}

finds() { # TEXT
  judged
  [[ $output == *"$1"* ]] || { echo "did not find: $1; found: $output"; return 1; }
}

@test "a storm without mistakes: nothing is found" {
  judged
  [ -z "$output" ]
}

@test "two containers with one IPU, address or MAC at the same time" {
  take 23 five 3.1 lease5 c-33333333-cccccccccccc 1 6 >>held/3
  finds 'containers: IPU 1 was had by two until 24, and by five from 23'
  rm held/3
  take 23 five 3.1 lease5 c-33333333-cccccccccccc 0 6 >>held/3
  finds 'containers: address 10.5.64.0 was had by two until 24, and by five from 23'
  finds 'containers: MAC 02::0 was had by two until 24'
}

@test "a host that died had its containers until then" {
  sed -i 's/^24/30/' held/world
  finds 'not of the controller: IPU 0 of c-22222222-bbbbbbbbbbbb by container two from 20 until 30'
}

@test "an IPU that the controller gave to two partitions, or took from one with a container" {
  sed -i '/"free","partition":"c-1/d' controller.jsonl
  finds 'controller: IPU 0 was had by c-11111111-aaaaaaaaaaaa until 22, and by c-22222222-bbbbbbbbbbbb from 14'
  sed -i 's/"time":25000/"time":23000/' controller.jsonl
  finds 'not of the controller: IPU 1 of c-22222222-bbbbbbbbbbbb by container two from 20 until 24'
}

@test "a partition that a controller does not know any more after it started again" {
  sed -i '/"time":22000,"event":"hold"/d; /"time":25000/d' controller.jsonl
  finds 'not of the controller: IPU 0 of c-22222222-bbbbbbbbbbbb by container two from 20 until 24'
}

@test "a GCD with two claims, and one without" {
  { sed 4q etcd.jsonl && claim 6 lease5 1 && sed 1,5d etcd.jsonl; } >changed
  mv changed etcd.jsonl
  finds 'claims: GCD n0 1 was had by lease4 until 10, and by lease5 from 6'
  grep -v "$(printf /fleet/partitions/pool/n0/claims/lease4 | base64 -w 0)" etcd.jsonl >changed
  mv changed etcd.jsonl
  finds 'not claimed: GCD n0 1 of lease4 by container four'
}

@test "a claim that ended while its container ran" {
  { sed 4q etcd.jsonl && unclaim 5 lease4 && sed 1,4d etcd.jsonl; } >changed
  mv changed etcd.jsonl
  finds 'not claimed: GCD n0 1 of lease4 by container four from 31 until 34'
}

@test "IPUs of its own that no grant is for, or whose grant ended too early" {
  grep -v "$(printf '/fleet/grants/pool/%s' "$B" | base64 -w 0)" etcd.jsonl >changed
  mv etcd.jsonl whole
  mv changed etcd.jsonl
  finds "not granted: grant of $B by container two from 20 until 24"
  { grant 0 "$A" && clock 1 2 && ungrant 2 "$A" && clock 3 9 && clock 4 11 && grant 5 "$B" && clock 6 13 && clock 7 14; } >etcd.jsonl
  finds "not granted: grant of $A by container one from 10 until 12"
}

@test "a container that ended by itself" {
  echo "33${TAB}lost${TAB}three" >>held/1
  finds 'container three ended by itself by 33'
}

@test "a request for 64 IPUs that another one passed" {
  local all
  all=$(seq -s , 0 63)
  { call start 1 && event hold 14 c-22222222-bbbbbbbbbbbb 0,1 && event free 25 c-22222222-bbbbbbbbbbbb 0,1 &&
    event hold 26 c-11111111-aaaaaaaaaaaa "$all"; } >controller.jsonl
  rm held/1 held/3
  judged
  [[ $output == 'queue: c-22222222-bbbbbbbbbbbb took IPU 0 at 14 ahead of c-11111111-aaaaaaaaaaaa, which came at 8.5' ]]
}

@test "errors: only those that the product explains and that have their cause are expected" {
  printf '100\t110\tcut\thost1\t0\n' >log/troubles
  line() { printf '%s\t%s\t%s\tname\t%s\t%s\t4\n' "$1" "$(($1 + 1))" run "$2" "$3"; }
  class() { # HOST LINE...
    line "${@:2}" >"log/$1.1.1"
    awk -f "${ERRORS%/hosts/*}/outcomes.awk" -f "$ERRORS" log/troubles log/* | cut -f 1
    rm "log/$1.1.1"
  }
  [ "$(class 1 100 0 '')" = worked ]
  [ "$(class 1 100 1 'ipu: pool "pod" has no free block of 4 IPUs')" = refused ]
  [ "$(class 1 105 1 'ipu: fleet: range: etcd 1: no connection in time')" = consequence ]
  [ "$(class 2 105 1 'ipu: fleet: range: etcd 1: no connection in time')" = unexpected ]
  [ "$(class 1 200 1 'ipu: fleet: range: etcd 1: no connection in time')" = unexpected ]
  [ "$(class 1 100 1 'ipu: pool "pod" has no free block of 4 IPUs // more')" = unexpected ]
  line() { printf '%s\t%s\tgc\t-\t%s\t%s\t-\n' "$1" "$(($1 + 1))" "$2" "$3"; }
  [ "$(class 1 105 1 'ipuctl: fleet: a: cut // ipuctl: fleet: b: cut')" = consequence ]
  [ "$(class 1 105 1 'ipuctl: fleet: a: cut // ipuctl: another')" = unexpected ]
  [ "$(class 1 100 1 'terminate called')" = unexpected ]
  [ "$(class 1 100 124 '')" = unexpected ]
}

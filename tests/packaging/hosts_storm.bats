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
again() { rm -rf held events log && setup; }

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

@test "a container that ended by itself, unless its host was fenced" {
  echo "33${TAB}lost${TAB}3-1-2-1" >>held/1
  finds 'container 3-1-2-1 ended by itself by 33'
  echo "32${TAB}ended${TAB}-${TAB}3.1" >>held/world
  judged
  [ -z "$output" ]
  sed -i 's/^32/34/' held/world
  finds 'container 3-1-2-1 ended by itself by 33'
}

# ---- warm partitions: two that host 11111111 makes; one of them is taken by a container of host 22222222

W=f-99999999-cccccccccccc
warm() { revision put "$1" "/fleet/warm/pool/$2" '{"phase":"'"$3"'","changer":"'"$4"'","maker":"11111111","ipus":2}'; }
no_warm() { revision delete "$1" "/fleet/warm/pool/$2" ''; }
# Of TENANT, on HOST, with a warm partition.
take_warm() { # REVISION LEASE PARTITION [HOST [TENANT]]
  revision put "$1" "/fleet/grants/pool/$2" '{"ipus":2,"partition":"'"$3"'","host":"'"${4:-22222222}"'","tenant":"'"${5:-}"'"}'
}

# The container of lease B has IPUs 0 and 1 of the warm partition, from 20 until its host dies at 24.
warm_storm() {
  again
  rm held/*
  take 20 two 2.1 "$B" "$W" 0 1 >held/2
  echo "24${TAB}ended${TAB}-${TAB}2.1" >held/world
  { call start 1 && event hold 9 "$W" 0,1 && event free 25 "$W" 0,1; } >controller.jsonl
  { clock 2 7 && clock 3 8 && warm 4 "$W" making 11111111 && clock 5 10 && warm 6 "$W" idle '' && clock 7 11 && clock 8 12 &&
    clock 9 18 && no_warm 10 "$W" && take_warm 10 "$B" "$W" && clock 11 19 && clock 12 20; } >etcd.jsonl
}
# Puts REVISION before the one that has NUMBER.
before() { # NUMBER REVISION
  jq -c --argjson number "$1" 'select(.Events[0].kv.mod_revision < $number)' etcd.jsonl >changed
  cat >>changed <<<"$2"
  jq -c --argjson number "$1" 'select(.Events[0].kv.mod_revision >= $number)' etcd.jsonl >>changed
  mv changed etcd.jsonl
}

@test "a warm partition that is made, idle, taken and removed: nothing is found" {
  warm_storm
  judged
  [ -z "$output" ]
  { clock 13 30 && warm 14 "${W/c/d}" making 11111111 && warm 15 "${W/c/d}" removing 33333333 && no_warm 16 "${W/c/d}"; } >>etcd.jsonl
  judged
  [ -z "$output" ]
}

@test "a warm partition that two leases took, or one while its maker or a remover still had it" {
  warm_storm
  take_warm 13 "$A" "$W" >>etcd.jsonl
  finds "warm: partition $W was had by two grants at revision 13"
  warm_storm
  { take_warm 9 "$B" "$W" && sed '/"mod_revision":10,/d' etcd.jsonl; } | jq -sc 'sort_by(.Events[0].kv.mod_revision)[]' >changed
  mv changed etcd.jsonl
  finds "warm: partition $W was a grant's, and idle, at revision 9"
  warm_storm
  before 10 "$(warm 9 "$W" removing 33333333)"
  finds "warm: partition $W was taken at revision 10, but was removing"
  warm_storm
  warm 13 "$W" idle '' >>etcd.jsonl
  finds "warm: partition $W is idle again at revision 13"
}

@test "a warm partition that is idle, and the controller does not have it" {
  warm_storm
  sed -i 's/"time":9000/"time":15000/' controller.jsonl
  finds "not there: idle of $W by container - from 12 until 18"
}

@test "a warm partition whose taker has no grant, and one that is taken ahead of a request for 64 IPUs" {
  warm_storm
  sed -i '/'"$(printf '/fleet/grants/pool/%s' "$B" | base64 -w 0)"'/d' etcd.jsonl
  finds "not granted: grant of $B by container two from 20 until 24"
  warm_storm
  { event hold 26 c-11111111-aaaaaaaaaaaa "$(seq -s , 0 63)"; } >>controller.jsonl
  finds "queue: $W-bbbbbbbbbbbb took IPU 0 at 20 ahead of c-11111111-aaaaaaaaaaaa, which came at 8.5"
}

# ---- tenants

share() { revision put "$1" "/fleet/tenants/$2" '{"guaranteed":'"$3"',"limit":'"$4"'}'; } # REVISION TENANT GUARANTEED LIMIT
has_ipus() { revision put "$1" "/fleet/grants/pool/$2" '{"ipus":'"$4"',"tenant":"'"$3"'","host":"33333333"}'; } # REVISION ID TENANT IPUS
has_gcd() { revision put "$1" "/fleet/partitions/pool/n7/claims/$2" '{"gcd":'"$4"',"gcds":1,"tenant":"'"$3"'","process":""}'; }

@test "a tenant above its limit, with grants and with GCDs, each of which counts once" {
  { share 20 gold 4 8 && share 20 guest 0 4 && has_ipus 21 x gold 4 && has_ipus 22 y guest 4 &&
    revision put 23 /fleet/partitions/pool/n7/record '{"ipus":8,"gcds":4,"phase":"READY","changer":""}' &&
    has_gcd 24 k1 gold 0 && has_gcd 25 k2 gold 1 && has_gcd 26 k3 gold 1; } >>etcd.jsonl
  judged
  [[ $output != *limit:* ]]
  has_gcd 27 k4 gold 2 >>etcd.jsonl
  finds 'limit: tenant gold had 10 of at most 8 IPUs at revision 27'
  sed -i '/"mod_revision":27,/d' etcd.jsonl
  has_ipus 27 z guest 1 >>etcd.jsonl
  finds 'limit: tenant guest had 5 of at most 4 IPUs at revision 27'
  # What goes and comes in one transaction is never had together.
  sed -i '/"mod_revision":27,/d' etcd.jsonl
  { has_ipus 27 z guest 4 && ungrant 27 y; } >>etcd.jsonl
  judged
  [[ $output != *limit:* ]]
}

waits() { # REVISION ID TENANT
  revision put "$1" "/fleet/queue/pool/*/$2" '{"tenant":"'"$3"'","ipus":4,"container":"'"$2"'","aged":false,"host":"33333333"}'
}
# A request of gold for 4 IPUs is refused between 40 and 41, because others wait.
refused_storm() {
  again
  { share 20 gold 8 16 && share 20 silver 8 8 && share 20 guest 0 8 && has_ipus 21 x gold 4 && waits 22 w1 guest &&
    clock 23 38 && clock 24 39 && clock 25 42 && clock 26 43; } >>etcd.jsonl
  printf '40\t41\trun\t1-1-1-1\t1\tipu: others wait for %s already (1 request is ahead)\t4 gold\n' "'pool'" >log/1.1.1
}

@test "a request within what is guaranteed that was refused for those who borrow, and one that was not" {
  refused_storm
  finds 'guaranteed: request 1-1-1-1 of tenant gold for 4 IPUs was refused for those who borrow'
  has_ipus 22 y gold 1 >>etcd.jsonl
  mv etcd.jsonl before && jq -sc 'sort_by(.Events[0].kv.mod_revision)[]' before >etcd.jsonl
  judged
  [ -z "$output" ]
}

@test "a request that was refused while one with a guarantee may have waited, for a moment" {
  refused_storm
  before 24 "$(waits 23 w2 silver)"
  before 24 "$(revision delete 23 '/fleet/queue/pool/*/w2' '')"
  finds 'guaranteed: request 1-1-1-1'
  refused_storm
  before 25 "$(waits 24 w2 silver)"
  judged
  [ -z "$output" ]
}

# ---- fences

fence() { revision put "$1" "/fleet/fences/$2" '{"finished":'"$3"'}'; } # REVISION HOST FINISHED
forget() { revision delete "$1" "/fleet/fences/$2" ''; }                # REVISION HOST

# Host 33333333 has a grant and is fenced.
fence_storm() {
  again
  { clock 19 38 && has_ipus 20 x gold 2 && clock 21 40 && fence 22 33333333 false && ungrant 23 x && fence 24 33333333 true &&
    clock 25 43 && clock 26 44 && clock 27 60 && forget 28 33333333 && clock 29 61 && clock 30 62; } >>etcd.jsonl
  { event hold 38 c-33333333-dddddddddddd 8,9 && event free 42 c-33333333-dddddddddddd 8,9; } >>controller.jsonl
}

@test "a host that is fenced and has nothing: nothing is found" {
  fence_storm
  judged
  [ -z "$output" ]
}

@test "what a fenced host got, or still had when its fence was finished" {
  fence_storm
  before 24 "$(has_ipus 23 y gold 2)"
  before 24 "$(revision delete 23 /fleet/grants/pool/y '')"
  finds 'fence: host 33333333 got /fleet/grants/pool/y at revision 23, after its fence began'
  fence_storm
  sed -i '/"mod_revision":23}/d' etcd.jsonl
  finds 'fence: host 33333333 still has /fleet/grants/pool/x at revision 24, when its fence is finished'
}

@test "a partition of a fenced host that stays at the controller, its own or a warm one that it took" {
  fence_storm
  sed -i 's/"time":42000/"time":46000/' controller.jsonl
  finds 'fence: host 33333333 was fenced from 44 until 60, and its partition c-33333333-dddddddddddd was there until 46'
  sed -i "s/c-33333333-dddddddddddd/$W/" controller.jsonl
  judged
  [ -z "$output" ]
  before 19 "$(warm 18 "$W" idle '')"
  before 22 "$(take_warm 21 "$B" "$W" 33333333)"
  before 22 "$(no_warm 21 "$W")"
  before 24 "$(ungrant 23 "$B")"
  finds "fence: host 33333333 was fenced from 44 until 60, and its partition $W was there until 46"
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

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The messages between a host and its fleet's etcd, cut one after the other while a container starts or ends.
# STRIDE=1 cuts at each frame of HTTP/2, and not only at some.

# shellcheck disable=SC2030,SC2031,SC2034 # count, last and met are each test's own

load support
load bundle
# shellcheck source=tests/e2e/frames.bash
source "$BATS_TEST_DIRNAME/frames.bash"

setup() {
  cutter_up
  ipuctl partition create p0 --size 4 >/dev/null
  make_bundle '.process.env += ["IPU_PARTITION=p0"]'
  in_host cp "$BUNDLE/config.json" /run/job.json
}

teardown() {
  cut 0 close
  remove_bundle
  ipuctl gc >/dev/null
  remove_named
  cutter_down
  in_host rm -rf /run/other-host /run/job.json
  assert_nothing_left
}

start_job() {
  in_host cp /run/job.json "$BUNDLE/config.json"
  create job
}

# What must be true after a cut and one gc: no lease, no claim, and the partition can be used.
gives_all_back() { # WHERE
  wait_until 30 no_hook_works
  cut 0 close
  ipuctl gc >/dev/null || fail "$1: gc failed"
  assert_equal "$1: $(ipuctl ps -o json) $(claims)" "$1: [] 0"
  assert_equal "$1: $(ipuctl partition list -o json | jq -r '.[] | "\(.partition) \(.state)"')" "$1: p0 ACTIVE"
}

# How many keys say what job has.
held_keys() { claims; }

# Cuts at each frame in turn, until there are no more.
cut_starts() { # WAY STRIDE
  local frame status
  for ((frame = 1; ; frame += $2)); do
    cut "$frame" "$1"
    status=0
    start_job >"$BATS_TEST_TMPDIR/start" 2>&1 || status=$?
    last=$(frames)
    if [ "$status" -eq 0 ]; then
      assert_equal "$1 $frame: $(held_keys)" "$1 $frame: 1"
    else
      assert_equal "$1 $frame: $(grep -c '' "$BATS_TEST_TMPDIR/start") $(cut_words "$BATS_TEST_TMPDIR/start")" "$1 $frame: 1 ipu: fleet:"
    fi
    cut 0 close
    runtime delete --force job
    gives_all_back "start, $1 at frame $frame"
    [ "$last" -ge "$frame" ] || break
    count=$((count + 1))
  done
}
# Does so while the container ends.
cut_ends() { # WAY STRIDE
  local frame
  for ((frame = 1; ; frame += $2)); do
    start_job
    cut "$frame" "$1"
    runtime delete --force job
    wait_until 60 no_hook_works
    last=$(frames)
    gives_all_back "end, $1 at frame $frame"
    assert_equal "end, $1 $frame: $(count_keys grants)" "end, $1 $frame: 0"
    [ "$last" -ge "$frame" ] || break
    count=$((count + 1))
  done
}

cut_words() { command cut -d ' ' -f 1-2 "$1"; }

@test "a start whose messages to etcd are cut runs, or fails in one line; nothing is left after one gc" {
  local count=0 last
  cut_starts close "${STRIDE:-19}"
  cut_starts truncate "${STRIDE:-23}"
  cut_starts stall "${STRIDE:-47}"
  echo "$count cuts, in a start of $last frames"
  [ "$count" -ge 6 ]
}

@test "a start on a shared GCD whose messages to etcd are cut runs, or fails in one line; nothing is left after one gc" {
  local count=0 last
  remove_named
  in_host sed -i 's|^range = .*|scheme = "ipu"\nbase = "10.5.64.0"\nmachines = "10.5.0.0/22"|' "$CONFIG"
  ipuctl partition create p0 --size 4 --shared >/dev/null
  cut_starts close "${STRIDE:-23}"
  cut_starts truncate "${STRIDE:-37}"
  echo "$count cuts, in a start of $last frames"
  [ "$count" -ge 4 ]
}

bundle_of_own() { # VARIABLE...
  remove_bundle
  make_bundle ".process.env += $(printf '%s\n' "$@" | jq -Rsc 'split("\n")[:-1]')"
  in_host cp "$BUNDLE/config.json" /run/job.json
}

@test "a start with IPUs of its own whose messages to etcd are cut runs, or fails in one line; nothing is left after one gc" {
  local count=0 last
  bundle_of_own IPU_COUNT=2
  held_keys() { count_keys grants; }
  cut_starts close "${STRIDE:-17}"
  cut_starts truncate "${STRIDE:-29}"
  cut_starts stall "${STRIDE:-43}"
  assert_equal "$(count_keys grants)" 0
  echo "$count cuts, in a start of $last frames"
  [ "$count" -ge 4 ]
}

takes_a_place() { [ "$(count_keys queue)" = 1 ]; }
waits_in_vain() { # WAY FRAME
  local said status=0
  said=$(start_job 2>&1) || status=$?
  assert_equal "$1 $2: $status $(grep -c '' <<<"$said")" "$1 $2: 1 1"
  met=$(frames)
  gives_all_back "wait, $1 at frame $2"
  assert_equal "$1 $2: $(count_keys queue) $(count_keys grants)" "$1 $2: 0 0"
}

@test "a request that waits, and whose messages to etcd are cut, fails in one line; its place is gone after one gc" {
  local count=0 met
  bundle_of_own IPU_COUNT=64 IPU_WAIT=2s
  start_job >/dev/null 2>&1 3>&- &
  wait_until 10 takes_a_place || fail "$(ipuctl queue)"
  ! wait "$!" || fail 'it started'
  cut_each "${STRIDE:-23}" waits_in_vain close stall
  echo "$count cuts, in a wait of $met frames"
  [ "$count" -ge 4 ]
}

beats() { # WAY FRAME
  local said status=0
  said=$(ipuctl fleet beat 2>&1) || status=$?
  case "$status $(grep -c . <<<"$said")" in '0 0' | '3 1') ;; *) fail "$1 $2: $status: $said" ;; esac
  met=$(frames)
  cut 0 close
  ipuctl fleet beat
  assert_contains "$(ipuctl fleet status)" 'LIVE'
}

@test "a beat whose messages to etcd are cut succeeds or fails in one line, and so does the next one" {
  local count=0 met
  cut_each "${STRIDE:-61}" beats close truncate stall
  echo "$count cuts, in a beat of $met frames"
  [ "$count" -ge 4 ]
}

@test "an end whose messages to etcd are cut gives the GCD back by one gc" {
  local count=0 last
  cut_ends close "${STRIDE:-7}"
  cut_ends truncate "${STRIDE:-11}"
  cut_ends stall "${STRIDE:-19}"
  echo "$count cuts, in an end of $last frames"
  [ "$count" -ge 2 ]
}

@test "an end whose messages to etcd are cut gives IPUs of its own back by one gc" {
  local count=0 last
  remove_bundle
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host cp "$BUNDLE/config.json" /run/job.json
  cut_ends close "${STRIDE:-7}"
  cut_ends truncate "${STRIDE:-11}"
  cut_ends stall "${STRIDE:-19}"
  echo "$count cuts, in an end of $last frames"
  [ "$count" -ge 2 ]
}

# ---- ipuctl host fence

KEYS=/ipu-container-toolkit
# All keys of the fleet that the jq FILTER selects, with the revision of each one's last change.
keys_by() { # FILTER
  etcd_control get --prefix "$KEYS/" -w json | jq -r --arg dead "$dead" '
    [.kvs // [] | .[] | {key: (.key | @base64d), value: (.value | @base64d), modified: .mod_revision}] |
    map(select('"$1"')) | .[] | "\(.modified) \(.key)"'
}
# But for the fence, and the mark that lets the host come back.
# shellcheck disable=SC2016 # $dead is jq's
of_dead() { keys_by '(.key + .value | contains($dead)) and (.key | test("/(fences|marks)/" + $dead) | not)'; }
# shellcheck disable=SC2016
of_others() { keys_by '.key + .value | contains($dead) | not'; }
partitions() { ipuctl partition list -o json | jq -r '.[].partition' | sort; }
put_record() { etcd_control put "$KEYS/$1" "$2" >/dev/null; } # KEY JSON

# The dead host has a partition of its own with its grant; and what it would have put into etcd for a container with a
# GCD, for one that waits, and for a warm partition that it had not begun to make at the controller.
dead_host_has_all() {
  local ticket='"tenant":"","ipus":4,"since_ms":1,"until_ms":2,"user":0,"aged":false,"overdue":false,"cancelled":false,"place":0'
  number=$((number + 1))
  on_other_host ipuctl reserve "theirs$number" --ipus 4 >/dev/null
  put_record "partitions/pod64/p1/claims/$dead-0123456789ab" \
    "{\"host\":\"$dead\",\"container\":\"theirs\",\"process\":\"\",\"gcd\":1,\"gcds\":1,\"uses\":true,\"tenant\":\"\",\"since_ms\":1}"
  put_record "queue/pod64/*/$dead-7-01234567" "{\"host\":\"$dead\",\"container\":\"waits\",$ticket}"
  put_record "warm/pod64/f-01234567-0123456789ab" "{\"maker\":\"$dead\",\"phase\":\"making\",\"changer\":\"$dead\",\"source\":\"10.1.3.101:8090\",\"allocation\":\"\",\"cluster\":\"\",\"ipus\":4,\"since_ms\":1}"
  [ "$(of_dead | wc -l)" -ge 4 ] || fail "$(of_dead)"
  partitions | grep -q "^r-$dead-" || fail "$(partitions)"
}

# Another fence succeeds, whatever became of the one before, and then it has ended.
fence_has_ended() { # WHERE
  local said
  cut 0 close
  said=$(ipuctl host fence "$dead" 2>&1) || fail "$1: $said"
  assert_equal "$1: ${said##*$'\n'}" "$1: host $dead is fenced; partitions that operators named stay"
  assert_equal "$1: $(etcd_control get --print-value-only "$KEYS/fences/$dead" | jq .finished)" "$1: true"
  assert_equal "$1: $(of_dead)" "$1: "
  assert_equal "$1: $(of_others)" "$1: $others"
  assert_equal "$1: $(partitions)" "$1: $here"
  assert_contains "$(ipuctl host list)" 'fenced at'
  ipuctl host forget "$dead" >/dev/null
}

# The last frames, with the answers to what is written last, are cut one by one.
cut_fences() { # WAY STRIDE
  local frame=1 next result
  while :; do
    dead_host_has_all
    cut "$frame" "$1"
    result=0
    ipuctl host fence "$dead" >"$BATS_TEST_TMPDIR/fence" 2>&1 || result=$?
    [ "$result" -le 3 ] || fail "$1 $frame: $result: $(cat "$BATS_TEST_TMPDIR/fence")"
    last=$(frames)
    fence_has_ended "$1 at frame $frame"
    [ "$last" -ge "$frame" ] || break
    cuts=$((cuts + 1))
    next=$((frame + $2))
    [ "$next" -lt $((all - 9)) ] || next=$((frame + 1 > all - 9 ? frame + 1 : all - 9))
    frame=$next
  done
}

# The dead host, this one, which has something, too, and how many frames a whole fence has.
prepare_fences() {
  ipuctl partition create p1 --size 8 --gcds 2 >/dev/null
  ipuctl reserve mine --ipus 4 >/dev/null
  dead=$(on_other_host ipuctl host list -o json | jq -r '.[] | select(.state == "this host").host')
  others=$(of_others) here=$(partitions)
  dead_host_has_all
  cut 0 close
  ipuctl host fence "$dead" >/dev/null
  all=$(frames)
  fence_has_ended whole
}

@test "a fence whose messages to etcd are cut after they were sent is ended by the next one, and touches nobody else" {
  local cuts=0 last=0 number=0 all others here dead
  prepare_fences
  cut_fences close "${STRIDE:-83}"
  echo "$cuts cuts, in a fence of $all frames"
  [ "$cuts" -ge 12 ]
}

@test "a fence whose messages to etcd arrive in part is ended by the next one, and touches nobody else" {
  local cuts=0 last=0 number=0 all others here dead
  prepare_fences
  cut_fences truncate "${STRIDE:-83}"
  echo "$cuts cuts, in a fence of $all frames"
  [ "$cuts" -ge 12 ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What happened can be told afterwards: explain, events, the dump of the ledger, the audit log.

load support
load bundle

AUDIT=/var/lib/ipu-container-toolkit/audit.log

teardown() {
  host_stop follower
  sim_stop
  sim_start
  host_config
  in_host sh -c "test ! -d $AUDIT || rmdir $AUDIT"
  remove_containers
  ipuctl gc
  assert_nothing_left
}

# Of the explanation of a container, the part that the jq FILTER selects.
explained() { # CONTAINER FILTER
  ipuctl explain "$1" -o json | jq -er "$2"
}

full_id() { docker inspect -f '{{.Id}}' "$1"; }

@test "explain: a running container, by the start of its id" {
  start job -e IPU_COUNT=4
  local id text
  id=$(container_id job)
  text=$(ipuctl explain "$id")
  assert_contains "$text" "$(full_id job)"
  assert_contains "$text" 'RUNNING since'
  assert_contains "$text" 'of 4 IPUs: ACTIVE after'
  assert_contains "$text" 'roce0 with 10.5.200.'
  assert_equal "$(explained "$id" '[.outside[] | "\(.effect) \(.state)"] | join(", ")')" \
    'interfaces there, partition there, files there'
  assert_equal "$(explained "$id" '[.events[] | select(.kind == "STATE").event] | .[0:2] | join(", ")')" \
    'INTENT, ALLOCATED'
}

@test "explain: a container that ended, and its earlier leases" {
  start job -e IPU_COUNT=4
  local id
  id=$(full_id job)
  docker restart --time 1 job
  docker stop --time 1 job
  wait_until 10 nothing_is_left
  assert_equal "$(explained "$id" '[.outside[] | select(.state != "gone")] | length')" 0
  assert_equal "$(explained "$id" '.earlier | length')" 1
  assert_contains "$(explained "$id" '[.events[].event] | join("; ")')" 'gone after'
}

@test "explain: a container that found the pool full, with the error as it was shown" {
  start holder -e IPU_COUNT=64
  local id error
  run -125 docker run --runtime=ipu --name job -e IPU_COUNT=4 busybox true
  id=$(full_id job)
  error=$(explained "$id" '.events[] | select(.kind == "ERROR").event')
  assert_contains "$error" 'has no free block of 4 IPUs'
  # shellcheck disable=SC2154
  assert_contains "${output//\\/}" "$error"
  assert_equal "$(explained "$id" .lease.state)" FAILED
  assert_contains "$(explained "$id" '[.events[] | select(.kind == "CONTROLLER").event] | join("; ")')" create
}

@test "explain: a container whose controller is down, and what is next" {
  start job -e IPU_COUNT=4
  local id
  id=$(full_id job)
  sim_stop
  docker stop --time 1 job
  wait_until 20 has_obstacle "$id"
  assert_contains "$(explained "$id" .lease.obstacle)" "$CONTROLLER"
  assert_contains "$(explained "$id" .next)" 'ipuctl gc'
  assert_equal "$(explained "$id" '.outside[] | select(.effect == "partition").state')" unknown
  assert_contains "$(explained "$id" '[.events[] | select(.kind == "CONTROLLER").event] | last')" "$CONTROLLER"
}

has_obstacle() { [ -n "$(explained "$1" .lease.obstacle)" ]; }

@test "trace: the steps of a start by both programs, in order, as long as the container runs" {
  start job -e IPU_COUNT=4
  local steps
  steps=$(ipuctl trace job -o json)
  assert_equal "$(jq -r '[.[].program] | unique | join(" ")' <<<"$steps")" 'ipu-container-hook ipu-container-runtime'
  jq -e '[.[].ms] | . == sort and .[0] == 0 and .[-1] > 0' <<<"$steps"
  jq -e '[.[].step] | index("it asks for IPUs") < index("RUNNING, as process '"$(docker inspect -f '{{.State.Pid}}' job)"'")' <<<"$steps"
  assert_contains "$(ipuctl trace job)" 'config.json is replaced'
  local id
  id=$(full_id job)
  docker rm --force job
  wait_until 10 has_leases 0
  run -1 ipuctl trace "$id"
  assert_contains "$output" 'has no trace: it has ended'
}

@test "explain, events: nothing of that name" {
  run -1 ipuctl explain nothing
  assert_contains "$output" "see 'ipuctl ps'"
  run -1 ipuctl events --lease nothing
  assert_equal "$output" "ipuctl: no lease or container is called 'nothing'; see 'ipuctl ps'"
}

@test "events --lease: a container by its name, and one that was refused by its id" {
  start job -e IPU_COUNT=4
  assert_equal "$(ipuctl events --lease job)" "$(ipuctl events --lease "$(full_id job)")"
  assert_contains "$(ipuctl events --lease job)" RUNNING
  run -125 docker run --runtime=ipu --name three -e IPU_COUNT=3 busybox true
  assert_contains "$(ipuctl events --lease "$(full_id three)")" "IPU_COUNT='3' is not accepted"
}

@test "events --follow: a start and a stop as they happen" {
  host_spawn follower ipuctl events --follow --since 0 -o json
  start job -e IPU_COUNT=4
  wait_until 10 has_happened RUNNING "$(full_id job)"
  local id
  id=$(full_id job)
  docker rm --force job
  wait_until 10 has_happened QUARANTINE "$id"
  # Each line is whole, and their numbers grow.
  assert_equal "$(followed -s '[.[].number] | . == (sort | unique)')" true
  host_stop follower
}

followed() { # JQ-ARGUMENT...
  in_host cat /run/service/follower.log | jq "$@"
}

has_happened() { # STATE CONTAINER
  # shellcheck disable=SC2016
  followed -es --arg state "$1" --arg container "$2" \
    '[.[] | select((.event | startswith($state)) and (.container | startswith($container)))] | length > 0' >/dev/null
}

@test "events: ends quietly when nobody reads any more" {
  start job -e IPU_COUNT=4
  in_host bash -c 'set -o pipefail; ipuctl events | head -n 1'
  # The end of head is the end of --follow too, also while nothing happens.
  in_host timeout 10 bash -c 'set -o pipefail; ipuctl events --follow --since 0 | head -n 1'
}

@test "events: the last 1000, unless you choose others" {
  on_other_host ipuctl partition create p0 --size 4
  on_other_host python3 -c '
import sqlite3
ledger = sqlite3.connect("/var/lib/ipu-container-toolkit/ledger.db")
with ledger:
    for i in range(1500):
        ledger.execute("INSERT INTO event (lease, at_ms, event) SELECT lease, at_ms, ? FROM event ORDER BY rowid LIMIT 1", ("number %d" % i,))'
  run -0 on_other_host ipuctl events
  # shellcheck disable=SC2154
  assert_equal "${#lines[@]}" 1000
  assert_contains "${lines[0]}" 'number 500'
  assert_contains "${lines[999]}" 'number 1499'
  run -0 on_other_host ipuctl events --since 1h
  [ "${#lines[@]}" -gt 1500 ]
  run -0 on_other_host ipuctl events --since 0 -o json
  [ "${#lines[@]}" -gt 1500 ]
  remove_other_host
}

@test "events: of one container, and since an event" {
  start job -e IPU_COUNT=4
  start other -e IPU_COUNT=4
  local id last
  id=$(full_id job)
  assert_equal "$(ipuctl events --lease "$id" -o json | jq -r .container | sort -u)" "$id"
  last=$(ipuctl events -o json | jq -s 'last.number')
  assert_equal "$(ipuctl events --since "$last")" ''
  assert_equal "$(ipuctl events --since "$((last - 1))" | wc -l)" 1
  [ "$(ipuctl events --since 1h | wc -l)" -gt 4 ]
  run -2 ipuctl events --since soon
}

@test "ledger dump: one JSON object with every part" {
  start job -e IPU_COUNT=4
  local dump
  dump=$(ipuctl ledger dump --output json)
  assert_equal "$(jq -r 'keys_unsorted | join(" ")' <<<"$dump")" \
    'schema leases addresses ipus partitions waiters usage refused rooms endpoints events refusals meta'
  assert_equal "$(jq '[.leases[] | select(.state == "RUNNING")] | length' <<<"$dump")" 1
  assert_equal "$(jq -r '[.addresses[] | select(.free_at == null).address] | first' <<<"$dump")" "$(address_in job)"
  assert_contains "$(ipuctl ledger dump)" waiters
}

@test "audit verify: good, of one file after another, and not after a change" {
  start job -e IPU_COUNT=4
  docker rm --force job
  wait_until 10 nothing_is_left
  assert_contains "$(ipuctl audit verify)" 'lines are intact'
  in_host logrotate --force --state /run/logrotate.state /etc/logrotate.d/ipu-container-toolkit
  ipuctl partition create p0 --size 4
  ipuctl partition remove p0
  assert_contains "$(in_host cat "$AUDIT")" '"program":"/usr/local/bin/ipuctl"'
  ipuctl audit verify
  assert_equal "$(ipuctl audit verify -o json | jq .fault)" null
  in_host cp "$AUDIT" /run/audit.copy
  in_host sed -i '0,/"p0"/s/"p0"/"p1"/' "$AUDIT"
  run -1 ipuctl audit verify
  assert_contains "$output" 'does not fit'
  in_host mv /run/audit.copy "$AUDIT"
  ipuctl audit verify
  in_host sh -c ": >$AUDIT"
  run -1 ipuctl audit verify
  assert_contains "$output" 'is not complete'
}

@test "audit log: one that cannot be written keeps nothing from starting, and gc says so" {
  in_host rm -f "$AUDIT" "$AUDIT.1"
  in_host mkdir "$AUDIT"
  start job -e IPU_COUNT=4
  docker rm --force job
  run -1 ipuctl gc
  assert_contains "$output" 'audit log'
  in_host rmdir "$AUDIT"
  ipuctl gc
  ipuctl audit verify
}

# Starts one container after another in the host, without an engine, and counts those that were refused.
# shellcheck disable=SC2016
REFUSE='for i in $(seq "$1"); do
  ! ipu-container-runtime --root /run/oci create --bundle /run/bundle "refused$i" 2>/run/refused.err || exit 1
done'

sizes() { in_host sh -c "stat -c %s $AUDIT /var/lib/ipu-container-toolkit/ledger.db*" | xargs; }

@test "hundreds of refused starts leave a count, and files that stay small" {
  start holder -e IPU_COUNT=64
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  LIMIT=300 in_host timeout 300 sh -c "$REFUSE" sh 10
  local audit before ledger wal after
  read -r audit before wal _ <<<"$(sizes)"
  LIMIT=300 in_host timeout 300 sh -c "$REFUSE" sh 200
  after=$(in_host cat /run/refused.err)
  assert_contains "$after" 'has no free block of 4 IPUs'
  read -r after ledger wal _ <<<"$(sizes)"
  [ "$after" -lt $((audit + 2000)) ] || fail "the audit log grew from $audit to $after"
  [ "$ledger" -lt $((before + 300000)) ] || fail "the ledger grew from $before to $ledger"
  [ "$wal" -lt 8000000 ] || fail "its log has $wal bytes"
  assert_equal "$(ipuctl ledger dump -o json | jq -r '.refusals[] | select(.container == "refused200") |
    "\(.count >= 210) \(.last_ms > .first_ms)"')" 'true true'
  assert_contains "$(ipuctl explain refused200)" 'of its kind since'
  ipuctl audit verify
  remove_bundle
}

@test "logrotate takes a large audit log before its month is over" {
  start job -e IPU_COUNT=4
  docker rm --force job
  wait_until 10 nothing_is_left
  local rules=/etc/logrotate.d/ipu-container-toolkit state=/run/logrotate.large
  in_host logrotate --state "$state" "$rules"
  in_host sh -c "rm -f $AUDIT.*; sed 's/maxsize 64M/maxsize 1k/' $rules >/run/small && chmod 0644 /run/small"
  assert_equal "$(in_host grep -c 'maxsize 64M' "$rules")" 1
  in_host logrotate --state "$state" /run/small
  in_host test -e "$AUDIT.1"
  start job -e IPU_COUNT=4
  ipuctl audit verify
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet share a POD64 between tenants: what a tenant may have counts over both, one queue serves both, and
# each host shows and cancels what waits on the other.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  fleet_up
  tenants_by_variable
  in_host truncate --size 0 "$SIM_LOG"
}

teardown() {
  etcd_answers || etcd_start
  on a ipuctl queue cancel --all >/dev/null
  on b ipuctl queue cancel --all >/dev/null
  remove_containers_of_both
  remove_partitions
  assert_equal "$(etcd_keys grants)" ''
  etcd_stop
  unconfigure_fleet
}

# The value of the share of TENANT in the fleet that the jq FILTER selects, as HOST shows it.
in_fleet() { # HOST TENANT FILTER
  on "$1" ipuctl tenant show "$2" -o json | jq -c ".fleet | $3"
}

@test "a limit counts over both hosts, and IPUs that one gives back serve a request of the other" {
  run -0 on a ipuctl tenant set vision --limit 16
  assert_contains "$output" "the share of tenant 'vision' in the fleet: guaranteed 0, limit 16"
  assert_contains "$output" 'a start of another one, or of none, is refused'
  start_for a one vision 8
  start_for b two vision 8
  run -1 start_for b three vision 1
  assert_contains "$output" "tenant 'vision' has 16 of at most 16 IPUs"
  assert_contains "$output" 'and asks for 1 more; it fits when the tenant gives back 1'
  assert_contains "$(on b ipuctl explain three)" 'and asks for 1 more; it fits when the tenant gives back 1'
  assert_equal "$(in_fleet b vision '[.scope, .held, .limit, (.holdings | map(.host) | unique | length)]')" '["fleet",16,16,2]'
  assert_equal "$(on a ipuctl tenant list -o json | jq -c '[.[] | [.scope, .tenant, .held]]')" \
    '[["host","vision",8],["fleet","vision",16]]'
  assert_contains "$(on a ipuctl tenant show vision)" "container two on host $(tag_of b): 8 IPUs of pod64"
  start_waiter b four vision 8 1
  end_on a one
  wait "$WAITING"
  assert_equal "$(on b ipuctl ps -o json | jq -r '[.[].container] | sort | join(" ")')" 'four two'
}

@test "a tenant within its guaranteed share is served before one of the other host that borrows and came first" {
  local borrower
  on a ipuctl tenant set all --limit 64
  on a ipuctl tenant set guest --limit 16
  on b ipuctl tenant set vision --guaranteed 32
  start_for a full all 64
  start_waiter a borrower guest 16 1
  borrower=$WAITING
  start_waiter b own vision 32 2
  assert_equal "$(on a ipuctl queue -o json | jq -c '[.[] | [.position, .length, .host, .tenant]]')" \
    "$(jq -nc --arg a "$(tag_of a)" --arg b "$(tag_of b)" '[[1, 2, $b, "vision"], [2, 2, $a, "guest"]]')"
  assert_contains "$(on a ipuctl explain borrower)" "2nd of 2, since"
  assert_contains "$(on a ipuctl explain borrower)" "; the first is container own on host $(tag_of b), for 32 IPUs"
  assert_contains "$(on a ipuctl explain borrower)" "; in the fleet, tenant 'guest' has 0 of at most 16 IPUs"
  end_on a full
  wait "$WAITING"
  wait "$borrower"
  assert_equal "$(sim_log -c 'map(select(.event == "hold").ipus | length) | .[-2:]')" '[32,16]'
}

@test "starts of both hosts at the same time never exceed a limit" {
  local round host starts fits pid
  on a ipuctl tenant set vision --limit 8
  for round in 1 2 3 4; do
    starts=()
    fits=0
    for host in a b; do
      start_for "$host" "$host$round" vision 8 3>&- >"$BATS_TEST_TMPDIR/$host" 2>&1 &
      starts+=($!)
    done
    for pid in "${starts[@]}"; do
      if wait "$pid"; then fits=$((fits + 1)); fi
    done
    [ "$fits" -le 1 ] || fail "round $round: both started"
    [ "$(in_fleet a vision .held)" = "$((8 * fits))" ] || fail "$(on a ipuctl tenant show vision)"
    cat "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" >>"$BATS_TEST_TMPDIR/all"
    for host in a b; do run end_on "$host" "$host$round"; done # one of them never was
    wait_until 10 holds vision 0
  done
  assert_contains "$(cat "$BATS_TEST_TMPDIR/all")" "tenant 'vision' has 8 of at most 8 IPUs"
}
holds() { [ "$(in_fleet a "$1" .held)" = "$2" ]; } # TENANT IPUS

# Starts CONTAINER of TENANT with a GCD of p0.
use_for() { # HOST CONTAINER TENANT GCD
  use "$1" "$2" "$4" "IPU_TENANT=$3"
}

@test "containers of a named partition count for their tenant, together with those that have their own" {
  on a ipuctl tenant set vision --limit 16
  on a ipuctl tenant set nlp
  on a ipuctl partition create p0 --size 32 --gcds 4
  use_for a one vision 0
  use_for b two vision 1
  assert_equal "$(in_fleet a vision '[.held, (.holdings | map(.host) | unique | length)]')" '[16,2]'
  run -1 use_for b three vision 2
  assert_contains "$output" "tenant 'vision' has 16 of at most 16 IPUs"
  run -1 start_for a four vision 4
  assert_contains "$output" "tenant 'vision' has 16 of at most 16 IPUs"
  use_for b three nlp 2
  end_on a one
  wait_until 20 holds vision 8
  start_for b four vision 8
  run -1 use_for a one vision 0
  assert_contains "$output" "tenant 'vision' has 16 of at most 16 IPUs"
}

@test "two hosts that start with a named partition and with their own IPUs at the same time never exceed a limit" {
  local round first second fits
  on a ipuctl tenant set vision --limit 8
  on a ipuctl partition create p0 --size 16 --gcds 2
  for round in 1 2 3 4; do
    use_for a "a$round" vision 1 3>&- >"$BATS_TEST_TMPDIR/a" 2>&1 &
    first=$!
    start_for b "b$round" vision 8 3>&- >"$BATS_TEST_TMPDIR/b" 2>&1 &
    second=$!
    fits=0
    if wait "$first"; then fits=$((fits + 1)); fi
    if wait "$second"; then fits=$((fits + 1)); fi
    [ "$fits" -le 1 ] || fail "round $round: both started"
    [ "$(in_fleet a vision .held)" = "$((8 * fits))" ] || fail "$(on a ipuctl tenant show vision)"
    cat "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" >>"$BATS_TEST_TMPDIR/all"
    run end_on a "a$round"
    run end_on b "b$round"
    wait_until 10 holds vision 0
  done
  assert_contains "$(cat "$BATS_TEST_TMPDIR/all")" "tenant 'vision' has 8 of at most 8 IPUs"
}

# The report of HOST: a line for each row and host that the jq FILTER makes.
report_of() { # HOST FILTER [OPTION...]
  local host=$1 filter=$2
  shift 2
  on "$host" ipuctl report --since 0s -o json "$@" | jq -c "$filter"
}

# Has HOST tell its part of the accounting again, though it did so a moment ago.
tell_again() {
  in_host python3 -c '
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1])
[[value]] = ledger.execute("SELECT value FROM meta WHERE name = ?", ["accounting"])
value = " ".join(value.split(" ")[:3] + ["0"])
ledger.execute("UPDATE meta SET value = ? WHERE name = ?", [value, "accounting"])
ledger.commit()' "$(ledger_of "$1")"
  on "$1" ipuctl fleet beat
}
ledger_of() { [ "$1" = a ] && echo /var/lib/ipu-container-toolkit/ledger.db || echo /run/hostb/lib/ledger.db; }

# Has etcd say what HOST had today as one whose clock is hours ahead tells it.
to_tomorrow() { # HOST
  local key value
  key=$(etcd_keys "usage/$(date --utc +%F)" | grep "/$1/")
  value=$(etcd_control get --print-value-only "$key")
  etcd_control put "${key/"$(date --utc +%F)"/"$(date --utc --date tomorrow +%F)"}" "$value" >/dev/null
  etcd_control del "$key" >/dev/null
}

@test "the report is of the fleet: what each host had, also one that was fenced, and how old its part is" {
  local a b
  a=$(tag_of a) b=$(tag_of b)
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  start_for a one fleet-x 16
  start_for b two fleet-x 8
  end_on b two
  end_on a one
  wait_until 20 both_are_empty
  tell_again b
  assert_equal "$(report_of a '.rows[] | select(.tenant == "fleet-x") | [.ended, .starts]')" '[2,2]'
  assert_equal "$(report_of a '.rows[] | select(.tenant == "fleet-x") | [.ended]' --host)" '[1]'
  assert_equal "$(report_of a '[.hosts[].host] | sort' --by host)" "$(jq -nc --arg a "$a" --arg b "$b" '[$a, $b] | sort')"
  assert_equal "$(report_of a '[.hosts[].until | . != null] | all')" true
  assert_equal "$(report_of a '[.rows[].host] | unique | length' --by host)" 2
  assert_equal "$(report_of a '.ipus, .rows[0].utilisation != null' | paste -sd ' ')" '64 true'
  assert_contains "$(on a ipuctl report)" "host $b ("
  assert_contains "$(on a ipuctl report --output csv --by host)" "$(printf '\n"%s",' "$b")"
  to_tomorrow "$b"
  assert_equal "$(report_of a '.rows[] | select(.tenant == "fleet-x") | .ended')" 2
  on a ipuctl host fence "$b" --alive
  assert_equal "$(report_of a '.rows[] | select(.tenant == "fleet-x") | .ended')" 2
  on a ipuctl host forget "$b"
  assert_equal "$(report_of a '.rows[] | select(.tenant == "fleet-x") | .ended')" 2
  etcd_stop
  run -3 on a ipuctl report --since 0s -o csv
  assert_contains "$output" "$ENDPOINT"
  assert_contains "$output" '"fleet-x",'
}

@test "a tenant that the fleet does not know is refused, also one that was removed, whose containers stay" {
  on a ipuctl tenant set vision
  on a ipuctl tenant set nlp --limit 4
  start_for b one nlp 4
  run -1 start_for a two other 4
  assert_contains "$output" "the fleet has no tenant 'other'; its tenants are nlp, vision"
  run -0 on b ipuctl tenant remove nlp
  assert_contains "$output" 'what it has stays'
  assert_contains "$output" 'its starts are refused: the tenants of the fleet are vision'
  run -1 start_for a two nlp 1
  assert_contains "$output" "the fleet has no tenant 'nlp'"
  assert_equal "$(in_fleet a nlp '[.held, .limit]')" '[4,null]'
  run -1 on a ipuctl tenant remove nlp
  assert_contains "$output" "the fleet has no tenant 'nlp'"
  run -0 on a ipuctl tenant remove vision
  assert_contains "$output" 'the fleet has no tenants now'
  start_for a two other 4
}

@test "the queue shows and cancels what waits on the other host" {
  local first second status=0
  start_for a full '' 64
  start_waiter a one '' 8 1
  first=$WAITING
  start_waiter b two '' 8 2
  second=$WAITING
  for host in a b; do
    assert_equal "$(on "$host" ipuctl queue -o json | jq -c '[.[] | [.position, .container, .host]]')" \
      "$(jq -nc --arg a "$(tag_of a)" --arg b "$(tag_of b)" '[[1, "one", $a], [2, "two", $b]]')"
  done
  assert_contains "$(on a ipuctl queue)" "$(on a ipuctl queue -o json | jq -r '.[1].ticket')"
  run -0 on a ipuctl queue cancel two
  assert_contains "$output" "removed container two on host $(tag_of b) from the queue for pod64"
  wait "$second" || status=$?
  assert_equal "$status" 1
  assert_contains "$(cat "$BATS_TEST_TMPDIR/two")" "was cancelled with 'ipuctl queue cancel'"
  assert_equal "$(on b ipuctl queue cancel --all)" 'no wait was cancelled' # those of this host alone
  run -0 on b ipuctl queue cancel "$(on b ipuctl queue -o json | jq -r '.[0].ticket')"
  status=0
  wait "$first" || status=$?
  assert_equal "$status" 1
  assert_contains "$(on b ipuctl events)" "queue cancel removed container one on host $(tag_of a)"
}

@test "tenant set: what is not given stays, and a bad value changes nothing and is named" {
  local args
  on a ipuctl tenant set vision --guaranteed 8 --limit 16 --borrow-time 4h --max-wait 2m --max-waiters 3 --may-reserve no
  run -0 on b ipuctl tenant set vision --limit none
  assert_equal "${lines[0]}" "the share of tenant 'vision' in the fleet: guaranteed 8, limit none, borrow-time 4h,\
 max-wait 2m, max-waiters 3, may-reserve no, allocation none"
  on b ipuctl tenant set vision --limit 16
  while IFS='|' read -r args expected; do
    # shellcheck disable=SC2086
    run -2 on a ipuctl tenant set $args
    assert_equal "${#lines[@]}" 1
    assert_contains "$output" "$expected"
  done <<'END'
vision --limit 7|--limit must be at least what is guaranteed to tenant 'vision', 8; nothing was changed
vision --guaranteed 17|--limit must be at least what is guaranteed to tenant 'vision', 17
vision --limit 10001|'10001' is not a whole number from 0 to 10000; 'none' is accepted, too
vision --guaranteed none|'none' is not a whole number from 0 to 10000
vision --max-wait 25h|--max-wait
vision --may-reserve maybe|'maybe' is neither 'yes' nor 'no'
a/b --limit 8|TENANT must be 1 to 63 of A-Z
END
  assert_equal "$(in_fleet a vision '[.guaranteed, .limit, .borrow_time]')" '[8,16,14400]'
  start_for a full vision 16
  run -1 start_for b one vision 4 IPU_WAIT=3m
  assert_contains "$output" "max_wait of tenant 'vision'"
}

@test "changes of one share by both hosts at the same time are all there" {
  local i first second
  on a ipuctl tenant set vision
  for i in 1 2 3 4; do
    on a ipuctl tenant set vision --guaranteed "$i" 3>&- >/dev/null &
    first=$!
    on b ipuctl tenant set vision --max-waiters "$i" 3>&- >/dev/null &
    second=$!
    wait "$first"
    wait "$second"
    assert_contains "$(on a ipuctl tenant set vision)" "guaranteed $i, limit none, borrow-time none, max-wait none, max-waiters $i,"
  done
}

@test "without etcd, what this host knows is shown, and a line says what is missing; without [fleet], set says where" {
  on a ipuctl tenant set vision
  start_for a one vision 4
  etcd_stop
  run -3 --separate-stderr on a ipuctl tenant list
  assert_contains "$output" 'vision'
  # shellcheck disable=SC2154
  assert_equal "${#stderr_lines[@]}" 1
  # shellcheck disable=SC2154
  assert_contains "$stderr" "$ENDPOINT"
  run -3 --separate-stderr on a ipuctl tenant show vision
  assert_contains "$output" 'container one: 4 IPUs of pod64'
  run -3 --separate-stderr on a ipuctl queue
  assert_contains "$output" 'POSITION'
  run -3 on a ipuctl tenant set vision --limit 8
  assert_equal "${#lines[@]}" 1
  etcd_start
  # shellcheck disable=SC2016
  in_host sed -i '/^\[fleet\]/,$d' "$CONFIG"
  run -2 on a ipuctl tenant set vision --limit 8
  assert_contains "$output" 'this host is in no fleet, so its tenants are the tables [[tenant]] of this file'
  configure_fleet
}

# How many IPUs of the map on the page of HOST are called so.
cells_of() { # HOST LABEL
  on "$1" ipuctl report --output html | tr '>' '\n' | grep -cE "role=\"img\" [^>]*aria-label=\"IPU [0-9]+: $2"
}

@test "the page of each host shows whose the IPUs of the other are, and who waits there" {
  local a b page
  a=$(tag_of a) b=$(tag_of b)
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  start_for a one fleet-x 16
  start_for b two fleet-y 32
  start_waiter b three fleet-y 32 1
  assert_equal "$(cells_of a "Held, tenant fleet-x, container one, partition c-$a-")" 16
  assert_equal "$(cells_of a "Held, tenant fleet-y, container two on host $b, partition c-$b-")" 32
  assert_equal "$(cells_of b "Held, tenant fleet-x, container one on host $a, partition c-$a-")" 16
  assert_equal "$(cells_of b Other)" 0
  page=$(on a ipuctl report --output html)
  assert_contains "$page" "<bdi>container three on host $b</bdi>"
  assert_contains "$page" 'no free block of 32 IPUs (largest free: 16, free in all: 16)'
  assert_contains "$page" "host $b ("
  # Of this host alone, the IPUs of others are not known.
  assert_equal "$(on a ipuctl report --host --output html | tr '>' '\n' | grep -c 'IPU [0-9]*: Other, made by host '"$b")" 32
  end_on a one
  wait "$WAITING" || fail "$(cat "$BATS_TEST_TMPDIR/three")"
}

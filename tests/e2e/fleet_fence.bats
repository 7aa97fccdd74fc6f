#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fence = "auto": a host of the fleet that is not heard of is fenced by another one, if a program of the site says that it
# is off. Ten minutes pass in the ledger of the host that watches.

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
WITNESS=/run/witness

setup_file() { two_hosts_up; }
teardown_file() { two_hosts_down; }

setup() {
  fleet_up
  # shellcheck disable=SC2016
  in_host sh -e -c 'mkdir -m 755 "$1"
    printf "#!/bin/sh\necho \"\$@\" >>%s/asked\nexit \"\$(cat %s/says)\"\n" "$1" "$1" >"$1/ask"
    chmod 755 "$1/ask"; echo 1 >"$1/says"; : >"$1/asked"' sh "$WITNESS"
}

teardown() {
  remove_containers_of_both
  remove_partitions
  host_stop beat
  etcd_stop
  unconfigure_fleet
  in_host rm -rf "$WITNESS"
}

fence_itself() { in_host sh -c "printf 'fence = \"auto\"\nfence_witness = \"$WITNESS/ask\"\n' >>$CONFIG"; }
asked() { in_host sh -c "wc -l <$WITNESS/asked"; }

# Time passes in what host "a" has seen.
pass() { # SECONDS
  in_host python3 -c '
import json, sqlite3, sys
ledger = sqlite3.connect("/var/lib/ipu-container-toolkit/ledger.db")
seen = json.loads(ledger.execute("SELECT value FROM meta WHERE name = ?", ["suspects"]).fetchone()[0])
for host in seen["hosts"].values():
    host["since_ms"] -= int(sys.argv[1]) * 1000
    if host["asked_ms"]:
        host["asked_ms"] -= int(sys.argv[1]) * 1000
ledger.execute("UPDATE meta SET value = ? WHERE name = ?", [json.dumps(seen), "suspects"])
ledger.commit()' "$1"
}

@test "a host that died is fenced after ten minutes, once the witness says that it is off" {
  local dead
  on a ipuctl partition create p0 --size 8 --gcds 2
  make_bundle_of b IPU_PARTITION=p0 IPU_GCD=0
  start_on b one
  make_bundle_of b IPU_COUNT=2
  start_on b two
  dead=$(tag_of b)
  on a ipuctl fleet beat
  on b ipuctl fleet beat
  run -1 on a ipuctl fleet fence-due
  assert_contains "$output" 'fence = "auto"'
  fence_itself
  run -0 on a ipuctl fleet fence-due
  assert_equal "$output" ''
  etcd_control del "/ipu-container-toolkit/alive/$dead" >/dev/null
  on a ipuctl fleet fence-due
  run -0 on a ipuctl fleet fence-due --dry-run
  assert_contains "$output" "host $dead is suspect for "
  assert_contains "$output" 'due after 10m'
  pass 560
  on a ipuctl fleet fence-due
  assert_equal "$(asked)" 0
  pass 40
  assert_contains "$(on a ipuctl fleet fence-due --dry-run)" "would ask $WITNESS/ask about host $dead"
  # It is asked once a minute.
  in_host sh -c "echo 2 >$WITNESS/says"
  run -1 on a ipuctl fleet fence-due
  assert_contains "$output" 'ended with status 2'
  on a ipuctl fleet fence-due
  assert_equal "$(asked)" 1
  assert_contains "$(on a ipuctl fleet status)" "suspect host $dead is not fenced"
  # A host that is on is watched anew: it may be off for a moment.
  in_host sh -c "echo 1 >$WITNESS/says"
  pass 60
  on a ipuctl fleet beat
  run -0 on a ipuctl fleet fence-due
  assert_equal "$output" ''
  in_host grep -q "^$dead " "$WITNESS/asked"
  in_host sh -c "echo 0 >$WITNESS/says"
  pass 560
  on a ipuctl fleet fence-due
  assert_equal "$(asked)" 2
  pass 40
  on a ipuctl fleet beat
  run -0 on a ipuctl fleet fence-due
  assert_contains "$output" "host $dead ("
  assert_contains "$output" 'was not heard of for 10 minutes'
  assert_contains "$output" "removed partition c-$dead-"
  assert_equal "$(on a ipuctl fleet status -o json | jq -r ".hosts[] | select(.host == \"$dead\").state")" FENCED
  assert_contains "$(on a ipuctl events)" 'says that it is off'
  assert_equal "$(etcd_control get --prefix --keys-only /ipu-container-toolkit/partitions/ | grep -c /claims/)" 0
  run -1 on b ipuctl fleet beat
  assert_contains "$output" 'now ending: one, two'
}

@test "none is fenced by a witness that others can change, or while this host is not alive in the fleet itself" {
  local dead
  on b ipuctl fleet beat
  dead=$(tag_of b)
  etcd_control del "/ipu-container-toolkit/alive/$dead" >/dev/null
  fence_itself
  in_host sh -c "echo 0 >$WITNESS/says"
  on a ipuctl fleet fence-due
  pass 700
  assert_contains "$(on a ipuctl fleet fence-due --dry-run)" 'not alive in the fleet itself'
  on a ipuctl fleet fence-due
  assert_equal "$(asked)" 0
  on a ipuctl fleet beat
  in_host chmod 775 "$WITNESS/ask"
  run -1 on a ipuctl fleet fence-due
  assert_contains "$output" 'can be changed by others than root'
  assert_equal "$(asked)" 0
  assert_equal "$(on a ipuctl fleet status -o json | jq -r ".hosts[] | select(.host == \"$dead\").state")" SUSPECT
}

learns_its_fence() { in_host grep -q 'now ending: one' /run/service/beat.log; }
# Its beat is over, and it waits: the client of that wait is there for a second.
waits_for_fence() { in_host ps -C ipu-fleet-clien -o etimes= | grep -q '[1-9]'; }
signals_of() { on b ipuctl explain one | grep -o 'SIGTERM\|SIGKILL' | paste -sd' '; } # CONTAINER
is_killed() { [ "$(signals_of)" = 'SIGTERM SIGKILL' ]; }

@test "a host that beats and waits learns its fence at once, and gives its containers eight seconds" {
  local fenced
  make_bundle_of b IPU_COUNT=2
  start_on b one
  # The first process of a container gets no SIGTERM unless it handles it.
  on b ipu-container-runtime --root /run/oci-b start one
  fenced=$(tag_of b)
  run -2 on b ipuctl fleet beat --wait 1m
  assert_contains "$output" 'longer than 10s'
  host_spawn beat "${AS_HOST_B[@]}" ipuctl fleet beat --wait 10s
  wait_until 10 waits_for_fence || fail "$(in_host cat /run/service/beat.log)"
  on a ipuctl host fence "$fenced" --alive
  wait_until 15 is_killed || fail "$(on b ipuctl explain one)" "$(in_host cat /run/service/beat.log)"
  wait_until 10 learns_its_fence || fail "$(in_host cat /run/service/beat.log)"
}

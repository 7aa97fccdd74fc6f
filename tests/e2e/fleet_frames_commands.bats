#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The messages between a host and its fleet's etcd, cut one after the other while an operator makes, removes or resets a
# partition, reserves IPUs, sets a tenant's share or copies the fleet, and while a container takes a warm partition. After
# each cut and one gc, the controller, etcd and the ledger have the same.
# STRIDE=1 cuts at each frame of HTTP/2, and not only at some.

# shellcheck disable=SC2030,SC2031,SC2034 # count and met are each test's own

load support
load bundle
# shellcheck source=tests/e2e/frames.bash
source "$BATS_TEST_DIRNAME/frames.bash"
COPY=/run/fleet.json

setup() { cutter_up; }

teardown() {
  cut 0 close
  remove_bundle
  in_host sed -i '/^warm = /d' "$CONFIG"
  ipuctl pool refill
  ipuctl gc >/dev/null
  remove_named
  cutter_down
  in_host rm -f "$COPY"
  assert_nothing_left
}

# ---- what there is

at_controller() { in_host cat /var/lib/vipu-simulator.json | jq -r '[.partitions[].id] | sort | join(" ")'; }
in_etcd() { etcd_keys partitions | sed -n 's|.*/\([^/]*\)/record$|\1|p' | sort | paste -sd ' '; }
# With its state, unless that is READY.
in_ledger() {
  in_host python3 -c '
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT name, state FROM partition ORDER BY name")
print(" ".join(name if state == "READY" else name + " " + state for name, state in rows))' \
    /var/lib/ipu-container-toolkit/ledger.db
}

agree_on() { # WHERE PARTITIONS
  assert_equal "$1: $(at_controller) | $(in_etcd) | $(in_ledger)" "$1: $2 | $2 | $2"
  assert_equal "$1: $(claims) $(count_keys grants) $(count_keys queue)" "$1: 0 0 0"
  assert_equal "$1: $(ipuctl ps -o json)" "$1: []"
}

# Runs ipuctl with the ARGUMENTS, which does what it is to do, or says in one line why not. Sets "met", and "result" to the
# exit status.
tries() { # WHERE ARGUMENT...
  local said where=$1
  shift
  result=0
  said=$(ipuctl "$@" 2>&1 >/dev/null) || result=$?
  met=$(frames)
  cut 0 close
  case "$result $(grep -c . <<<"$said")" in '0 0' | [123]' 1') ;; *) fail "$where: $result: $said" ;; esac
  [ "$result" -eq 0 ] || [[ $said == 'ipuctl: '* ]] || fail "$where: $said"
}

# One gc, which finds nothing in its way but partitions of which a person has to decide.
gives_back() { # WHERE
  local said status=0
  said=$(ipuctl gc 2>&1 >/dev/null) || status=$?
  [ "$status" -eq 0 ] || [[ $said == *"'ipuctl partition remove "* ]] || fail "$1: gc: $status: $said"
}

# ---- partitions

# A person does what the line says.
removes_unsure() { # WHERE
  [ -z "$(in_ledger)" ] || ipuctl partition remove p1 >/dev/null || fail "$1: cannot remove what was begun"
}

makes() { # WAY FRAME
  local result
  tries "$1 $2" partition create p1 --size 4
  gives_back "$1 $2"
  if [ "$result" -eq 0 ]; then
    agree_on "$1 $2" p1
    ipuctl partition remove p1 >/dev/null
  else
    removes_unsure "$1 $2"
  fi
  agree_on "$1 $2" ''
}

@test "a partition whose creation is cut from etcd is there, or is not; controller, etcd and ledger agree" {
  local count=0 met
  cut_each "${STRIDE:-61}" makes close truncate
  cut_each "${STRIDE:-97}" makes stall
  echo "$count cuts, in a creation of $met frames"
  [ "$count" -ge 6 ]
}

removes() { # WAY FRAME
  local result
  cut 0 close
  ipuctl partition create p1 --size 4 >/dev/null
  cut "$2" "$1"
  tries "$1 $2" partition remove p1
  gives_back "$1 $2"
  [ "$result" -ne 0 ] || agree_on "$1 $2" ''
  removes_unsure "$1 $2"
  agree_on "$1 $2" ''
}

@test "a removal that is cut from etcd is done, or can be done again" {
  local count=0 met
  cut_each "${STRIDE:-61}" removes close truncate
  cut_each "${STRIDE:-97}" removes stall
  echo "$count cuts, in a removal of $met frames"
  [ "$count" -ge 6 ]
}

resets() { # WAY FRAME
  local result
  tries "$1 $2" partition reset p1
  gives_back "$1 $2"
  agree_on "$1 $2" p1
  ipuctl partition reset p1 >/dev/null
}

@test "a reset that is cut from etcd leaves a partition that can be reset" {
  local count=0 met
  ipuctl partition create p1 --size 4 >/dev/null
  cut_each "${STRIDE:-61}" resets close truncate
  cut_each "${STRIDE:-97}" resets stall
  echo "$count cuts, in a reset of $met frames"
  [ "$count" -ge 6 ]
}

# ---- IPUs

reserves() { # WAY FRAME
  local result
  tries "$1 $2" reserve night --ipus 4
  gives_back "$1 $2"
  if [ "$result" -eq 0 ]; then
    assert_equal "$1 $2: $(count_keys grants) $(at_controller)" "$1 $2: 1 $(in_ledger)"
    ipuctl reservation end night >/dev/null
  fi
  agree_on "$1 $2" ''
}

@test "a reservation that is cut from etcd is there, or nothing of it is" {
  local count=0 met
  cut_each "${STRIDE:-61}" reserves close truncate
  cut_each "${STRIDE:-97}" reserves stall
  echo "$count cuts, in a reservation of $met frames"
  [ "$count" -ge 6 ]
}

warm_ones() { etcd_control get --prefix --print-value-only /ipu-container-toolkit/warm/ | grep -o '"phase":"[a-z]*"' | paste -sd ' '; }

takes() { # WAY FRAME
  local said status=0
  cut 0 close
  ipuctl pool refill
  in_host cp /run/job.json "$BUNDLE/config.json"
  cut "$2" "$1"
  said=$(create job 2>&1) || status=$?
  met=$(frames)
  cut 0 close
  case "$status $(grep -c . <<<"$said")" in '0 0' | '1 1') ;; *) fail "$1 $2: $status: $said" ;; esac
  runtime delete --force job
  wait_until 60 no_hook_works
  gives_back "$1 $2"
  assert_equal "$1 $2: $(claims) $(count_keys grants) $(ipuctl ps -o json)" "$1 $2: 0 0 []"
  ipuctl pool refill
  assert_equal "$1 $2: $(warm_ones) $(at_controller | wc -w)" "$1 $2: \"phase\":\"idle\" 1"
}

@test "a start that takes a warm partition and is cut from etcd gives it back, and as many are kept as before" {
  local count=0 met
  in_host sed -i 's|^controller = .*|&\nwarm = { "4" = 1 }|' "$CONFIG"
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  in_host cp "$BUNDLE/config.json" /run/job.json
  cut_each "${STRIDE:-11}" takes close truncate
  cut_each "${STRIDE:-19}" takes stall
  in_host rm /run/job.json
  echo "$count cuts, in a start of $met frames"
  [ "$count" -ge 6 ]
}

# ---- what the fleet knows

limit_of() { etcd_control get --print-value-only /ipu-container-toolkit/tenants/vision | jq -r .limit; }

sets() { # WAY FRAME
  local result
  cut 0 close
  ipuctl tenant set vision --limit 8 >/dev/null
  cut "$2" "$1"
  tries "$1 $2" tenant set vision --limit 4
  case "$(limit_of)" in 4) ;; 8) [ "$result" -ne 0 ] ;; *) false ;; esac || fail "$1 $2: $result $(limit_of)"
  ipuctl tenant set vision --limit 4 >/dev/null
  assert_equal "$1 $2: $(limit_of)" "$1 $2: 4"
}

@test "a share whose change is cut from etcd is what it was, or what it is to be" {
  local count=0 met
  cut_each "${STRIDE:-61}" sets close truncate
  cut_each "${STRIDE:-97}" sets stall
  ipuctl tenant remove vision >/dev/null
  echo "$count cuts, in a change of $met frames"
  [ "$count" -ge 6 ]
}

# An export or import waits two minutes for an etcd that has stalled, so these are not cut so.
copied() { in_host jq -r '[.keys[].key | select(startswith("partitions/"))] | join(" ")' "$COPY"; }

exports() { # WAY FRAME
  local result
  in_host rm -f "$COPY"
  cut "$2" "$1"
  tries "$1 $2" fleet export "$COPY"
  if [ "$result" -eq 0 ]; then
    assert_equal "$1 $2: $(copied)" "$1 $2: partitions/pod64/p1/record"
  else
    run ! in_host test -e "$COPY"
  fi
}

@test "an export that is cut from etcd writes a whole copy or none" {
  local count=0 met
  ipuctl partition create p1 --size 4 >/dev/null
  cut_each "${STRIDE:-5}" exports close truncate
  echo "$count cuts, in an export of $met frames"
  [ "$count" -ge 6 ]
}

imports() { # WAY FRAME
  local result
  etcd_control del --prefix /ipu-container-toolkit/ >/dev/null
  cut "$2" "$1"
  tries "$1 $2" fleet import "$COPY"
  [ "$result" -eq 0 ] || ipuctl fleet import "$COPY" --replace >/dev/null || fail "$1 $2: another import fails"
  ipuctl gc >/dev/null || fail "$1 $2: gc"
  assert_equal "$1 $2: $(count_keys restored)" "$1 $2: 0"
  agree_on "$1 $2" p1
}

@test "an import that is cut from etcd can be done again, and the host tells what it has" {
  local count=0 met
  ipuctl fleet beat
  ipuctl partition create p1 --size 4 >/dev/null
  ipuctl fleet export "$COPY" >/dev/null
  cut_each "${STRIDE:-31}" imports close truncate
  echo "$count cuts, in an import of $met frames"
  [ "$count" -ge 6 ]
}

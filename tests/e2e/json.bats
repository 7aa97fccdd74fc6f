#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What commands other than lists print for programs is what ipuctl(8) says of them. lists.bats has the lists.

load support
load bundle
load page_members
# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"

MONITOR=/usr/local/bin/ipu-busy

teardown() {
  ipuctl queue cancel --all >/dev/null
  host_stop later || true
  remove_containers
  remove_bundle
  remove_partitions
  etcd_stop
  unconfigure_fleet
  host_config
  ipuctl cdi remove >/dev/null
  ipuctl fleet leave >/dev/null # etcd may have been away when they ended
  in_host rm -rf "$MONITOR" /etc/cdi /run/no-ledger
  assert_nothing_left
}

documented() { page_members 'OTHER JSON FOR PROGRAMS'; }

# Makes something for each command, and gives each array something to hold, where that is easy.
fill() {
  in_host tee -a "$CONFIG" >/dev/null <<END
[policy]
tenant_variable = true
[[tenant]]
name = "vision"
guaranteed = 4
[monitor]
command = ["$MONITOR"]
END
  in_host install -m 0755 /dev/stdin "$MONITOR" <<<$'#!/bin/sh\necho \'{"ipus": []}\''
  start job -e IPU_COUNT=4 -e IPU_TENANT=vision
  docker restart --time 0 job >/dev/null
  run ! docker run --rm --runtime=ipu -e IPU_TENANT=vision -e IPU_COUNT=3 busybox true
  ipuctl partition create p0 --size 4 --shared >/dev/null
  start user -e IPU_TENANT=vision -e IPU_PARTITION=p0
  ipuctl partition create p1 --size 4 >/dev/null
  in_host mkdir -p /etc/cdi
  ipuctl cdi generate --output /etc/cdi >/dev/null
  in_host tee /run/no-ledger <<<'no ledger' >/dev/null
  make_bundle '.process.env += ["IPU_COUNT=2", "IPU_TENANT=vision"]'
  host_spawn later docker run --rm --runtime=ipu --name later -e IPU_TENANT=vision -e IPU_COUNT=64 -e IPU_WAIT=10m busybox true
  wait_until 10 has_waiters 1
}

# What stands behind the words of a command: of p0, of the container job, and so on.
arguments_of() { # COMMAND
  case $1 in
    'partition show' | 'partition wait') echo p0 ;;
    'partition create --dry-run') echo p2 --size 64 ;;
    'partition reset --dry-run' | 'partition remove'*) echo p1 ;;
    'device show') echo pod64/0/0 ;;
    plan) echo --tensor 1 --pipeline 4 --replicas 3 --parameters 336M --batch 48 --micro 1 --pool pod64 ;;
    monitor) echo --dry-run ;;
    'lease show' | explain | trace) echo job ;;
    'explain --bundle') echo "$BUNDLE" ;;
    'queue cancel') echo --all ;;
    reserve) echo night --ipus 4 --tenant vision ;;
    'reservation extend') echo night --for 1h ;;
    'reservation end') echo night ;;
    'tenant show') echo vision ;;
    'ledger check') echo --offline --file /run/no-ledger ;;
    'ledger rebuild') echo --dry-run --force ;;
  esac
}

@test "each command has the members that the page lists" {
  local command members json count=0
  fill
  while IFS=$'\t' read -r command members; do
    [[ $command != 'fleet '* ]] || continue
    # Some find what is wrong here, and print that too.
    # shellcheck disable=SC2046,SC2086
    json=$(ipuctl $command $(arguments_of "$command") -o json </dev/null 2>"$BATS_TEST_TMPDIR/errors") ||
      [ -n "$json" ] || fail "$command: $(cat "$BATS_TEST_TMPDIR/errors")"
    assert_has_members "$command" "$members" "$json"
    count=$((count + 1))
  done < <(documented)
  [ "$count" -gt 25 ]
  # What no power of two holds has "nearest", and only what one holds has "starts".
  json=$(ipuctl plan --tensor 1 --pipeline 4 --replicas 4 -o json)
  jq -e '.starts | length > 0' <<<"$json"
  assert_has_members plan "$(documented | sed -n 's/^plan\t//p')" "$json"
}

@test "so have those of a fleet" {
  local command members count=0
  etcd_start
  configure_fleet
  # A machine that stands still for its eight seconds fails it; ipu-agent repeats it.
  wait_until 30 ipuctl fleet beat
  while IFS=$'\t' read -r command members; do
    [[ $command == 'fleet '* ]] || continue
    # shellcheck disable=SC2086
    assert_has_members "$command" "$members" "$(ipuctl $command -o json </dev/null)"
    count=$((count + 1))
  done < <(documented)
  assert_equal "$count" 2
}

# The names of the commands below this one.
subcommands() { # [WORD...]
  ipuctl "$@" --help </dev/null | awk '/^Subcommands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'
}

@test "each command that prints JSON is on the page" {
  local group command listed
  listed=$({ documented && page_members 'LISTS FOR PROGRAMS'; } | cut -f 1)
  # The page says of these in words what they print.
  listed+=$'\npartition create\npartition adopt\npartition reset\npartition config\nlease refresh\nledger dump'
  while IFS= read -r command; do
    # shellcheck disable=SC2086
    ! ipuctl $command --help </dev/null | grep -q -- '--output table.*json' || grep -qx -- "$command" <<<"$listed" ||
      fail "the page does not say what 'ipuctl $command -o json' prints"
  done < <(for group in $(subcommands); do
    echo "$group"
    for command in $(subcommands "$group"); do echo "$group $command"; done
  done)
}

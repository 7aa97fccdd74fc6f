#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The health of IPUs and partitions: who taints an IPU of a local pool, who clears that, and who hears of it.

load support
load sliced
load page_members

COMMAND=/usr/local/bin/ipu-health

setup() {
  host_config
  configure_slices "$SLICED"
  IPU=$(in_host cat "$SLICED" | jq -r '.devices | sort_by(.ip, .device_id) | .[1] | "\(.ip):\(.device_id)"')
}

teardown() {
  remove_containers
  wait_until 10 has_leases 0
  ipuctl health clear "$IPU" --pool slices >/dev/null || true
  in_host rm -f "$COMMAND"
  [ ${#SIM_OPTIONS[@]} -eq 0 ] || {
    SIM_OPTIONS=()
    restart_sim
  }
}

start_slice() { # NAME IPUS
  start "$1" -e IPU_POOL=slices -e "IPU_COUNT=$2"
}

# Makes a health command that runs this script.
health_command() { # SCRIPT
  in_host tee "$COMMAND" >/dev/null <<<"#!/bin/sh
$1"
  in_host chmod 755 "$COMMAND"
  in_host sh -c "grep -q health_command /etc/ipu-container-toolkit/config.toml ||
    echo 'health_command = \"$COMMAND\"' >>/etc/ipu-container-toolkit/config.toml"
}

# Fails unless JSON of `health check` has what the page lists, and something in its array MEMBER.
assert_checked() { # JSON MEMBER
  jq -e --arg member "$2" '.[$member] | length > 0' <<<"$1"
  assert_has_members 'health check' "$(page_members 'OTHER JSON FOR PROGRAMS' | sed -n 's/^health check\t//p')" "$1"
}

tainted() { ipuctl pool list --pool slices -o json | jq '.[0].usage.tainted'; }
taints() { ipuctl health list -o json | jq -c '[.[] | select(.taint != "NONE") | [.pool, .ipu, .taint, .reason]]'; }

@test "an operator taints an IPU: its container is told and goes on, the next one avoids it, and a person clears it" {
  start_slice old 4
  run -0 ipuctl health taint "$IPU" --pool slices --reason 'parity errors'
  assert_contains "$(ipuctl explain old)" "its IPU $IPU is tainted: parity errors; the container goes on"
  assert_contains "$(ipuctl events)" "IPU $IPU is tainted by an operator: parity errors"
  [ "$(docker inspect -f '{{.State.Running}}' old)" = true ]
  assert_equal "$(tainted)" 1
  docker rm --force old
  wait_until 10 has_leases 0
  assert_refused -e IPU_POOL=slices -e IPU_COUNT=16 -- 'no free block of 16 IPUs (largest free: 8'
  start_slice new 4
  assert_equal "$(inside new cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.devices[] | "\(.ip):\(.device_id)"' | grep -cxF "$IPU" || true)" 0
  run -0 ipuctl health clear "$IPU" --pool slices
  assert_equal "$(tainted)" 0
  run -0 ipuctl pool taint "$IPU" --pool slices --reason 'parity errors'
  assert_equal "$(taints)" "[[\"slices\",\"$IPU\",\"OPERATOR\",\"parity errors\"]]"
  run -0 ipuctl pool untaint "$IPU" --pool slices
  assert_equal "$(taints)" '[]'
  run -1 ipuctl health clear "$IPU" --pool slices
  run -2 ipuctl health taint 10.99.0.1:0 --pool slices
  assert_contains "$output" "has no IPU '10.99.0.1:0'"
}

@test "a health command taints what it sees bad three times, as a user without rights" {
  # shellcheck disable=SC2016
  health_command 'echo "{\"ipus\":[{\"ipu\":\"'"$IPU"'\",\"good\":false,\"reason\":\"seen by $(id -u), $IPU_POOL\"}]}"'
  start_slice job 4
  ipuctl health check
  ipuctl health check
  assert_equal "$(taints)" '[]'
  run -0 ipuctl health check
  assert_equal "$output" "pool slices: IPU $IPU is tainted: seen by 65534, slices"
  assert_equal "$(taints)" "[[\"slices\",\"$IPU\",\"CHECK\",\"seen by 65534, slices\"]]"
  assert_contains "$(ipuctl explain job)" "its IPU $IPU is tainted"
  assert_equal "$(tainted)" 1
  ipuctl health clear "$IPU" --pool slices
  ipuctl health check
  ipuctl health check
  assert_checked "$(ipuctl health check -o json)" ipus
}

@test "what gc-monitor lists is good, and what it does not list is bad" {
  in_host cat "$SLICED" | jq --arg bad "$IPU" '{cards: [.devices | group_by(.ip)[] |
    {"IPU-M": .[0].ip, Type: "M2000", ipus: [.[] | select("\(.ip):\(.device_id)" != $bad) | {ID: "0", "PCIe ID": "\(.device_id)"}]}]}' |
    in_host tee /run/gc-monitor.json >/dev/null
  health_command 'cat /run/gc-monitor.json'
  ipuctl health check
  ipuctl health check
  ipuctl health check
  assert_equal "$(taints)" "[[\"slices\",\"$IPU\",\"CHECK\",\"gc-monitor does not list it\"]]"
}

@test "a health command that fails, or prints anything else, records nothing" {
  health_command 'exit 7'
  run -1 ipuctl health check
  assert_contains "$output" "health_command '$COMMAND': it failed with exit status 7"
  health_command 'echo "no IPU is attached"'
  run -2 ipuctl health check
  assert_equal "$(ipuctl health list -o json)" '[]'
}

@test "a partition in state ERROR is told once to its container, which goes on, and that it is ACTIVE again" {
  local partition
  SIM_OPTIONS=(--control /run/simulator.sock --auto-reset-delay 20s)
  restart_sim
  start job -e IPU_COUNT=4
  assert_equal "$(ipuctl health check)" 'nothing changed'
  partition=$(lease_of job .partition)
  in_host vipu-simulator control /run/simulator.sock set-error "{\"partition\":\"$partition\",\"errors\":[\"link 3 is down\"]}"
  run -0 ipuctl health check
  assert_equal "$output" "container $(container_id job): its partition is in state ERROR: link 3 is down; the container goes on, but may fail"
  assert_equal "$(ipuctl health check)" 'nothing changed'
  assert_contains "$(ipuctl explain job)" 'its partition is in state ERROR: link 3 is down'
  [ "$(docker inspect -f '{{.State.Running}}' job)" = true ]
  wait_until 30 is_active_again
  assert_checked "$CHECKED" partitions
  assert_contains "$(ipuctl events)" 'its partition is ACTIVE again'
}

is_active_again() {
  CHECKED=$(ipuctl health check -o json)
  [[ $CHECKED == *'its partition is ACTIVE again'* ]]
}

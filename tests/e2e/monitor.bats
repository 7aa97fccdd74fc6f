#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How busy IPUs are: what a program of the site says of the IPUs that containers have, and what the report makes of it.

load support

MONITOR=/usr/local/bin/ipu-busy

setup() {
  host_config
}

teardown() {
  remove_containers
  wait_until 10 has_leases 0
  in_host rm -f "$MONITOR" /run/ipu-busy.json
  host_config
}

# Makes a monitor that runs this script.
monitor() { # SCRIPT
  in_host tee "$MONITOR" >/dev/null <<<"#!/bin/sh
$1"
  in_host chmod 755 "$MONITOR"
  in_host sh -c "grep -q '\[monitor\]' /etc/ipu-container-toolkit/config.toml ||
    printf '\n[monitor]\ncommand = [\"%s\", \"an argument\"]\ntimeout = \"1s\"\n' '$MONITOR' >>/etc/ipu-container-toolkit/config.toml"
}

# Says of the IPUs of the container NAME: each second one is busy, all the time.
says_half_of() { # NAME
  inside "$1" cat /etc/ipuof.conf.d/ipuof.conf |
    jq -c '{ipus: [.devices | sort_by(.ip, .device_id) | to_entries[] |
      {ipu: "\(.value.ip):\(.value.device_id)", busy: (.key % 2)}]}' | in_host tee /run/ipu-busy.json >/dev/null
  in_host chmod 644 /run/ipu-busy.json
}

# What the report has of a tenant.
report_of() { # TENANT FILTER
  ipuctl report --since 0s -o json | jq -c ".rows[] | select(.tenant == \"$1\") | $2"
}

measured() { report_of "$1" .measured_ipu_seconds; }
is_measured() { ipuctl monitor >/dev/null && [ "$(measured "$1")" -ge 4 ]; }

start_of() { # TENANT NAME IPUS
  in_host sh -c 'grep -q "\[policy\]" /etc/ipu-container-toolkit/config.toml ||
    printf "\n[policy]\ntenant_variable = true\n" >>/etc/ipu-container-toolkit/config.toml'
  start "$2" -e "IPU_COUNT=$3" -e "IPU_TENANT=$1"
}

@test "of four IPUs half are busy, and the report says so of their tenant alone" {
  # shellcheck disable=SC2016
  monitor 'test "$1" = "an argument" && test "$(id -u)" = 65534 && cat /run/ipu-busy.json'
  start_of busy-a job 4
  start_of busy-b other 4
  says_half_of job
  run -0 ipuctl monitor --dry-run
  assert_equal "$output" 'the monitor says how busy 4 of the 8 IPUs of containers are: 50.0%'
  assert_equal "$(measured busy-a)" 0
  wait_until 30 is_measured busy-a
  assert_equal "$(report_of busy-a '.busy_ipu_seconds * 2 - .measured_ipu_seconds | . <= 0 and . >= -2')" true
  assert_equal "$(report_of busy-a '.measured_ipu_seconds <= .held_ipu_seconds')" true
  assert_equal "$(report_of busy-b '[.busy_ipu_seconds, .measured_ipu_seconds]')" '[null,0]'
  assert_contains "$(ipuctl report --since 0s | tr -s ' ' | grep '^busy-a ')" ' 50.0% '
  assert_contains "$(ipuctl report --since 0s | tr -s ' ' | grep '^busy-b ')" ' unknown - '
  assert_contains "$(ipuctl report --since 0s -o csv | grep '^"busy-b",' | tr -d '\n')" ',,'
  assert_equal "$(ipuctl doctor -o json | jq -r '.[] | select(.check == "monitor") | .result')" ok
  [[ $(ipuctl metrics) =~ ipu_busy_ipu_seconds_total\{pool=\"pod64\",tenant=\"busy-a\"\}\ [1-9] ]]
}

@test "a monitor that hangs ends in time, is told once, and what runs goes on" {
  local from finding
  monitor 'sleep 100 & sleep 100'
  start_of hangs job 4
  from=$SECONDS
  run -3 ipuctl monitor
  [ $((SECONDS - from)) -lt 60 ]
  assert_contains "$output" "monitor '$MONITOR': no answer within 1000 ms"
  run -3 ipuctl monitor
  assert_equal "$(ipuctl events | grep -c 'how busy IPUs are is unknown from now on')" 1
  assert_equal "$(measured hangs)" 0
  assert_equal "$(report_of hangs .busy_ipu_seconds)" null
  finding=$(ipuctl doctor -o json | jq -r '.[] | select(.check == "monitor") | "\(.result) \(.finding)"')
  assert_contains "$finding" 'how busy IPUs are is unknown: monitor'
  [ "$(docker inspect -f '{{.State.Running}}' job)" = true ]
  ipuctl gc
  # It works again: the time until then stays unmeasured.
  monitor 'cat /run/ipu-busy.json'
  says_half_of job
  wait_until 30 is_measured hangs
  assert_equal "$(report_of hangs '.measured_ipu_seconds < .held_ipu_seconds')" true
}

@test "a monitor that fails, prints anything else or names what nobody has counts nothing" {
  local answer
  start_of odd job 4
  monitor 'exit 7'
  run -1 ipuctl monitor
  assert_contains "$output" 'it failed with exit status 7; it runs as nobody'
  for answer in '{}' 'no IPU' '{"ipus":[{"ipu":"a:0","busy":2}]}' '{"cards":[]}'; do
    monitor "echo '$answer'"
    run -2 ipuctl monitor
  done
  monitor "echo '{\"ipus\":[{\"ipu\":\"10.99.0.1:0\",\"busy\":1}]}'"
  ipuctl monitor
  run -0 ipuctl monitor
  assert_equal "$output" 'the monitor says how busy 0 of the 4 IPUs of containers are'
  assert_equal "$(measured odd)" 0
  assert_contains "$(ipuctl doctor -o json | jq -r '.[] | select(.check == "monitor") | .advice')" 'ip:device_id'
  in_host rm "$MONITOR"
  run -1 ipuctl monitor
  assert_contains "$output" "$MONITOR"
}

@test "without a monitor, nothing is asked and the report says unknown" {
  start job -e IPU_COUNT=4
  run -2 ipuctl monitor
  assert_contains "$output" "set 'command' in [monitor]"
  assert_contains "$(ipuctl report --since 0s)" unknown
  [[ $(ipuctl metrics) != *ipu_busy_ipu_seconds_total* ]]
  assert_equal "$(ipuctl doctor -o json | jq '[.[] | select(.check == "monitor")] | length')" 0
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an operator does with partitions, against the simulator and containers that use them.

load support

teardown() {
  remove_containers
  remove_partitions
  assert_nothing_left
}

create() { # NAME OPTION...
  assert_equal "$(ipuctl partition create "$@")" "create partition ($1): success."
}

# The value of one partition that the jq FILTER selects.
shown() { # NAME FILTER
  ipuctl partition show "$1" --output json | jq -r "$2"
}

@test "list prints the columns of vipu list partitions" {
  create p64_reconfi --size 4 --reconfigurable
  create p1 --size 16 --gcds 4
  assert_equal "$(ipuctl partition list)" "\
 Partition   | Cluster | ILDs | GW Routing | ILD Routing | Size | GCDs | State
--------------------------------------------------------------------------------
 p1          | c-pod64 | 1    | DEFAULT    | DNC         | 16   | 4    | ACTIVE
 p64_reconfi | c-pod64 | 1    | DEFAULT    | DNC         | 4    | 1    | ACTIVE"
}

@test "list --holders adds what each is for and who has it" {
  create p0 --size 4 --shared
  start job -e IPU_PARTITION=p0
  start own -e IPU_COUNT=4
  run ipuctl partition list --holders
  assert_contains "${lines[0]}" '| State  | Kind  | Shared | Containers'
  [[ $output == *"| ACTIVE | NAMED | yes    | $(container_id job)"* ]]
  [[ $output == *"| ACTIVE | LEASE | no     | $(container_id own)"* ]]
}

@test "what is asked for is what the controller makes, and show tells it" {
  create p0 --size 8 --num-gcds 2 --gcd-sync-replicas 4 --sync-type c2-compatible --reconfigurable
  assert_equal "$(shown p0 '"\(.size) \(.gcds) \(.replicas) \(.sync_type) \(.reconfigurable)"')" \
    '8 2 4 ST_GS2_DEFAULT true'
  assert_equal "$(shown p0 '"\(.state) \(.status.operation) \(.kind) \(.shared)"')" 'ACTIVE IDLE NAMED false'
  assert_equal "$(shown p0 '.ipus | length')" 8
  run ipuctl partition show p0
  assert_equal "$status" 0
  assert_contains "$output" 'reconfigurable   yes'
}

@test "create takes the IPUs that are named, in their order" {
  create p0 --ipus 0/8,0/9,0/10,0/11 --cluster c-pod64
  assert_equal "$(shown p0 '[.ipus[].ipu] | join(" ")')" '8 9 10 11'
}

@test "config --gcd prints exactly the file that a container of the partition gets" {
  create p0 --size 4
  start job -e IPU_PARTITION=p0
  ipuctl partition config p0 --gcd 0 >"$BATS_TEST_TMPDIR/config"
  inside job cat /etc/ipuof.conf.d/ipuof.conf >"$BATS_TEST_TMPDIR/ipuof.conf"
  cmp "$BATS_TEST_TMPDIR/config" "$BATS_TEST_TMPDIR/ipuof.conf"
}

@test "config without --gcd has one header line before the file" {
  create p0 --size 4
  assert_equal "$(ipuctl partition config p0 | tail -n +2)" "$(ipuctl partition config p0 --gcd 0)"
  assert_equal "$(ipuctl partition config p0 -o json | jq '.[0]')" "$(ipuctl partition config p0 --gcd 0 | jq)"
}

@test "config of several GCDs: one each with --gcd, all as an array without" {
  local gcd
  create p0 --size 4 --gcds 2
  for gcd in 0 1; do
    start "gcd-$gcd" -e IPU_PARTITION=p0 -e "IPU_GCD=$gcd"
    assert_equal "$(ipuctl partition config p0 --gcd "$gcd")" "$(inside "gcd-$gcd" cat /etc/ipuof.conf.d/ipuof.conf)"
    assert_equal "$(ipuctl partition config p0 | tail -n +2 | jq ".[$gcd]")" \
      "$(ipuctl partition config p0 --gcd "$gcd" | jq)"
  done
  assert_equal "$(ipuctl partition config p0 -o json | jq length)" 2
  assert_equal "$(ipuctl ps -o json | jq -c '[.[] | [.gcd, .origin]] | sort')" '[[0,"NAMED"],[1,"NAMED"]]'
  run -1 ipuctl partition config p0 --gcd 2
}

@test "remove of a partition in use is refused and names the containers; of a free one it works" {
  create p0 --size 4
  start job -e IPU_PARTITION=p0
  run -3 ipuctl partition remove p0
  assert_contains "$output" "in use by $(container_id job)"
  run -3 ipuctl partition reset p0
  assert_contains "$output" "in use by $(container_id job)"
  remove_containers
  wait_until 10 has_leases 0
  assert_equal "$(ipuctl partition reset p0)" 'reset partition (p0): success.'
  assert_equal "$(ipuctl partition remove p0)" 'remove partition (p0): success.'
  run -1 ipuctl partition show p0
}

@test "remove and reset with --dry-run say what they would do, and do nothing" {
  create p0 --size 4
  assert_equal "$(ipuctl partition remove p0 --dry-run)" 'would remove partition p0'
  assert_equal "$(ipuctl partition reset p0 --dry-run -o json | jq -r .would_reset)" p0
  start job -e IPU_PARTITION=p0
  run -3 ipuctl partition remove p0 --dry-run
  assert_contains "$output" 'is in use by'
  run -0 ipuctl partition remove p0 --dry-run --force
  assert_contains "$output" 'would lose its IPUs'
  assert_equal "$(ipuctl partition list -o json | jq length)" 1
}

@test "remove --force takes it from the containers, which it names and leaves running" {
  create p0 --size 4
  start job -e IPU_PARTITION=p0
  run ipuctl partition remove p0 --force
  assert_equal "$status" 0
  assert_equal "${lines[0]}" 'remove partition (p0): success.'
  assert_contains "${lines[1]}" "taken from container $(docker inspect -f '{{.Id}}' job)"
  inside job true
}

@test "remove of one that the controller lost forgets it; of one that never was fails without --force" {
  create p0 --size 4
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
  run ipuctl partition remove p0
  assert_equal "$output" $'remove partition (p0): success.\nthe controller no longer had it'
  run -1 ipuctl partition remove p0
  assert_contains "$output" "no partition 'p0'"
  run -0 ipuctl partition remove p0 --force
}

@test "a partition that was made for a container is not for partition remove" {
  start job -e IPU_COUNT=4
  run -3 ipuctl partition remove "$(lease_of job .partition)" --force
  assert_contains "$output" "was created for container $(container_id job) and is in use"
}

@test "names that are none, or are ours, are refused" {
  local name
  for name in '' 'a b' 'a/b' 'é' c-0123456789ab w-0123456789ab "$(printf 'x%.0s' {1..37})"; do
    run -2 ipuctl partition create "$name" --size 1
    assert_contains "$output" 'is not a valid name for a partition'
  done
  create "$(printf 'x%.0s' {1..36})" --size 1
}

@test "a name that is taken is refused, and the partition stays" {
  create p0 --size 4
  run -1 ipuctl partition create p0 --size 8
  assert_contains "$output" "partition 'p0' already exists"
  assert_equal "$(shown p0 .size)" 4
}

@test "dry-run says what would be asked and that there is room, and changes nothing" {
  run -0 ipuctl partition create p0 --size 8 --gcds 2 --dry-run
  assert_equal "${lines[0]}" 'would create partition (p0):'
  assert_contains "$output" 'gcds    2'
  assert_contains "$output" 'room    true'
  assert_equal "$(ipuctl partition list -o json)" '[]'
}

@test "dry-run says what stands in the way: no room, held IPUs, a taken name, what can never be" {
  create p0 --size 32
  run -3 ipuctl partition create p1 --size 64 --dry-run
  assert_contains "$output" "no free block of 64 IPUs (largest free: 32"
  assert_contains "$output" 'p0'
  run -3 --separate-stderr ipuctl partition create p1 --size 64 --dry-run -o json
  jq -e '.room == false and (.shortage | contains("64 IPUs"))' <<<"$output"
  run -3 ipuctl partition create p1 --ipus 0/0,0/1 --cluster c-pod64 --dry-run
  assert_contains "$output" "IPU 0/0 is held by partition 'p0'"
  run -1 ipuctl partition create p0 --size 4 --dry-run
  run -2 ipuctl partition create p1 --size 3 --dry-run
  run -2 ipuctl partition create p1 --ipus 0/64 --cluster c-pod64 --dry-run
}

@test "a partition that is not ACTIVE in time is removed again" {
  SIM_CREATE_DELAY=60s restart_sim
  run -3 ipuctl partition create p0 --size 4 --timeout 5s
  assert_nothing_left
  restart_sim
}

@test "create --no-wait returns at once, and partition wait waits" {
  SIM_CREATE_DELAY=10s restart_sim
  create p0 --size 4 --no-wait
  assert_equal "$(shown p0 .state)" PENDING
  run -3 ipuctl partition wait p0 --timeout 100ms
  assert_equal "$(ipuctl partition wait p0)" 'wait partition (p0): success.'
  assert_equal "$(shown p0 .state)" ACTIVE
  restart_sim
}

@test "gc leaves a partition whose maker was killed to a person; --dry-run names it" {
  SIM_CREATE_DELAY=60s restart_sim
  host_spawn create ipuctl partition create p0 --size 4
  wait_until 10 partition_is_there
  host_signal create KILL
  wait_until 10 gc_would_leave_it
  run -3 ipuctl gc
  assert_contains "$output" "'ipuctl partition remove p0' removes it"
  assert_equal "$(ipuctl partition list -o json | jq length)" 1
  ipuctl partition remove p0 --force
  assert_nothing_left
  restart_sim
}

partition_is_there() { [ "$(ipuctl partition list -o json | jq length)" = 1 ]; }
gc_would_leave_it() { [[ $(ipuctl gc --dry-run) == *'would leave to you partition p0 of pool pod64'* ]]; }

@test "ipu-attrs prints the columns of vipu list ipu-attrs, also of one agent" {
  run ipuctl partition ipu-attrs
  assert_equal "$status" 0
  [[ ${lines[0]} =~ ^\ Agent\ *\|\ IPU\ \|\ Attribute\ *\|\ Value$ ]]
  [[ ${lines[1]} =~ ^-+$ ]]
  [[ ${lines[2]} =~ ^\ ag[0-9]+\ *\|\ [0-9]\ *\|\ [a-z\ ()]+\|\ .+$ ]]
  assert_equal "$(ipuctl partition ipu-attrs --agent ag1 --agent ag3 -o json | jq -c '[.[].agent] | unique')" '["ag1","ag3"]'
}

@test "every command prints JSON that a program can read" {
  local command
  start own -e IPU_COUNT=4
  ipuctl partition create p0 --size 4 --output json | jq -e '.partition == "p0" and .state == "ACTIVE"'
  for command in 'partition list' 'partition show p0' 'partition wait p0' 'partition reset p0' 'partition config p0' \
    'partition config p0 --gcd 0' 'partition ipu-attrs' 'partition create p1 --size 1 --dry-run' 'pool list' \
    'pool refill' ps 'lease show own' queue gc 'gc --dry-run' version 'partition remove p0'; do
    # shellcheck disable=SC2086
    ipuctl ${command/own/$(container_id own)} --output json | jq -e . >/dev/null || fail "$command"
  done
}

@test "the version is an option and a command" {
  assert_equal "$(ipuctl --version)" "$(ipuctl version)"
}

@test "what is wrong on the command line is exit status 2, with where to read on" {
  local arguments
  for arguments in '' frob partition 'partition frob' 'partition create' 'partition create p0 --size x' \
    'partition create p0 --size 4 --routing X' 'partition create p0 --size 4 --sync-type X' \
    'partition create p0 --ipus 1' 'partition create p0 --size 4 --timeout 5' 'partition list --frob' \
    'partition list -o xml' 'partition show p0 -o yaml' 'partition show' 'partition show a b' 'pool frob' 'lease show' 'queue x'; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr ipuctl $arguments
    assert_equal "$output" ''
    # shellcheck disable=SC2154
    assert_contains "$stderr" "; see 'ipuctl"
  done
  run -2 ipuctl partition create p0
  assert_contains "$output" '--size'
  run -2 ipuctl partition show a b
  assert_equal "$output" "ipuctl: unexpected argument 'b'; see 'ipuctl partition show --help'"
  run -2 ipuctl ps --pool
  assert_equal "$output" "ipuctl: '--pool' needs a value: NAME; see 'ipuctl ps --help'"
  run -2 ipuctl ps -o xml
  assert_contains "$output" "ipuctl: --output: 'xml' is not an output format; give 'table', 'wide', 'json', 'yaml' or 'csv'"
  for arguments in 'partition list' ps queue 'health list' 'reservation list'; do
    # shellcheck disable=SC2086
    run -2 ipuctl $arguments --pool other
    assert_contains "$output" "there is no pool 'other'; the pools are pod64"
  done
}

@test "two options that do not go together are refused, and both are named" {
  assert_refuses() { # TEXT ARGUMENT...
    run -2 ipuctl "${@:2}"
    assert_contains "$output" "$1"
    assert_equal "${#lines[@]}" 1
  }
  assert_refuses '--reason has no effect with --end' drain --end --reason x
  assert_refuses '--timeout has no effect with --dry-run' drain --dry-run --timeout 5s
  assert_refuses '--dry-run has no effect with --end' drain --dry-run --end
  assert_refuses "--pool: has no effect before 'cancel'" queue --pool pod64 cancel --all
  assert_refuses 'give a container that waits or --all, but not both' queue cancel --all x
  run -2 ipuctl queue cancel
  assert_equal "$output" 'ipuctl: give a container that waits or --all'
  assert_refuses '--bundle DIR, but not both' explain --bundle /run x
  run -2 ipuctl explain
  assert_equal "$output" 'ipuctl: give the id of a lease or container, or --bundle DIR'
}

@test "arguments are checked before the configuration is read" {
  in_host sh -c 'echo "this is no TOML" >/etc/ipu-container-toolkit/config.toml'
  run -2 ipuctl reserve night --ipus 3
  assert_equal "$output" 'ipuctl: --ipus 3 is not a power of two; give 2 or 4'
  run -2 ipuctl reserve night --ipus 4 --for 0s
  assert_contains "$output" '--for must be longer than 0'
  run -2 ipuctl partition create p0
  assert_contains "$output" '--size'
  run -2 ipuctl reserve night --ipus 4 --wait 25h
  assert_contains "$output" "--wait: '25h' is too long; give at most 24h"
  host_config
}

# The names of the commands below this one.
subcommands() { # [WORD...]
  ipuctl "$@" --help | awk '/^Subcommands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'
}

# The root, the groups and the commands, one a line.
all_commands() {
  local group command
  echo
  for group in $(subcommands); do
    echo "$group"
    for command in $(subcommands "$group"); do echo "$group $command"; done
  done
}

examples_of() { # [WORD...]
  ipuctl "$@" --help | sed '1,/^Examples\{0,1\}:$/d'
}

@test "the help of each command ends with examples of it" {
  local words line count=0
  while IFS= read -r words; do
    # shellcheck disable=SC2086
    run -0 examples_of $words
    [ -n "$output" ] || fail "ipuctl $words --help has no example"
    for line in "${lines[@]}"; do
      [[ $line == "  ipuctl${words:+ $words}"* ]] || fail "ipuctl $words --help ends with '$line'"
    done
    count=$((count + 1))
  done < <(all_commands)
  [ "$count" -gt 30 ]
}

# What an example exits with here, where p0 is there already and dockerd has its runtime as an option.
expected_status() { # EXAMPLE
  case $1 in
    *' adopt '* | *' host forget '* | *' host fence '* | *' tenant show '*) echo 1 ;;
    *' rebuild '* | *' runtime configure '*) echo 2 ;;
    *'ipuctl fleet leave') echo 0 ;;
    *'ipuctl fleet fence-due'*) echo 1 ;; # [fleet] has no fence = "auto"
    *'ipuctl monitor'*) echo 2 ;;         # there is no [monitor]
    'ipuctl fleet '* | *' ipuctl fleet '* | *' tenant set '* | *' tenant remove '*) echo 2 ;; # this host is in no fleet
    *' --follow'* | *' watch'* | *' drain --reason '* | *' pool drain '*' --reason '*) echo 124 ;;
    *' drain --dry-run' | *' border remove') echo 3 ;;
    *' taint '* | *' untaint '* | *' health clear '*) echo 1 ;; # the pool has a controller; nothing is tainted
    *) echo 0 ;;
  esac
}

@test "each example of the help works as it is printed" {
  local words example time
  start job -e IPU_COUNT=4
  while IFS= read -r example; do
    time=60
    [ "$(expected_status "$example")" != 124 ] || time=1
    run host_run timeout "$time" bash -c "$example" </dev/null
    [ "$status" = "$(expected_status "$example")" ] || fail "$example: status $status: $output"
    [[ $output != *"; see 'ipuctl"*"--help'"* ]] || fail "$example: $output"
  done < <(all_commands | while IFS= read -r words; do
    # shellcheck disable=SC2086
    examples_of $words
  done | awk '!seen[$0]++ { print $0 }')
}

@test "without root it says so" {
  run -1 in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl ps
  assert_contains "$output" 'run ipuctl as root'
}

@test "while the controller is down the exit status is 3, and what the ledger knows is shown" {
  start job -e IPU_COUNT=4
  sim_stop
  run -3 ipuctl partition list
  run -3 ipuctl pool list
  assert_contains "$output" '?'
  assert_contains "$(ipuctl ps)" "$(container_id job)"
  sim_start
}

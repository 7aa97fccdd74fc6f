#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two tenants with a V-IPU allocation each, and one without: none ever gets IPUs of another one's IPU-Machines, whatever
# it asks for, and whatever happens to the controller's answers.

load support

CONFIG=/etc/ipu-container-toolkit/config.toml

setup_file() { restart_with_allocations; }

teardown_file() {
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
}

# IPU-Machines 1 to 4 are of vision, 5 to 8 of nlp, and 9 to 16 of the rest.
restart_with_allocations() { # SIMULATOR-OPTION...
  # shellcheck disable=SC2034
  local SIM_OPTIONS=(--allocation vision=ag1-ag4 --allocation nlp=ag5-ag8 --allocation rest=ag9-ag16 "$@")
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  sim_start
}

setup() {
  host_config
  configure_pool 'allocation = "rest"'
  in_host tee -a "$CONFIG" >/dev/null <<END

[policy]
tenant_variable = true

[[tenant]]
name = "vision"
allocation = "vision"

[[tenant]]
name = "nlp"
allocation = "nlp"

[[tenant]]
name = "guest"
END
}

teardown() {
  host_config
  remove_containers
  remove_partitions
  ipuctl pool refill >/dev/null # removes what is warm
  ipuctl gc >/dev/null
  assert_nothing_left
}

# Gives the pool these lines in place of those that an earlier call gave it.
configure_pool() { # LINE...
  local line
  in_host sed -i '/^allocation = "rest"$/d; /^warm = /d' "$CONFIG"
  for line in "$@"; do in_host sed -i "s|^controller = .*|&\\n$line|" "$CONFIG"; done
}

start_of() { # NAME TENANT IPUS [DOCKER-OPTION...]
  local name=$1 tenant=$2 ipus=$3
  shift 3
  start "$name" -e "IPU_TENANT=$tenant" -e "IPU_COUNT=$ipus" "$@"
}

# All IPUs of a running container are on IPU-Machines FIRST to LAST.
assert_on_machines() { # NAME FIRST LAST
  local machines machine
  machines=$(endpoints "$1" | sed 's/ .*//; s/.*\.//' | sort -un)
  [ -n "$machines" ] || fail "$1 has no IPUs"
  for machine in $machines; do
    if [ "$machine" -lt "$2" ] || [ "$machine" -gt "$3" ]; then fail "$1 has IPUs of machine $machine"; fi
  done
}

has_warm() { [ "$(ipuctl partition list -o json | jq 'map(select(.kind == "WARM")) | length')" = "$1" ]; }

@test "each tenant gets IPUs of its own allocation, and none when that is full, though the POD has room" {
  start_of v1 vision 8
  start_of v2 vision 8
  start_of n1 nlp 16
  start_of g1 guest 16
  assert_on_machines v1 1 4
  assert_on_machines v2 1 4
  assert_on_machines n1 5 8
  assert_on_machines g1 9 16
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=4 -- \
    "tenant 'vision' is kept to allocation 'vision' of pool \"pod64\", which has no free block of 4 IPUs now"
  assert_equal "$(ipuctl tenant list -o json | jq -c '[.[] | [.tenant, .held, .allocation]]')" \
    '[["vision",16,"vision"],["nlp",16,"nlp"],["guest",16,null]]'
  assert_contains "$(ipuctl tenant show nlp)" ALLOCATION
}

@test "a request that waits for its allocation gets IPUs when they are given back, and keeps only its own tenant waiting" {
  local waiter
  start_of v1 vision 16
  start_of v2 vision 8 -e IPU_WAIT=40s >"$BATS_TEST_TMPDIR/v2" 2>&1 3>&- &
  waiter=$!
  wait_until 10 has_waiters 1
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=1 -- 'others wait for'
  start_of n1 nlp 8
  start_of g1 guest 8
  docker rm --force n1 g1
  has_waiters 1 || fail 'it has IPUs that others gave back'
  docker rm --force v1
  wait "$waiter" || fail "$(cat "$BATS_TEST_TMPDIR/v2")"
  assert_on_machines v2 1 4
}

@test "what never fits its allocation, or is in none, is refused at once, with the tenant and what to do" {
  local before=$SECONDS
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=32 -e IPU_WAIT=50s -- "no block of 32 IPUs fits into allocation 'vision'"
  in_host sed -i 's/^allocation = "nlp"/allocation = "lost"/' "$CONFIG"
  assert_refused -e IPU_TENANT=nlp -e IPU_COUNT=4 -e IPU_WAIT=50s -- "no allocation 'lost': there is" \
    "tenant 'nlp' is kept to allocation 'lost': if 'vipu list allocations' does not have it" 'ipuctl tenant set nlp'
  [ $((SECONDS - before)) -le 45 ]
  run ipuctl doctor
  assert_contains "$output" 'its controller has no partition in lost, vision, so these allocations of tenants are idle, or do not exist'
}

@test "warm partitions are in the allocation of the pool, and never a tenant's of another one" {
  configure_pool 'allocation = "rest"' 'warm = { "4" = 2 }'
  ipuctl pool refill >/dev/null
  wait_until 20 has_warm 2
  start_of v1 vision 4
  start_of n1 nlp 4
  has_warm 2
  assert_on_machines v1 1 4
  assert_on_machines n1 5 8
  start_of g1 guest 4
  assert_on_machines g1 9 16
  assert_equal "$(ipuctl ps -o json | jq -r '[.[].partition | select(startswith("w-"))] | length')" 1
  start_of v2 vision 8
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=8 -- 'has no free block of 8 IPUs'
  wait_until 20 has_warm 2 # none was given back for it
}

@test "a named partition and a reservation are for tenants of their allocation alone" {
  ipuctl partition create pv --size 4 --allocation vision >/dev/null
  ipuctl partition create pg --size 4 >/dev/null
  assert_refused -e IPU_TENANT=nlp -e IPU_PARTITION=pv -- "partition 'pv' is in allocation 'vision'" \
    "tenant 'nlp' is kept to allocation 'nlp'"
  assert_refused -e IPU_TENANT=guest -e IPU_PARTITION=pv -- "which may be another tenant's"
  assert_refused -e IPU_TENANT=vision -e IPU_PARTITION=pg -- "tenant 'vision' is kept to allocation 'vision'"
  start v1 -e IPU_TENANT=vision -e IPU_PARTITION=pv
  start g1 -e IPU_TENANT=guest -e IPU_PARTITION=pg
  assert_on_machines v1 1 4
  assert_on_machines g1 9 16
  ipuctl reserve night --ipus 4 --tenant nlp >/dev/null
  start n1 -e IPU_TENANT=nlp -e IPU_RESERVATION=night
  assert_on_machines n1 5 8
  docker rm --force n1
  wait_until 10 ipuctl reservation end night >/dev/null
}

@test "an answer of the controller that is lost puts nobody into another allocation" {
  local name
  in_host tee /run/faults.json >/dev/null <<'END'
{"faults": [
  {"call": "CreatePartition", "partition": "c-*", "action": "lose_reply"},
  {"call": "ListPartitions", "action": "lose_reply"},
  {"call": "CreatePartition", "partition": "c-*", "action": "drop_before"}]}
END
  restart_with_allocations --faults /run/faults.json
  start_of v1 vision 4 -e IPU_WAIT=50s
  start_of n1 nlp 4 -e IPU_WAIT=50s
  start_of g1 guest 4 -e IPU_WAIT=50s
  assert_on_machines v1 1 4
  assert_on_machines n1 5 8
  assert_on_machines g1 9 16
  # What was held at any time, by the simulator's log: each partition within one allocation.
  assert_equal "$(sim_log 'map(select(.event == "hold") | [.ipus[] | if . < 16 then "v" elif . < 32 then "n" else "r" end] |
    unique | length) | unique | tostring')" '[1]'
  for name in v1 n1 g1; do docker rm --force "$name" >/dev/null; done
  wait_until 20 has_leases 0
}

@test "a pool without an allocation of its own is refused while some tenant has none" {
  configure_pool
  assert_refused -e IPU_TENANT=guest -e IPU_COUNT=4 -- "pool 'pod64' has no allocation, so tenant 'guest' could get IPUs"
  configure_pool 'allocation = "rest"'
  in_host sed -i 's/^allocation = "rest"/allocation = "vision"/' "$CONFIG"
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=4 -- "allocation 'vision' of pool 'pod64' is a tenant's"
}

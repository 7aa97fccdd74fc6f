#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tenants share the POD64: what each has, who waits for whom, and who is refused by which share.

load support

setup() {
  host_config
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<END

[policy]
tenant_variable = true

[[tenant]]
name = "vision"
guaranteed = 32
limit = 48
max_waiters = 1

[[tenant]]
name = "nlp"
guaranteed = 16
limit = 64

[[tenant]]
name = "guest"
limit = 16
max_wait = "30s"
may_reserve = false
users = [4711]
END
}

teardown() {
  remove_containers
  remove_partitions
  ipuctl gc >/dev/null
  host_config
  assert_nothing_left
}

tenant() { # NAME FILTER
  ipuctl tenant show "$1" --output json | jq -c "$2"
}

# Starts, in the background, a container that waits, and returns when it does so as one of N. Sets WAITING.
start_waiter() { # NAME TENANT IPUS N
  start "$1" -e "IPU_TENANT=$2" -e "IPU_COUNT=$3" -e IPU_WAIT=30s >"$BATS_TEST_TMPDIR/$1" 2>&1 3>&- &
  WAITING=$!
  wait_until 10 has_waiters "$4"
}

@test "a tenant gets what its limit allows, borrows what is idle, and is refused by its share" {
  start own -e IPU_TENANT=vision -e IPU_COUNT=32
  assert_equal "$(tenant vision '[.held, .borrowed]')" '[32,0]'
  start loan -e IPU_TENANT=vision -e IPU_COUNT=16
  assert_equal "$(tenant vision '[.held, .borrowed]')" '[48,16]'
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=1 -- \
    "tenant 'vision' has 48 of at most 48 IPUs (32 are guaranteed) on this host, and asks for 1 more" \
    'it fits when the tenant gives back 1' "ipuctl tenant show vision"
  assert_refused -e IPU_TENANT=guest -e IPU_COUNT=32 -- "tenant 'guest' may have at most 16 IPUs"
  start guest -e IPU_TENANT=guest -e IPU_COUNT=16
  assert_equal "$(ipuctl tenant list --output json | jq -c '[.[] | [.tenant, .held, .limit]]')" \
    '[["vision",48,48],["nlp",0,64],["guest",16,16]]'
  assert_contains "$(ipuctl tenant show vision)" "container $(container_id loan): 16 IPUs of pod64"
  docker rm --force own
  wait_until 10 tenant_has vision 16
  assert_equal "$(tenant vision '.borrowed')" 0
}

tenant_has() { [ "$(tenant "$1" .held)" = "$2" ]; }

@test "explain shows a refusal by a share" {
  start own -e IPU_TENANT=guest -e IPU_COUNT=16
  run -125 docker run --name refused --runtime=ipu -e IPU_TENANT=guest -e IPU_COUNT=4 busybox true
  assert_contains "$(ipuctl explain "$(container_id refused)")" "tenant 'guest' has 16 of at most 16 IPUs"
}

@test "a tenant within its guaranteed share is served before one that borrows and came first" {
  local borrower
  start all -e IPU_TENANT=nlp -e IPU_COUNT=64
  start_waiter borrower guest 16 1
  borrower=$WAITING
  start_waiter own vision 32 2
  assert_equal "$(ipuctl queue -o json | jq -c '[.[] | [.position, .tenant]]')" '[[1,"vision"],[2,"guest"]]'
  assert_contains "$(ipuctl explain borrower)" "tenant 'guest' has 0 of at most 16 IPUs (0 are guaranteed)"
  docker rm --force all
  wait "$WAITING"
  wait "$borrower"
  assert_equal "$(sim_log -c 'map(select(.event == "hold").ipus | length) | .[-2:]')" '[32,16]'
}

@test "a tenant over its limit keeps nobody else waiting, and is served when it fits" {
  start own -e IPU_TENANT=guest -e IPU_COUNT=16
  start_waiter more guest 4 1
  assert_contains "$(ipuctl explain more)" "tenant 'guest' has 16 of at most 16 IPUs"
  start other -e IPU_TENANT=nlp -e IPU_COUNT=16
  docker rm --force own
  wait "$WAITING"
  assert_equal "$(tenant guest .held)" 4
}

@test "a tenant has so many places in the queue, and so long a wait" {
  start all -e IPU_TENANT=nlp -e IPU_COUNT=64
  start_waiter one vision 4 1
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=4 -e IPU_WAIT=10s -- \
    "no place in the queue: 1 requests of tenant 'vision' wait"
  assert_refused -e IPU_TENANT=guest -e IPU_COUNT=4 -e IPU_WAIT=31s -- "max_wait of tenant 'guest'"
  docker rm --force all
  wait "$WAITING"
}

@test "a container of no tenant, or of one that does not exist, is refused with the known ones" {
  assert_refused -e IPU_COUNT=4 -- 'the container names no tenant; give one of vision, nlp, guest'
  assert_refused -e IPU_TENANT=other -e IPU_COUNT=4 -- "there is no tenant 'other' on this host" \
    'the tenants are vision, nlp, guest'
  in_host sed -i 's/^tenant_variable = true/&\ndefault_tenant = "guest"/' /etc/ipu-container-toolkit/config.toml
  start job -e IPU_COUNT=4
  assert_equal "$(tenant guest .held)" 4
}

@test "a reservation counts for its tenant, who alone uses it" {
  run -1 ipuctl reserve night --ipus 4 --tenant guest
  assert_contains "$output" "tenant 'guest' may not reserve IPUs"
  run -0 ipuctl reserve night --ipus 16 --tenant vision --for 4h
  assert_equal "$(tenant vision '[.held, .holdings[0].reservation]')" '[16,"night"]'
  assert_refused -e IPU_TENANT=nlp -e IPU_RESERVATION=night -- 'is of another tenant'
  start job -e IPU_TENANT=vision -e IPU_RESERVATION=night
  assert_equal "$(tenant vision .held)" 16
  start own -e IPU_TENANT=vision -e IPU_COUNT=32
  run -3 ipuctl reserve day --ipus 4 --tenant vision
  assert_contains "$output" "reservation 'night' with 16 IPUs ends first, at"
  docker rm --force job
  wait_until 10 ipuctl reservation end night
}

@test "two starts at once never exceed a limit" {
  local started=() pid fits=0
  for i in 1 2 3 4 5 6; do
    start "c$i" -e IPU_TENANT=guest -e IPU_COUNT=8 >/dev/null 2>&1 3>&- &
    started+=($!)
  done
  for pid in "${started[@]}"; do
    if wait "$pid"; then fits=$((fits + 1)); fi
  done
  assert_equal "$fits" 2
  assert_equal "$(tenant guest .held)" 16
}

@test "doctor warns of guaranteed shares that do not fit, and of what is overdue" {
  assert_contains "$(ipuctl doctor)" '3 tenants with 48 guaranteed IPUs of 64'
  in_host sed -i 's/^guaranteed = 16/guaranteed = 33/' /etc/ipu-container-toolkit/config.toml
  assert_contains "$(ipuctl doctor)" 'tenants have 65 guaranteed IPUs together, but the pools have 64'
  in_host sed -i -e '/^guaranteed = 33/d' -e 's/^limit = 64/&\nborrow_time = "1s"/' /etc/ipu-container-toolkit/config.toml
  start loan -e IPU_TENANT=nlp -e IPU_COUNT=4
  wait_until 10 is_overdue nlp
  assert_contains "$(ipuctl doctor)" "4 IPUs of tenant 'nlp'"
  assert_refused -e IPU_TENANT=nlp -e IPU_COUNT=4 -- "tenant 'nlp' has borrowed 4 IPUs for longer than its borrow_time, 1s"
}

is_overdue() { [ "$(tenant "$1" .overdue)" != 0 ]; }

# IPU-seconds of a tenant since the beginning of today, as the report has them.
held_by() { # TENANT
  ipuctl report --since 0s --output json | jq ".rows[] | select(.tenant == \"$1\") | .held_ipu_seconds"
}

has_held_more() { [ "$(held_by "$1")" -gt "$2" ]; }

@test "the report adds up: what lives, what has ended, waits and refusals, in three formats" {
  local before
  before=$(held_by guest)
  start job -e IPU_TENANT=guest -e IPU_COUNT=16
  wait_until 10 has_held_more guest "${before:-0}"
  assert_refused -e IPU_TENANT=guest -e IPU_COUNT=1 -- 'it fits when the tenant gives back 1'
  docker rm --force job
  wait_until 10 has_leases 0
  ipuctl gc >/dev/null
  run -0 ipuctl report --since 1d --output json
  assert_equal "$(jq -r '.by, .ipus' <<<"$output" | paste -sd ' ')" 'tenant 64'
  assert_equal "$(jq '.rows[] | select(.tenant == "guest") | .starts >= 1 and .median_wait_seconds > 0 and
    .longest_wait_seconds >= .median_wait_seconds and .utilisation > 0 and .busy_ipu_seconds == null' <<<"$output")" true
  assert_equal "$(jq '.rows[] | select(.tenant == "guest") | [.refused[] | select(.cause | contains("at most"))] | length > 0' \
    <<<"$output")" true
  assert_contains "$(ipuctl report --by pool --output csv)" $'pool,held_ipu_seconds,reserved_ipu_seconds,busy_ipu_seconds'
  assert_contains "$(ipuctl report --by pool --output csv)" $'\n"pod64",'
  assert_contains "$(ipuctl report --by user)" 'HELD IPU-H'
  assert_equal "$(jq -r '.fragmentation[] | select(.pool == "pod64") | [.pool, .worst_free_ipus >= .worst_largest_fit] | @csv' <<<"$output")" '"pod64",true'
  assert_contains "$(ipuctl report)" 'MEAN LARGEST FIT'
  assert_contains "$(ipuctl report --by host --host)" 'HOST'
  run -2 ipuctl report --by frob
  assert_contains "$output" "'frob' is not accepted; give host, pool, tenant, user"
  run -2 ipuctl report --since frob
  assert_contains "$output" "--since 'frob' is not accepted"
}

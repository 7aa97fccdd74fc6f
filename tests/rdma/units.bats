#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The units under the systemd of the machine, which runs them as README.md says. Nothing here is of RDMA: this is the only
# machine of the tests that has systemd.

load support

UNITS=/usr/local/lib/systemd/system
SOCKET=/run/ipu-container-toolkit/agent.sock
DAEMON=/etc/docker/daemon.json
HEALTH=/usr/local/bin/ipu-health
SLICED=/etc/ipuof.conf.d/p16.conf
GC='ipu-container-toolkit-gc'

setup_file() {
  guest_units
}

teardown() {
  go_on
  remove_containers
  remove_partitions
  configure_rail 'parent = "rnic0"'
  wait_until 60 gc_leaves_nothing || fail 'still there:' "$(leftovers 2>&1)"
}

teardown_file() {
  readme 'systemctl disable'
  systemctl reset-failed 'ipu-*'
  remove_users
  userdel alice
  userdel carol
}

ask() { host_run runuser -u "$1" -- timeout "$LIMIT" ipuctl "${@:2}"; } # USER WORD...
property() { systemctl show --property "$2" --value "$1"; }              # UNIT NAME
is_active() { systemctl --quiet is-active "$@"; }
has_reservations() { [ "$(ipuctl reservation list -o json | jq -c '[.[].reservation]')" = "$1" ]; }
lease_in_ledger() { ipuctl ps -o json | jq -r '.[] | "\(.lease) \(.state)"'; }
table() { nft list table "$@" 2>/dev/null; }

stop_agent() { systemctl stop ipu-agent.socket ipu-agent.service; }
start_agent() { systemctl start ipu-agent.socket ipu-agent.service; }

# Runs a unit of Type=oneshot, whose timer is active, to its end. It has to succeed, and status 3 is no success here.
run_unit() { # UNIT
  systemctl start "$1" || fail "$(journalctl --no-pager --lines 20 --unit "$1")"
  has_succeeded "$1"
}

has_succeeded() { # UNIT
  assert_equal "$(property "$1" Result) $(property "$1" ExecMainStatus)" 'success 0'
}

# A container's processes end, and nobody runs its hooks: the shim is dead too, and containerd is stopped.
crash() { # NAME
  local pid shim
  pid=$(docker inspect -f '{{.State.Pid}}' "$1")
  shim=$(awk '/^PPid/ { print $2 }' "/proc/$pid/status")
  systemctl kill --kill-who=main --signal=STOP containerd.service
  kill -KILL "$shim" "$pid"
}

go_on() { systemctl kill --kill-who=main --signal=CONT containerd.service; }

@test "systemd accepts the installed units" {
  run -0 systemd-analyze verify --man=no "$UNITS"/ipu-*
  assert_equal "$output" ''
}

@test "README's commands enable the units, and each runs" {
  local unit
  for unit in ipu-border.service ipu-agent.socket ipu-agent.service "$GC.timer"; do
    is_active "$unit" || fail "$(systemctl status --no-pager "$unit")"
    assert_equal "$(systemctl is-enabled "$unit")" enabled
  done
  assert_equal "$(systemctl is-enabled "$GC.service")" enabled
  assert_contains "$(systemctl list-timers --no-pager)" "$GC.service"
  readme 'systemctl daemon-reload'
  readme 'systemctl try-restart'
  is_active ipu-border.service ipu-agent.service
}

@test "the units that clean up and filter stand before all that starts containers" {
  local unit engine
  for unit in "$GC.service" ipu-border.service; do
    for engine in docker containerd crio podman podman-restart; do
      assert_contains " $(property "$unit" Before) " " $engine.service "
    done
  done
}

@test "a user of the group starts ipu-agent by its socket, and others cannot" {
  assert_equal "$(stat -c '%U:%G %a' "$SOCKET")" 'root:ipu 660'
  systemctl stop ipu-agent.service
  run ! is_active ipu-agent.service
  assert_equal "$(ask alice ps -o json)" '[]'
  is_active ipu-agent.service
  assert_equal "$(ask alice queue -o json)" '[]'
  assert_equal "$(ask alice pool list -o json)" "$(ipuctl pool list -o json)"
  run -1 ask carol ps
  assert_contains "$output" "add you to the group 'ipu'"
  assert_equal "$(ipuctl doctor -o json | jq -r '.[] | select(.check == "agent").result')" ok
}

@test "ipu-agent, restarted while a user waits: the wait ends, and the next request is answered" {
  local waiting status=0
  start job -e IPU_COUNT=64
  ask alice reserve night --ipus 64 --wait 300s >"$BATS_TEST_TMPDIR/alice" 2>&1 3>&- &
  waiting=$!
  wait_until 30 has_waiters 1
  systemctl restart ipu-agent.service
  wait "$waiting" || status=$?
  assert_equal "$status" 3
  assert_contains "$(ask alice ps)" RUNNING
  wait_until 30 has_waiters 0
}

@test "ipu-agent makes a reservation, and ends it when its time is over" {
  local pid total=0
  assert_contains "$(ask alice reserve short --ipus 4 --for 3s)" 'IPU_RESERVATION=short'
  wait_until 60 has_reservations '[]' || fail "$(ipuctl reservation list)" "$(journalctl --no-pager -u ipu-agent)"
  wait_until 30 has_no_partition
  for pid in $(pgrep -x ipu-agent); do
    total=$((total + $(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")))
  done
  report "ipu-agent: $total KiB at most, both processes"
  [ "$total" -le 8192 ]
}

has_no_partition() { [ "$(ipuctl partition list -o json)" = '[]' ]; }

@test "ipu-agent releases what a crash left, and starts a dead V-IPU endpoint again, which outlives it" {
  local endpoint
  start job -e IPU_COUNT=4 -e IPU_VIPU_ENDPOINT=1
  endpoint=$(pgrep -x "$ENDPOINT")
  kill -KILL "$endpoint"
  wait_until 30 has_other_endpoint "$endpoint" || fail "$(journalctl --no-pager -u ipu-agent)"
  endpoint=$(pgrep -x "$ENDPOINT")
  systemctl restart ipu-agent.service
  assert_equal "$(pgrep -x "$ENDPOINT")" "$endpoint"
  crash job
  wait_until 60 has_leases 0 || fail "$(ipuctl ps)" "$(journalctl --no-pager -u ipu-agent)"
}

ENDPOINT='ipu-vipu-endpoi' # the kernel cuts the name
has_other_endpoint() { pgrep -x "$ENDPOINT" | grep -qvx "$1"; }

@test "systemctl restart nftables flushes the border, and ipu-border.service makes it again, with the lease" {
  local address begin
  sed -i 's/^\[network\]$/&\nguard_forwarding = true/' "$PRODUCT_CONFIG"
  stop_agent
  start job -e IPU_COUNT=4
  address=$(address_in job)
  has_border "$address"
  for _ in 1 2; do
    systemctl restart nftables.service
    begin=$(date +%s%N)
    wait_until 5 has_border "$address" || fail "$(journalctl --no-pager -u ipu-border)"
    report "the border stands $((($(date +%s%N) - begin) / 1000000)) ms after the restart"
    wait_until 5 has_guard
  done
  # shellcheck disable=SC2046
  assert_contains "$(inside job nc -w 5 $(first_endpoint job))" "$(lease_of job .partition)"
  start_agent
}

has_border() { [[ $(table netdev ipu-border) == *"$1"* ]]; } # ADDRESS
has_guard() { table inet ipu-guard >/dev/null; }

@test "a border by tc, removed, is made again by ipu-border.service" {
  sed -i 's/^\[network\]$/&\nfilter = "tc"/' "$PRODUCT_CONFIG"
  stop_agent
  start job -e IPU_COUNT=4
  tc qdisc delete dev rnic0 clsact
  wait_until 20 has_border_by_tc || fail "$(journalctl --no-pager -u ipu-border)"
  start_agent
}

has_border_by_tc() { tc filter show dev rnic0 egress | grep -q ipu-border; }

@test "when ipu-border.service has started, the guard stands" {
  sed -i 's/^\[network\]$/&\nguard_forwarding = true/' "$PRODUCT_CONFIG"
  stop_agent
  systemctl stop ipu-border.service
  ! has_guard || nft delete table inet ipu-guard
  systemctl start ipu-border.service
  has_guard
  start_agent
}

@test "ipu-border.service watches on while the ledger is damaged, and says so once" {
  local address pid state=/var/lib/ipu-container-toolkit
  stop_agent
  start job -e IPU_COUNT=4
  address=$(address_in job)
  systemctl stop ipu-border.service
  mkdir "$state/whole"
  mv "$state"/ledger.db* "$state/whole"
  head -c 65536 /dev/zero >"$state/ledger.db"
  nft delete table netdev ipu-border
  systemctl start ipu-border.service
  pid=$(property ipu-border.service MainPID)
  wait_until 20 has_said "$pid" ledger.db
  rm "$state"/ledger.db*
  mv "$state"/whole/* "$state"
  rmdir "$state/whole"
  wait_until 20 has_border "$address" || fail "$(journalctl --no-pager -u ipu-border)"
  assert_equal "$(property ipu-border.service MainPID)" "$pid"
  assert_equal "$(journalctl --no-pager --output cat _PID="$pid" | grep -c ledger.db)" 1
  start_agent
}

has_said() { journalctl --no-pager --output cat _PID="$1" | grep -q "$2"; } # PID TEXT

@test "ipu-border.service and ipu-agent.service start again, however often they end" {
  local unit pid
  for unit in ipu-border.service ipu-agent.service; do
    for _ in {1..6}; do
      systemctl kill --kill-who=main --signal=KILL "$unit"
      # Instead of after RestartSec.
      systemctl restart "$unit" || fail "$(systemctl status --no-pager "$unit")"
    done
    pid=$(property "$unit" MainPID)
    kill -KILL "$pid"
    wait_until 10 has_other_process "$unit" "$pid"
  done
}

has_other_process() { # UNIT PID
  is_active "$1" && [ "$(property "$1" MainPID)" != "$2" ]
}

@test "the timer of gc fires in time, and what a crash left is released" {
  local drop_in=/run/systemd/system/$GC.timer.d
  stop_agent
  start job -e IPU_COUNT=4
  crash job
  assert_equal "$(leases)" 1
  mkdir -p "$drop_in"
  printf '[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\n' >"$drop_in/soon.conf"
  systemctl daemon-reload
  systemctl restart "$GC.timer"
  wait_until 30 has_leases 0 || fail "$(journalctl --no-pager -u "$GC")"
  rm -r "$drop_in"
  systemctl daemon-reload
  systemctl restart "$GC.timer"
  run_unit "$GC.service"
  start_agent
}

@test "the timers of health checks and refills fire, and these end with status 0, also before anything has made the run directory" {
  local ipu unit
  ipuctl partition create whole --size 16 --reconfigurable
  mkdir -p "${SLICED%/*}"
  ipuctl partition config whole --gcd 0 >"$SLICED"
  ipu=$(jq -r '.devices[0] | "\(.ip):\(.device_id)"' "$SLICED")
  sed -i 's/^timeout = .*/&\nwarm = { "4" = 1 }/' "$PRODUCT_CONFIG"
  configure_slices "$SLICED"
  echo "health_command = \"$HEALTH\"" >>"$PRODUCT_CONFIG"
  install -m 0755 /dev/stdin "$HEALTH" <<END
#!/bin/sh
echo '{"ipus": [{"ipu": "$ipu", "good": false, "reason": "seen by '\$(id -u)'"}]}'
END
  stop_agent
  systemctl stop ipu-border.service
  rm -rf /run/ipu-container-toolkit
  # The machine runs for longer than OnBootSec.
  systemctl enable --now ipu-health.timer ipu-pool-refill.timer
  for unit in ipu-health ipu-pool-refill; do
    wait_until 60 has_fired "$unit.timer"
    wait_until 60 has_ended "$unit.service"
    has_succeeded "$unit.service"
  done
  for _ in 1 2; do run_unit ipu-health.service; done
  assert_equal "$(ipuctl partition list -o json | jq -c '[.[].kind] | sort')" '["NAMED","WARM"]'
  assert_equal "$(ipuctl health list -o json | jq -c '[.[] | [.ipu, .taint, .reason]]')" \
    "[[\"$ipu\",\"CHECK\",\"seen by 65534\"]]"
  systemctl start ipu-border.service
  start_agent
  systemctl disable --now ipu-health.timer ipu-pool-refill.timer
  ipuctl health clear "$ipu" --pool slices
  configure_rail 'parent = "rnic0"'
  ipuctl pool refill
  ipuctl partition remove whole
  rm "$SLICED" "$HEALTH"
}

has_fired() { [ -n "$(property "$1" LastTriggerUSec)" ]; }
has_ended() { [ "$(property "$1" ExecMainExitTimestampMonotonic)" -gt 0 ]; }

@test "systemctl restart docker ends containers, which give everything back" {
  # sleep ignores SIGTERM, as each first process does that has no handler.
  start job -e IPU_COUNT=4 --stop-signal KILL
  systemctl restart docker.service
  assert_equal "$(docker inspect -f '{{.State.Running}}' job)" false
  wait_until 60 has_leases 0
}

@test "with live-restore a container keeps its IPUs while docker and containerd are restarted" {
  local lease
  live_restore true
  start job -e IPU_COUNT=4
  lease=$(lease_in_ledger)
  assert_contains "$lease" RUNNING
  systemctl restart docker.service
  systemctl restart containerd.service
  run_unit "$GC.service"
  wait_until 60 docker_answers
  assert_equal "$(lease_in_ledger)" "$lease"
  # shellcheck disable=SC2046
  assert_contains "$(inside job nc -w 5 $(first_endpoint job))" "$(lease_of job .partition)"
  docker rm --force job
  wait_until 60 has_leases 0
  live_restore false
}

live_restore() { # BOOLEAN
  local daemon
  daemon=$(jq --argjson on "$1" '."live-restore" = $on' "$DAEMON")
  echo "$daemon" >"$DAEMON"
  systemctl reload docker.service
  wait_until 30 has_live_restore "$1"
}

has_live_restore() { [ "$(docker info -f '{{.LiveRestoreEnabled}}')" = "$1" ]; }

@test "README's commands stop the units, and then the border can be removed" {
  local unit
  readme 'systemctl disable'
  for unit in ipu-border.service ipu-agent.socket ipu-agent.service "$GC.timer"; do
    run ! is_active "$unit"
    run ! systemctl is-enabled "$unit"
  done
  [ ! -e "$SOCKET" ]
  ipuctl border remove
  run ! has_guard
  readme 'systemctl enable'
}

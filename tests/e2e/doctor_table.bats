#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What keeps a host from starting containers with IPUs, one row after the other: nothing starts, 'ipuctl doctor' fails with
# the evidence and what to do, and when that is done, doctor is content and a container starts.

load support

CONFIG=/etc/ipu-container-toolkit/config.toml
STATE_DIR=/var/lib/ipu-container-toolkit

setup() {
  ENGINE=untouched
}

teardown() {
  remove_containers
  host_signal simulator CONT 2>/dev/null || true
  in_host ip route replace 10.1.3.0/24 dev mgmt0 src 10.1.3.1
  in_host sed -i '/controller\.test/d' /etc/hosts
  ! in_host mountpoint -q "$STATE_DIR" || in_host umount --lazy "$STATE_DIR"
  in_host test -e "$STATE_DIR/ledger.db" || ipuctl ledger rebuild || true
  host_config
  restart_sim
  [ "$ENGINE" = untouched ] || usual_engine
  ! ipuctl partition list -o json | grep -q '"p0"' || ipuctl partition remove p0
  assert_nothing_left
}

usual_engine() {
  docker_stop
  ipuctl runtime unconfigure docker >/dev/null 2>&1 || true
  DOCKER_RUNTIME=(--add-runtime "ipu=$BINDIR/ipu-container-runtime")
  docker_start
}

# Restarts dockerd without the option that tells it about the runtime.
engine_without_runtime() {
  ENGINE=touched
  docker_stop
  DOCKER_RUNTIME=()
  docker_start
}

start_one() { docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true; }

# Nothing starts, and doctor says in its time that CHECK alone failed, with EVIDENCE and ADVICE. Sets advice.
assert_sick() { # CHECK EVIDENCE ADVICE
  local begin took failed
  run ! start_one
  begin=${EPOCHREALTIME/./}
  run ! --separate-stderr ipuctl doctor --output json
  took=$(((${EPOCHREALTIME/./} - begin) / 1000))
  # 2 s for the check that hangs, the others, and a busy machine; without a limit it would be 20 s.
  [ "$took" -le 18000 ] || fail "doctor took $took ms"
  # shellcheck disable=SC2154 # set by bats
  failed=$(jq '[.[] | select(.result == "failed")]' <<<"$output")
  assert_equal "$(jq -r 'map(.check) | join(", ")' <<<"$failed")" "$1"
  assert_contains "$(jq -r '.[0].finding' <<<"$failed")" "$2"
  advice=$(jq -r '.[0].advice' <<<"$failed")
  assert_contains "$advice" "$3"
}

assert_well() {
  run -0 ipuctl doctor
  start_one
}

# Does what the advice says to run.
mend() {
  local command
  command=$(sed -n "s/^run '\([^']*\)'.*/\1/p" <<<"$advice")
  case $command in
    '') fail "there is no command in: $advice" ;;
    # The throw-away host has no systemd.
    'systemctl start docker') docker_start ;;
    'systemctl restart docker') docker_stop && docker_start ;;
    *) in_host sh -ec "$command" ;;
  esac
}

set_controller() { # ADDRESS
  in_host sed -i "s|^controller = .*|controller = \"$1\"|; s|^timeout = .*|timeout = \"3s\"|" "$CONFIG"
}

@test "the controller is stopped" {
  sim_stop
  assert_sick 'controller of pod64' 'Connection refused' 'start the controller on its host'
  assert_contains "$advice" "'ipuctl pool list' asks it again"
  assert_contains "$(ipuctl pool list 2>&1)" 'Connection refused'
  sim_start
  assert_well
}

@test "the controller does not answer" {
  set_controller "$CONTROLLER"
  host_signal simulator STOP
  assert_sick 'controller of pod64' 'no answer within' 'whether the controller hangs'
  host_signal simulator CONT
  assert_well
}

@test "the controller has another port" {
  set_controller "${CONTROLLER%:*}:9"
  assert_sick 'controller of pod64' "to ${CONTROLLER%:*}:9: Connection refused" "correct 'controller' of pool 'pod64' in $CONFIG"
  set_controller "$CONTROLLER"
  assert_well
}

@test "nobody knows the name of the controller" {
  set_controller 'controller.test:8090'
  assert_sick 'controller of pod64' 'DNS resolution failed for controller.test:8090' "'getent hosts controller.test'"
  run ! in_host getent hosts controller.test
  in_host sh -c "echo '${CONTROLLER%:*} controller.test' >>/etc/hosts"
  assert_well
}

@test "there is no route to the controller" {
  in_host ip route delete 10.1.3.0/24 dev mgmt0
  assert_sick 'controller of pod64' 'Network is unreachable' "'ip route get ${CONTROLLER%:*}'"
  run ! in_host ip route get "${CONTROLLER%:*}"
  in_host ip route add 10.1.3.0/24 dev mgmt0 src 10.1.3.1
  assert_well
}

# The two calls of the row have 2 s together; the second alone would have 1750 ms.
@test "the controller lists partitions slowly, and does not tell what they have" {
  local row left
  ipuctl partition create p0 --size 4 >/dev/null
  sim_stop
  in_host tee /run/faults.json >/dev/null <<'END'
{"faults": [{"call": "ListPartitions", "action": "delay", "delay": "300ms", "times": 0},
            {"call": "GetPartitionIpuofConfig", "action": "hang", "times": 0}]}
END
  # shellcheck disable=SC2034
  local SIM_OPTIONS=(--faults /run/faults.json)
  sim_start
  # shellcheck disable=SC2034
  SIM_OPTIONS=()
  row=$(ipuctl doctor -o json | jq -r '.[] | select(.check == "fabric of pod64") | "\(.result): \(.finding): \(.advice)"')
  assert_contains "$row" 'warning: nothing shows whether the rails reach the IPU-Machines: '
  assert_contains "$row" "run 'ipuctl partition list'"
  left=$(sed -n 's/.*no answer within \([0-9]*\) ms.*/\1/p' <<<"$row")
  [ "$left" -le 1500 ] || fail "the second call had $left ms"
  restart_sim
  assert_well
}

@test "no rail is in the subnet of the IPU-Machines" {
  in_host sed -i 's|10\.5\.0\.0/16|10.6.0.0/16|; s|10\.5\.200|10.6.200|g' "$CONFIG"
  # What is not there cannot be compared.
  assert_equal "$(ipuctl doctor -o json | jq -r '.[] | select(.check == "fabric of pod64") | "\(.result): \(.advice)"')" \
    "warning: run 'ipuctl doctor --try IMAGE' with an image of this host"
  ipuctl partition create p0 --size 4 >/dev/null
  assert_sick 'fabric of pod64' 'partition p0 has an IPU-Machine at 10.5.1.1, which is in the subnet of no [[network.rail]]' \
    "correct 'subnet' of the rail in $CONFIG; 'ipuctl partition config p0' shows"
  ipuctl partition config p0 | grep -q '10\.5\.1\.1'
  host_config
  assert_well
}

@test "a program is missing" {
  local name path
  for name in ipu-vipu-client-plain ipu-container-hook ipu-container-start; do
    path=$(in_host find /usr/local/bin /usr/local/libexec -name "$name")
    in_host rm "$path"
    assert_sick programs "start $path: not found" "'make install'"
    host_install
    assert_well
  done
}

@test "the program of poststop is missing: a container starts, and its lease ends by gc" {
  local path=/usr/local/libexec/ipu-container-toolkit/ipu-container-poststop
  in_host rm "$path"
  start_one
  run ! --separate-stderr ipuctl doctor --output json
  assert_equal "$(jq -r '.[] | select(.result == "failed") | .finding' <<<"$output")" "start $path: not found"
  host_install
  wait_until 10 gc_leaves_nothing
  assert_well
}

@test "the ledger is gone, with a container that has IPUs, or with none" {
  start job -e IPU_COUNT=4
  in_host sh -c "rm $STATE_DIR/ledger.db*"
  assert_sick ledger "the ledger $STATE_DIR/ledger.db is gone, but 1 lease has files" "run 'ipuctl ledger rebuild'"
  mend
  assert_well
  assert_equal "$(ipuctl ps -o json | jq -r '.[].name')" job
  docker rm --force job
  wait_until 10 has_leases 0
  in_host sh -c "rm $STATE_DIR/ledger.db*"
  assert_sick ledger 'is damaged (it is gone)' "run 'ipuctl ledger rebuild'"
  run ! ipuctl ps
  in_host test ! -e "$STATE_DIR/ledger.db"
  mend
  assert_well
}

@test "the disk of the ledger is full" {
  in_host mount -t tmpfs -o size=4m,mode=0700 tmpfs "$STATE_DIR"
  assert_well
  in_host truncate -s 0 "$STATE_DIR/reserve"
  in_host sh -c "dd if=/dev/zero of=$STATE_DIR/filler bs=4k status=none 2>/dev/null || true"
  assert_sick disk "0 MiB are left for $STATE_DIR" "'df -h $STATE_DIR'"
  in_host df -h "$STATE_DIR"
  in_host rm "$STATE_DIR/filler"
  assert_well
}

@test "others than root can change the configuration" {
  in_host chmod 666 "$CONFIG"
  assert_sick configuration "'$CONFIG' can be changed by others than root (owner 0, mode 0666)" "chmod go-w $CONFIG"
  mend
  assert_well
}

@test "no engine has the runtime" {
  engine_without_runtime
  assert_sick engines 'no engine has the runtime' "run 'ipuctl runtime configure docker'"
  mend
  assert_well
}

@test "the engine was not told that it has the runtime" {
  engine_without_runtime
  in_host mkdir -p /etc/docker
  in_host sh -c "echo '{\"runtimes\": {\"ipu\": {\"path\": \"$BINDIR/ipu-container-runtime\"}}}' >/etc/docker/daemon.json"
  assert_sick 'engine docker' 'dockerd has not read /etc/docker/daemon.json' "run 'systemctl restart docker'"
  mend
  assert_well
  in_host rm /etc/docker/daemon.json
}

@test "the engine does not run" {
  engine_without_runtime
  ipuctl runtime configure docker >/dev/null
  docker_stop
  assert_sick 'engine docker' 'no dockerd is running with /etc/docker/daemon.json' "run 'systemctl start docker'"
  mend
  assert_well
}

# A container starts then, but its verbs do not work.
@test "the engine lets containers lock 64 KiB" {
  ENGINE=touched
  docker_stop
  # Without CAP_SYS_RESOURCE, the limit of dockerd and of its containerd is what containers get at most.
  host_spawn docker prlimit --memlock=65536:65536 setpriv --bounding-set -sys_resource dockerd \
    --data-root /var/lib/docker --exec-root /run/docker -H unix:///run/docker.sock --pidfile /run/docker.pid \
    --storage-driver overlay2 --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$HOST_CGROUP" "${DOCKER_RUNTIME[@]}"
  wait_until 30 docker_answers
  run -1 --separate-stderr ipuctl doctor --output json
  assert_equal "$(jq -r '.[] | select(.result == "failed") | "\(.check): \(.finding)"' <<<"$output")" \
    'engine docker: locked memory: dockerd lets containers lock 64 KiB, which is too little for RDMA'
  assert_contains "$(jq -r '.[] | select(.result == "failed").advice' <<<"$output")" "run 'systemctl edit docker', set LimitMEMLOCK=infinity"
  docker_stop
  docker_start
  assert_well
}

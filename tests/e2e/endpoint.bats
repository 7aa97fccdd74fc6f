#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The V-IPU endpoint of a container, asked by a program that asks as poprun does.

load support
load bundle

LIBRARIES=(-v /run/launcher:/bin/launcher:ro -v /lib:/lib:ro -v /lib64:/lib64:ro -v /usr/lib:/usr/lib:ro)

teardown() {
  remove_bundle
  in_host rm -rf "$BUNDLE-app" /run/users
  remove_containers
  remove_partitions
  remove_users
  if [ ${#SIM_OPTIONS[@]} -gt 0 ]; then
    # shellcheck disable=SC2034
    SIM_OPTIONS=()
    restart_sim
  fi
  assert_nothing_left
  assert_equal "$(in_host pgrep -x ipu-vipu-endpoi || true)" ''
}

# A container with an endpoint, in which the launcher can run.
serve() { # NAME [DOCKER-OPTION...]
  local name=$1
  shift
  start "$name" -e IPU_VIPU_ENDPOINT=1 "${LIBRARIES[@]}" "$@"
}

endpoint_pids() { in_host pgrep -x ipu-vipu-endpoi; } # the kernel cuts the name
has_endpoints() { [ "$(endpoint_pids | wc -l)" = "$1" ]; }

ask() { # NAME METHOD PARTITION
  inside "$1" launcher call 127.0.0.1:8090 "${@:2}"
}

@test "poprun's calls: a partition of two GCDs, one rank for each, and all IPUs are reached" {
  ipuctl partition create p0 --size 8 --gcds 2
  serve whole -e IPU_PARTITION=p0 -e IPU_GCD=all
  assert_equal "$(lease_of whole .vipu_endpoint)" 127.0.0.1:8090
  run -0 inside whole launcher run localhost:8090 p0 2
  assert_contains "$output" 'server version '
  assert_contains "$output" 'partition p0: 8 IPUs in 2 GCDs'
  assert_contains "$output" 'rank of GCD 0: GCD Id 0, 4 of 4 IPUs'
  assert_contains "$output" 'rank of GCD 1: GCD Id 1, 4 of 4 IPUs'
  # Without the variables of a rank, each GCD has its file.
  assert_equal "$(inside whole sh -c 'ls /etc/ipuof.conf.d | wc -l')" 2
}

@test "PopTorch's default: the files are also where somebody mounts on ~/.ipuof.conf.d, and nowhere else" {
  ipuctl partition create p0 --size 8 --gcds 2
  in_host mkdir -p /run/users/.ipuof.conf.d
  in_host touch /run/users/.ipuof.conf.d/others.conf
  start whole -e IPU_PARTITION=p0 -e IPU_GCD=all -e HOME=/root --tmpfs /root/.ipuof.conf.d \
    -v /run/users/.ipuof.conf.d:/users/a/.ipuof.conf.d
  for _ in first again; do
    # What PopTorch does: it takes the file of the process's GCD.
    assert_equal "$(inside whole sh -c 'grep -l "\"GCD Id\" *: *\"1\"" ~/.ipuof.conf.d/*.conf')" \
      /root/.ipuof.conf.d/p0_gcd1_ipuof.conf
    assert_equal "$(inside whole ls /users/a/.ipuof.conf.d)" "$(inside whole ls /etc/ipuof.conf.d)"
    run ! inside whole touch /root/.ipuof.conf.d/x
    docker restart -t 0 whole
  done
  assert_equal "$(in_host ls /run/users/.ipuof.conf.d)" others.conf
  docker rm --force whole
  start whole -e IPU_PARTITION=p0 -e IPU_GCD=0
  run ! inside whole test -e /root/.ipuof.conf.d
  assert_contains "$(inside whole cat /proc/1/environ | tr '\0' ' ')" 'IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf '
}

@test "a partition of its own: one GCD, and IPU_GCD=all changes nothing" {
  local partition
  serve own -e IPU_COUNT=4 -e IPU_GCD=all
  partition=$(lease_of own .partition)
  run -0 inside own launcher run 127.0.0.1:8090 "$partition" 1
  assert_contains "$output" 'rank of GCD 0: GCD Id 0, 4 of 4 IPUs'
}

@test "without IPU_VIPU_ENDPOINT nothing listens" {
  start plain -e IPU_COUNT=4
  assert_equal "$(endpoint_pids || true)" ''
  run inside plain nc -w 2 127.0.0.1 8090
  [ "$status" -ne 0 ]
}

@test "it runs as its own user, without capabilities, with few descriptors, and is small" {
  local pid
  in_host sh <packaging/make_user.sh
  serve own -e IPU_COUNT=4
  pid=$(endpoint_pids)
  assert_equal "$(in_host ps -o user:20= -p "$pid" | tr -d ' ')" ipu-vipu-endpoint
  # shellcheck disable=SC2016
  assert_equal "$(in_host awk '/^Cap(Inh|Prm|Eff|Bnd|Amb)/ { print $2 }' "/proc/$pid/status" | sort -u)" 0000000000000000
  # shellcheck disable=SC2016
  assert_equal "$(in_host awk '/^(NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$pid/status" | paste -sd ' ')" '1 2'
  # 0 the answers, 2 /dev/null, 3 the socket, 4 the container's first process; the rest is gRPC's own.
  [ "$(in_host sh -c "ls -l /proc/$pid/fd | grep -c -e socket:")" -le 2 ]
  # shellcheck disable=SC2016
  [ "$(in_host awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")" -lt 40000 ]
}

@test "it ends with the container, however that ends" {
  serve stopped -e IPU_COUNT=4
  has_endpoints 1
  docker rm --force stopped
  wait_until 10 has_endpoints 0
  serve killed -e IPU_COUNT=4
  in_host kill -KILL "$(docker inspect -f '{{.State.Pid}}' killed)"
  wait_until 10 has_endpoints 0
  wait_until 10 has_leases 0
}

endpoint_row() { ipuctl doctor -o json | jq -r '.[] | select(.check == "V-IPU endpoint") | .result + ": " + .finding'; }

kill_endpoint() {
  in_host kill -KILL "$(endpoint_pids)"
  wait_until 10 has_endpoints 0
}

@test "one that died is missed by doctor, and gc starts it again, as it was" {
  local partition before
  serve own -e IPU_COUNT=4
  partition=$(lease_of own .partition)
  before=$(ask own config "$partition")
  kill_endpoint
  run -1 ipuctl ledger check
  assert_contains "$output" 'its V-IPU endpoint is gone'
  assert_contains "$(endpoint_row)" 'warning: 1 of running containers ended'
  assert_contains "$(ipuctl gc --dry-run)" 'would start the V-IPU endpoint of lease'
  has_endpoints 0
  assert_contains "$(ipuctl gc)" 'started the V-IPU endpoint of lease'
  has_endpoints 1
  assert_equal "$(ask own config "$partition")" "$before"
  assert_contains "$(ipuctl explain own)" 'attempt 1 in a row to start it again: it answers'
  [[ $(endpoint_row) != *ended* ]]
  run -0 ipuctl ledger check
  assert_contains "$(ipuctl gc)" 'nothing to release'
  docker rm --force own
  wait_until 10 has_endpoints 0
  wait_until 10 has_leases 0
}

@test "one that dies again and again is started again by others' starts ever less often, and by gc always" {
  serve own -e IPU_COUNT=4
  kill_endpoint
  docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true
  wait_until 10 has_endpoints 1
  for _ in 1 2 3 4 5; do
    kill_endpoint
    ipuctl gc
    has_endpoints 1
  done
  kill_endpoint
  # Its pause is 64 s now, longer than two starts take on a busy host.
  docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true
  in_host ipu-container-hook reconcile
  has_endpoints 0
  ipuctl gc
  has_endpoints 1
  assert_contains "$(ipuctl explain own)" 'attempt 7 in a row'
}

@test "one that cannot come back leaves the container alone, and its owner learns why" {
  serve own -e IPU_COUNT=4
  kill_endpoint
  docker exec --detach own nc -ll -p 8090 -e true
  wait_until 5 inside own nc -w 1 127.0.0.1 8090
  run -1 ipuctl gc
  assert_contains "$output" 'port 8090 of 127.0.0.1 is in use'
  has_endpoints 0
  has_leases 1
  assert_contains "$(ipuctl explain own)" 'attempt 1 in a row to start it again: '
  inside own killall nc
  ipuctl gc
  has_endpoints 1
}

@test "killed while its lease ends and while it is started again, it leaves nothing" {
  local i gc
  for i in 1 2 3 4 5 6 7 8; do
    serve "own$i" -e IPU_COUNT=4
    kill_endpoint
    in_host timeout "$LIMIT" ipuctl gc >/dev/null 2>&1 3>&- &
    gc=$!
    in_host sleep "0.0$((i - 1))"
    docker rm --force "own$i" >/dev/null
    wait "$gc" || true
    wait_until 10 has_leases 0
    wait_until 10 has_endpoints 0
  done
  run -0 ipuctl ledger check
}

@test "a container that cannot have one is refused in one line" {
  ipuctl partition create p0 --size 8 --gcds 2
  assert_refused -e IPU_VIPU_ENDPOINT=1 -e IPU_PARTITION=p0 -e IPU_GCD=0 -- "IPU_VIPU_ENDPOINT='1' is not accepted" 'give IPU_GCD=all too'
  assert_refused -e IPU_VIPU_ENDPOINT=yes -e IPU_COUNT=4 -- 'give 0 or 1'
  start other -e IPU_COUNT=4 -e IPU_VIPU_ENDPOINT=1
  run -125 docker run --rm --runtime=ipu --network=container:other -e IPU_VIPU_ENDPOINT=1 -e IPU_COUNT=4 busybox true
  assert_contains "$output" 'port 8090 of 127.0.0.1 is in use'
  wait_until 10 has_leases 1
  has_endpoints 1
}

@test "a missing program fails the start, and leaves nothing" {
  local program=/usr/local/libexec/ipu-container-toolkit/ipu-vipu-endpoint
  in_host mv "$program" "$program.away"
  run -125 docker run --rm --runtime=ipu -e IPU_VIPU_ENDPOINT=1 -e IPU_COUNT=4 busybox true
  in_host mv "$program.away" "$program"
  assert_contains "$output" "start '$program': execute it: No such file or directory"
  wait_until 10 has_leases 0
}

@test "the administrator can forbid it" {
  in_host sed -i '$ a [policy]\nvipu_endpoint = false' /etc/ipu-container-toolkit/config.toml
  run -125 docker run --rm --runtime=ipu -e IPU_VIPU_ENDPOINT=1 -e IPU_COUNT=4 busybox true
  in_host sed -i '/^\[policy\]$/,$ d' /etc/ipu-container-toolkit/config.toml
  assert_contains "$output" 'policy.vipu_endpoint of this host is false'
}

# shellcheck disable=SC2016
of_endpoint() { in_host awk -v field="$1:" '$1 == field { print $2 }' "/proc/$(endpoint_pids)/status"; } # FIELD

@test "garbage, and more connections than it takes, cost it little, and it answers afterwards" {
  serve own -e IPU_COUNT=4
  # shellcheck disable=SC2016
  inside own sh -c 'for i in $(seq 20); do head -c 1000000 /dev/urandom | nc 127.0.0.1 8090 >/dev/null 2>&1 & done; wait'
  # shellcheck disable=SC2016
  inside own sh -c 'for i in $(seq 60); do sleep 300 | nc 127.0.0.1 8090 >/dev/null 2>&1 & done; sleep 1'
  [ "$(in_host sh -c "ls /proc/$(endpoint_pids)/fd | wc -l")" -lt 64 ]
  [ "$(of_endpoint VmRSS)" -lt 60000 ]
  [ "$(of_endpoint Threads)" -lt 40 ]
  inside own killall nc
  wait_until 20 ask own list x
}

# Starts a container with a partition that the controller moves when an agent is down.
serve_moving() {
  SIM_OPTIONS=(--control /run/simulator.sock --auto-reset-delay 100ms)
  restart_sim
  ipuctl partition create moving --size 4 --relocatable
  serve job -e IPU_PARTITION=moving
}

is_followed() { [[ $(ipuctl lease refresh 2>/dev/null) == *moving* ]]; }

@test "it knows where the controller has moved the partition" {
  local before after
  serve_moving
  before=$(first_endpoint job)
  assert_contains "$(ask job config moving)" "\"${before% *}\""
  in_host vipu-simulator control /run/simulator.sock agent-down ag1
  wait_until 30 is_followed
  after=$(first_endpoint job)
  [ "$after" != "$before" ]
  assert_contains "$(ask job config moving)" "\"${after% *}\""
  has_endpoints 1
  docker rm --force job
  wait_until 10 has_endpoints 0
}

has_moved() { # FROM
  [[ $(ipuctl partition show moving --output json | jq -c '[.state, .ipus]') == '["ACTIVE",'* ]] &&
    [ "$(ipuctl partition show moving --output json | jq -c .ipus)" != "$1" ]
}

# As an endpoint that is being started again with its old answers.
@test "a refresh waits for the port that another endpoint is about to give back" {
  local before address
  serve_moving
  before=$(ipuctl partition show moving --output json | jq -c .ipus)
  in_host vipu-simulator control /run/simulator.sock agent-down ag1
  wait_until 30 has_moved "$before"
  kill_endpoint
  docker exec --detach job nc -ll -p 8090 -e true
  wait_until 5 inside job nc -w 1 127.0.0.1 8090
  docker exec --detach job sh -c 'sleep 1; killall nc'
  ipuctl lease refresh
  address=$(first_endpoint job)
  assert_contains "$(ask job config moving)" "\"${address% *}\""
}

# A pod as containerd's CRI plugin makes it: see network.bats.
make_pod_bundle() { # TYPE FILTER
  make_bundle '.annotations = {"graphcore.ai/ipu.count": "4", "io.kubernetes.cri.container-type": "'"$1"'",
    "io.kubernetes.cri.sandbox-id": "pod"} | '"$2"
}

join_pod() { # FILTER
  local pid
  pid=$(in_host runc --root "$STATE" state pod | jq .pid)
  BUNDLE=$BUNDLE-app make_pod_bundle container '.linux.cgroupsPath += "/app" | '"$1"' |
    (.linux.namespaces[] | select(.type == "network")).path = "/proc/'"$pid"'/ns/net"'
}

@test "a pod has one, that of its sandbox" {
  local with='.annotations["graphcore.ai/ipu.vipu-endpoint"] = "1"'
  make_pod_bundle sandbox ".linux.cgroupsPath += \"/pod\" | $with"
  create pod
  runtime start pod
  has_endpoints 1
  join_pod "$with"
  BUNDLE=$BUNDLE-app create app
  assert_equal "$(endpoint_pids | wc -l) $(leases)" '1 2'
  in_host ipu-container-runtime --root "$STATE" delete --force app
  wait_until 10 has_leases 1
  has_endpoints 1
  in_host ipu-container-runtime --root "$STATE" delete --force pod
  wait_until 10 has_endpoints 0
}

@test "a container of a pod without one is refused" {
  make_pod_bundle sandbox '.linux.cgroupsPath += "/pod"'
  create pod
  runtime start pod
  join_pod '.annotations["graphcore.ai/ipu.vipu-endpoint"] = "1"'
  BUNDLE=$BUNDLE-app
  assert_create_refused 'the sandbox of its pod has none' 'graphcore.ai/ipu.vipu-endpoint'
  BUNDLE=${BUNDLE%-app}
  assert_equal "$(endpoint_pids || true)" ''
}

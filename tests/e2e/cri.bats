#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Pods of Kubernetes: what a kubelet does, by containerd's CRI plugin and its handler "ipu". A pod asks by its
# annotations; its sandbox then has the partition, which its containers share.
# shellcheck disable=SC2030,SC2031,SC2034 # each test is a subshell of its own, and ./cri.bash uses ENVS

load support
load cri

setup_file() {
  cri_up
}

teardown_file() {
  cri_down
}

setup() {
  ANNOTATIONS=()
  ENVS=()
}

teardown() {
  remove_pods
  host_config
  assert_nothing_left
}

# A pod with 4 IPUs and two containers that run: POD, CONFIG, FIRST and SECOND.
start_pod() {
  CONFIG=$(pod_config train graphcore.ai/ipu.count=4)
  POD=$(run_pod "$CONFIG")
  FIRST=$(run_container "$POD" "$CONFIG" first)
  SECOND=$(run_container "$POD" "$CONFIG" second)
}

# The IPUs, as the container's ipuof.conf has them, answer it for its partition.
assert_has_ipus() { # CONTAINER
  local endpoint partition
  partition=$(pod_lease_of "$1" .partition)
  endpoint=$(cri_exec "$1" cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.devices[0] | "\(.ip) \(.server_port)"')
  # shellcheck disable=SC2086
  assert_contains "$(cri_exec "$1" nc -w 2 $endpoint)" "$partition"
}

# One line of the CRI's error is ours, and has each TEXT in it.
assert_told() { # TEXT...
  local text
  # shellcheck disable=SC2154
  assert_equal "${#lines[@]}" 1
  assert_equal "$(grep -o 'ipu: ' <<<"$output" | wc -l)" 1
  for text in "$@"; do
    assert_contains "$output" "$text"
  done
}

# A pod's configuration with another namespace.
in_namespace() { # KIND MODE < CONFIG
  jq -c --arg kind "$1" --arg mode "$2" '.linux.security_context.namespace_options[$kind] = $mode'
}

pod_is_not_ready() { [ "$(pod_state "$1")" = SANDBOX_NOTREADY ]; }
has_ended() { [ "$(container_state "$1")" = CONTAINER_EXITED ]; }

@test "the containers of a pod share its partition and its interface" {
  start_pod
  assert_equal "$(pod_lease_of "$FIRST" .ipus)" 4
  local key
  for key in .partition '.rails[0].interface' '.rails[0].address' '.rails[0].mac'; do
    assert_equal "$(pod_lease_of "$FIRST" "$key")" "$(pod_lease_of "$SECOND" "$key")"
  done
  assert_equal "$(ipuctl partition list -o json | jq length)" 1
  assert_has_ipus "$FIRST"
  assert_has_ipus "$SECOND"
}

@test "roce0 is in the network of the sandbox, beside what CNI made" {
  start_pod
  local links
  links=$(in_host nsenter --target "$(pod_pid "$POD")" --net ip -o -4 address show)
  assert_contains "$links" "roce0    inet $(pod_lease_of "$FIRST" '.rails[0].address')/32"
  assert_contains "$links" 'eth0    inet 10.88.0.'
}

@test "ipuctl ps shows the sandbox and its containers, each by its id" {
  start_pod
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.container) \(.state)"' | sort)" \
    "$(printf '%s RUNNING\n' "$POD" "$FIRST" "$SECOND" | sort)"
  assert_equal "$(ipuctl ps -o json | jq -r '.[].partition' | sort -u)" "$(pod_lease_of "$FIRST" .partition)"
}

@test "a container that ends is made again, and has the pod's IPUs" {
  start_pod
  local again partition
  partition=$(pod_lease_of "$FIRST" .partition)
  stop_container "$FIRST"
  assert_has_ipus "$SECOND"
  wait_until 10 has_leases 2
  remove_container "$FIRST"
  again=$(ATTEMPT=1 run_container "$POD" "$CONFIG" first)
  assert_equal "$(pod_lease_of "$again" .partition)" "$partition"
  assert_has_ipus "$again"
}

@test "all containers of a pod may end: the partition waits for the next one" {
  start_pod
  local again partition
  partition=$(pod_lease_of "$FIRST" .partition)
  stop_container "$FIRST"
  stop_container "$SECOND"
  wait_until 10 has_leases 1
  again=$(ATTEMPT=1 run_container "$POD" "$CONFIG" first)
  assert_equal "$(pod_lease_of "$again" .partition)" "$partition"
  assert_has_ipus "$again"
}

@test "the sandbox is first to die: its containers keep the IPUs until the last one ends" {
  start_pod
  local partition
  partition=$(pod_lease_of "$FIRST" .partition)
  in_host kill -KILL "$(pod_pid "$POD")"
  wait_until 10 pod_is_not_ready "$POD"
  wait_until 10 has_leases 2
  ipuctl gc >/dev/null
  assert_has_ipus "$FIRST"
  stop_container "$FIRST"
  wait_until 10 has_leases 1
  assert_equal "$(pod_lease_of "$SECOND" .partition)" "$partition"
  assert_has_ipus "$SECOND"
  stop_container "$SECOND"
  assert_nothing_left
}

@test "the sandbox dies, and takes with it those that share its processes" {
  CONFIG=$(pod_config train graphcore.ai/ipu.count=4 | in_namespace pid POD)
  POD=$(run_pod "$CONFIG")
  FIRST=$(run_container "$POD" "$CONFIG" first)
  assert_has_ipus "$FIRST"
  in_host kill -KILL "$(pod_pid "$POD")"
  wait_until 10 has_ended "$FIRST"
  assert_nothing_left
}

@test "a pod that is stopped and made again gets new IPUs" {
  start_pod
  stop_pod "$POD"
  assert_nothing_left
  remove_pod "$POD"
  CONFIG=$(ATTEMPT=1 pod_config train graphcore.ai/ipu.count=4)
  POD=$(run_pod "$CONFIG")
  assert_has_ipus "$(run_container "$POD" "$CONFIG" first)"
}

@test "containerd is killed and comes back: pods keep their IPUs and can be stopped" {
  start_pod
  host_signal containerd KILL
  containerd_start
  ipuctl gc >/dev/null
  assert_equal "$(pod_state "$POD")" SANDBOX_READY
  assert_has_ipus "$FIRST"
  stop_pod "$POD"
  assert_nothing_left
}

@test "the pod's shim is killed, with all that it looked after" {
  start_pod
  local shim inits
  shim=$(in_host ps -o ppid= -p "$(pod_pid "$POD")" | tr -d ' ')
  mapfile -t inits < <(ipuctl ps -o json | jq '.[].pid')
  assert_equal "${#inits[@]}" 3
  # containerd may be quicker with those that are left.
  in_host kill -KILL "$shim" "${inits[@]}" || true
  wait_until 10 pod_is_not_ready "$POD"
  wait_until 10 gc_leaves_nothing
}

@test "a pod that does not ask is left alone" {
  local config pod container
  config=$(pod_config plain example.com/team=red)
  pod=$(run_pod "$config")
  container=$(run_container "$pod" "$config" main)
  cri_exec "$container" test ! -e /run/ipu -a ! -e /etc/ipuof.conf.d -a ! -e /sys/class/net/roce0
  assert_nothing_left
}

@test "the same annotation under another handler asks for nothing" {
  local config pod
  config=$(pod_config plain graphcore.ai/ipu.count=4)
  pod=$(HANDLER=runc run_pod "$config")
  run_container "$pod" "$config" main
  assert_nothing_left
}

@test "a container that asks by its environment in a pod that does not" {
  local config pod asks plain
  config=$(pod_config mixed)
  pod=$(run_pod "$config")
  plain=$(run_container "$pod" "$config" plain)
  assert_nothing_left
  ENVS=(IPU_COUNT=2)
  asks=$(run_container "$pod" "$config" asks)
  assert_equal "$(pod_lease_of "$asks" .ipus)" 2
  assert_has_ipus "$asks"
  cri_exec "$plain" test ! -e /run/ipu/lease.json
  stop_container "$asks"
  assert_nothing_left
}

@test "two containers that ask, by annotation and by environment, have one interface and IPUs of their own" {
  local config pod one other
  config=$(pod_config mixed)
  pod=$(run_pod "$config")
  ANNOTATIONS=(graphcore.ai/ipu.count=2)
  one=$(run_container "$pod" "$config" one)
  ANNOTATIONS=()
  ENVS=(IPU_COUNT=4)
  other=$(run_container "$pod" "$config" other)
  [ "$(pod_lease_of "$one" .partition)" != "$(pod_lease_of "$other" .partition)" ]
  assert_equal "$(pod_lease_of "$one" '.rails[0].address')" "$(pod_lease_of "$other" '.rails[0].address')"
  stop_container "$one"
  wait_until 10 has_leases 1
  assert_has_ipus "$other"
}

@test "a pod that asks for 3 IPUs: the kubelet is told in one line why not" {
  run -1 run_pod "$(pod_config wrong graphcore.ai/ipu.count=3)"
  assert_told "ipu: graphcore.ai/ipu.count='3' is not accepted: give a power of two from 1 to 64"
  assert_nothing_left
}

@test "a pod that waits for longer than the kubelet does is refused" {
  run -1 run_pod "$(pod_config wrong graphcore.ai/ipu.count=4 graphcore.ai/ipu.wait=2m)"
  assert_told "graphcore.ai/ipu.wait='2m' is not accepted: policy.max_wait_cri of this host allows at most 90s"
  assert_nothing_left
}

@test "a container that asks for 3 IPUs: the kubelet is told, and the pod goes on" {
  local config pod wrong
  config=$(pod_config mixed)
  pod=$(run_pod "$config")
  ENVS=(IPU_COUNT=3)
  wrong=$(create_container "$pod" "$config" wrong)
  run -1 start_container "$wrong"
  assert_told "ipu: IPU_COUNT='3' is not accepted: give a power of two from 1 to 64"
  ENVS=(IPU_COUNT=4)
  assert_has_ipus "$(run_container "$pod" "$config" right)"
}

@test "a container that asks for another number than its pod is refused" {
  start_pod
  local wrong
  ANNOTATIONS=(graphcore.ai/ipu.count=8)
  wrong=$(create_container "$POD" "$CONFIG" wrong)
  run -1 start_container "$wrong"
  assert_told 'asks for 8 IPUs, but shares the 4 IPUs of its pod'
  assert_has_ipus "$FIRST"
}

@test "a pod in the host's network is refused" {
  CONFIG=$(pod_config host graphcore.ai/ipu.count=4 | in_namespace network NODE)
  run -1 run_pod "$CONFIG"
  assert_told "may not use the host's network"
}

@test "a kubelet that gives up while a pod waits: nothing of it stays, and it may try again" {
  local all config
  all=$(run_pod "$(pod_config all graphcore.ai/ipu.count=64)")
  config=$(pod_config waits graphcore.ai/ipu.count=4 graphcore.ai/ipu.wait=50s)
  LIMIT=2 run -124 run_pod "$config"
  # containerd kills the runtime, which then cannot clean up: that is for the next start, and for gc.
  wait_until 10 gc_leaves_one
  assert_equal "$(ipuctl queue -o json | jq length)" 0
  stop_pod "$all"
  POD=$(run_pod "$(jq -c '.metadata.attempt = 1' <<<"$config")")
  assert_has_ipus "$(run_container "$POD" "$config" first)"
}

gc_leaves_one() { ipuctl gc >/dev/null && has_leases 1; }

# An image of the engine whose ENV has VARIABLE...; sets IMAGE to its name, by digest.
image_with() { # NAME VARIABLE...
  local name=docker.io/library/$1 digest
  # shellcheck disable=SC2016
  in_host sh -c 'printf "FROM busybox\nENV %s\n" "$2" | docker build -q -t "$1" - >/dev/null' sh "$1" "${*:2}"
  docker save "$1" | host_run ctr --namespace k8s.io images import - >/dev/null
  docker rmi --force "$1" >/dev/null
  digest=$(in_host ctr --namespace k8s.io images ls "name==$name:latest" | awk 'NR == 2 { print $3 }')
  in_host ctr --namespace k8s.io images tag "$name:latest" "$name@$digest" >/dev/null
  in_host ctr --namespace k8s.io images rm "$name:latest" >/dev/null
  IMAGE=$1@$digest
  wait_until 10 has_image "$IMAGE"
}

@test "an image named by its digest cannot name a partition; its pod can" {
  local config pod named IMAGE
  ipuctl partition create p0 --size 4 >/dev/null
  image_with names IPU_PARTITION=p0
  config=$(pod_config image)
  pod=$(run_pod "$config")
  named=$(create_container "$pod" "$config" named)
  run -1 start_container "$named"
  assert_told "IPU_PARTITION='p0' is not honoured, because the image sets it to this value" graphcore.ai/ipu.partition
  ANNOTATIONS=(graphcore.ai/ipu.partition=p0)
  assert_equal "$(pod_lease_of "$(run_container "$pod" "$config" annotated)" .partition)" p0
  remove_pods
  wait_until 10 has_leases 0
  remove_partitions
}

@test "a variable of the container overrides that of its image" {
  local config pod IMAGE
  image_with counts IPU_COUNT=2
  config=$(pod_config image)
  pod=$(run_pod "$config")
  ENVS=(IPU_COUNT=4)
  assert_equal "$(pod_lease_of "$(run_container "$pod" "$config" four)" .ipus)" 4
}

@test "a pod counts for the tenant of its namespace, and is refused by that one's share" {
  local config
  with_tenant tests 4
  start_pod
  assert_equal "$(ipuctl tenant show tests -o json | jq -c '[.held, .limit]')" '[4,4]'
  config=$(pod_config second graphcore.ai/ipu.count=4)
  run -1 run_pod "$config"
  assert_contains "$output" "tenant 'tests' has 4 of at most 4 IPUs"
  assert_contains "$output" 'it fits when the tenant gives back 4'
  run -1 run_pod "$(jq -c '.metadata.namespace = "other"' <<<"$config")"
  assert_contains "$output" "there is no tenant 'other'"
}

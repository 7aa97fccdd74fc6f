# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests of pods: containerd with its CRI plugin on the throw-away host, and words for what a kubelet
# does there. The handler "ipu" is added to its configuration by `ipuctl runtime configure`.

CONTAINERD=/run/containerd/containerd.sock

# Calls a method of the CRI; prints its reply, or what the engine said on standard error.
cri() { # METHOD [REQUEST]
  host_run timeout "$LIMIT" /run/cri-client "$CONTAINERD" "$@"
}

containerd_answers() { cri Version >/dev/null 2>&1; }

# What an administrator would write by hand, all but the handler "ipu".
containerd_config() {
  local cri='plugins."io.containerd.grpc.v1.cri"'
  cat <<END
version = 2
[$cri]
  sandbox_image = "docker.io/library/pause:latest"
  # Root may have no CAP_SYS_RESOURCE here.
  restrict_oom_score_adj = true
  [$cri.containerd]
    # An overlay cannot be the upper layer of another one.
    snapshotter = "native"
    [$cri.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [$cri.cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
END
}

# The pods' network: eth0 on a bridge of its own, no way out.
cni_config() {
  cat <<'END'
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
  "ipam": {"type": "host-local", "subnet": "10.88.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
}

containerd_start() {
  host_spawn containerd containerd --config /etc/containerd/config.toml
  wait_until 30 containerd_answers && return
  echo 'containerd_start: containerd does not answer' >&2
  host_run tail -n 20 /run/service/containerd.log >&2
  return 1
}

containerd_stop() { host_stop containerd; }

# containerd, with the images "busybox" and "pause", which is what a sandbox runs.
cri_up() {
  (cd "$BATS_TEST_DIRNAME/../.." && host_run tee /run/cri-client <"$O/bin/cri-client" >/dev/null)
  host_run chmod 0755 /run/cri-client
  host_run mkdir -p /etc/containerd /etc/cni/net.d
  containerd_config | host_run tee /etc/containerd/config.toml >/dev/null
  cni_config | host_run tee /etc/cni/net.d/10-pods.conflist >/dev/null
  ipuctl runtime configure containerd >/dev/null
  containerd_start
  host_run tar -C /run/busybox -c bin lib lib64 tmp |
    docker import -c 'ENTRYPOINT ["/bin/sleep", "3600"]' - pause >/dev/null
  docker save busybox pause | host_run ctr --namespace k8s.io images import - >/dev/null
  # Its plugin hears of new images a moment later.
  wait_until 10 has_image busybox
  wait_until 10 has_image pause
}

cri_down() {
  containerd_stop
  # The shim of a pod whose containerd was killed may wait for ever for another one.
  host_run pkill -KILL -f '^/usr/bin/containerd-shim-runc-v2 -namespace k8s.io' || true
  host_run rm -rf /etc/containerd /etc/cni/net.d
  # They may not have come about.
  host_run ip link delete cni0 2>/dev/null || true
  docker image rm pause >/dev/null 2>&1 || true
}

# The whole name of what docker calls NAME.
docker_image() { # NAME
  [[ $1 == */* ]] && echo "docker.io/$1" || echo "docker.io/library/$1"
}

has_image() { # NAME[@DIGEST]
  local name=$1
  [[ $name == *@* ]] || name+=:latest
  cri ImageStatus "{\"image\": {\"image\": \"$(docker_image "$name")\"}}" | jq -e .image >/dev/null
}

# KEY=VALUE... as an object.
as_object() {
  [ $# -gt 0 ] || { echo '{}'; return; }
  jq -cn '[$ARGS.positional[] | index("=") as $i | {key: .[:$i], value: .[$i + 1:]}] | from_entries' --args -- "$@"
}

# The configuration of a pod, which its containers are made with too. ATTEMPT tells pods of one name apart.
pod_config() { # NAME ANNOTATION=VALUE...
  jq -cn --arg name "$1" --arg cgroup "/$HOST_CGROUP" --argjson annotations "$(as_object "${@:2}")" \
    --argjson attempt "${ATTEMPT:-0}" '{
      metadata: {name: $name, uid: $name, namespace: "tests", attempt: $attempt}, hostname: $name,
      annotations: $annotations,
      linux: {cgroup_parent: $cgroup, security_context: {namespace_options: {pid: "CONTAINER"}}}}'
}

# Runs a pod of the handler "ipu", and prints its id.
run_pod() { # CONFIG
  local reply
  reply=$(cri RunPodSandbox "{\"config\": $1, \"runtime_handler\": \"${HANDLER:-ipu}\"}") || return
  jq -er .pod_sandbox_id <<<"$reply"
}

# Makes a container that sleeps, or runs COMMAND, a JSON array, with ENVS and ANNOTATIONS, and prints its id. ATTEMPT tells
# containers of one name apart.
create_container() { # POD CONFIG NAME
  local request reply
  request=$(jq -cn --arg pod "$1" --argjson sandbox "$2" --arg name "$3" \
    --arg image "$(docker_image "${IMAGE:-busybox:latest}")" --argjson attempt "${ATTEMPT:-0}" \
    --argjson annotations "$(as_object "${ANNOTATIONS[@]}")" \
    --argjson envs "$(as_object "${ENVS[@]}")" \
    --argjson command "${COMMAND:-[\"/bin/sleep\", \"3600\"]}" '{
      pod_sandbox_id: $pod, sandbox_config: $sandbox, config: {
        metadata: {name: $name, attempt: $attempt}, image: {image: $image},
        command: $command, envs: ($envs | to_entries), annotations: $annotations,
        linux: {security_context: {namespace_options: $sandbox.linux.security_context.namespace_options}}}}')
  reply=$(cri CreateContainer "$request") || return
  jq -er .container_id <<<"$reply"
}

of_container() { printf '{"container_id": "%s"}' "$1"; }
of_pod() { printf '{"pod_sandbox_id": "%s"}' "$1"; }

start_container() { cri StartContainer "$(of_container "$1")" >/dev/null; }
stop_container() { cri StopContainer "$(of_container "$1")" >/dev/null; }
remove_container() { cri RemoveContainer "$(of_container "$1")" >/dev/null; }
stop_pod() { cri StopPodSandbox "$(of_pod "$1")" >/dev/null; }
remove_pod() { cri RemovePodSandbox "$(of_pod "$1")" >/dev/null; }

# Makes a container and starts it; prints its id.
run_container() { # POD CONFIG NAME
  local id
  id=$(create_container "$@")
  start_container "$id"
  echo "$id"
}

container_state() {
  cri ContainerStatus "$(of_container "$1")" | jq -er .status.state
}

pod_state() {
  cri PodSandboxStatus "$(of_pod "$1")" | jq -er .status.state
}

# The first process of the pod's sandbox, as the host sees it.
pod_pid() {
  cri PodSandboxStatus "$(jq -cn --arg id "$1" '{pod_sandbox_id: $id, verbose: true}')" |
    jq -er '.info.info | fromjson.pid'
}

# Runs a command in a container, prints what it prints, and ends as it does.
cri_exec() { # CONTAINER COMMAND...
  local request reply code out err
  request=$(jq -cn --arg id "$1" '{container_id: $id, cmd: $ARGS.positional, timeout: 10}' --args -- "${@:2}")
  reply=$(cri ExecSync "$request") || return
  IFS='|' read -r code out err < <(jq -r '[.exit_code, .stdout, .stderr] | join("|")' <<<"$reply")
  base64 --decode <<<"$out"
  base64 --decode <<<"$err" >&2
  return "$code"
}

# The part of a container's lease.json that the jq FILTER selects.
pod_lease_of() { # CONTAINER FILTER
  local lease
  lease=$(cri_exec "$1" cat /run/ipu/lease.json) || return
  jq -er "$2" <<<"$lease"
}

remove_pods() {
  local pod
  for pod in $(cri ListPodSandbox | jq -r '.items[].id'); do
    stop_pod "$pod"
    remove_pod "$pod"
  done
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The same verbs for every engine: docker; ctr, on docker's containerd; podman, which knows the runtime by its
# name; podman-path, by its path; runc and crun, which are called with a bundle. With PLAIN=yes the engine
# uses runc (or crun) itself, with PLAIN=spy the spy before the product. Wants support, bundle and conformance.

PODMAN=/run/podman

# podman's configuration: its network would need a program more.
engines_up() {
  in_host mkdir -p "$PODMAN"
  in_host tee "$PODMAN/containers.conf" >/dev/null <<END
[containers]
netns = "none"
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime_supports_json = ["crun", "runc", "ipu"]
[engine.runtimes]
ipu = ["$RUNTIME"]
END
}

podman_by() { # RUNTIME ARGUMENT...
  in_host env CONTAINERS_CONF="$PODMAN/containers.conf" timeout "$LIMIT" podman --root "$PODMAN/storage" \
    --runroot "$PODMAN/run" --tmpdir "$PODMAN/tmp" --storage-driver vfs --runtime "$@"
}

ctr() {
  in_host timeout "$LIMIT" ctr --address /run/docker/containerd/containerd.sock "$@"
}

runtime_of() { # ENGINE
  case $1:${PLAIN:-} in
    docker: | podman:) echo ipu ;;
    docker:yes | podman:yes) echo runc ;;
    podman-path:yes | ctr:yes | runc:yes) echo /usr/sbin/runc ;;
    *:spy) echo "$SPY/before/spy" ;;
    crun:yes) echo /usr/bin/crun ;;
    *) echo "$RUNTIME" ;;
  esac
}

# Runs COMMAND in a container to its end. Words before "--" are variables, and NET=host or NET=NAME for the
# network of the host, or of another container of this engine.
engine_run() { # ENGINE NAME [VARIABLE...] -- COMMAND...
  engine_do run "$@"
}

# The same, and it stays until engine_end.
engine_start() { # ENGINE NAME [VARIABLE...] -- COMMAND...
  engine_do start "$@"
}

engine_do() { # run|start ENGINE NAME [VARIABLE...] -- COMMAND...
  local how=$1 engine=$2 name=$3 variables=() net='' options=()
  shift 3
  while [ "$1" != -- ]; do
    if [[ $1 == NET=* ]]; then net=${1#NET=}; else variables+=("$1"); fi
    shift
  done
  shift
  case $engine in
    docker | podman*)
      options=(--name "$name" "${variables[@]/#/--env=}")
      [ -z "$net" ] || options+=("--net=$(net_option "$net")")
      if [ "$how" = run ]; then options+=(--rm); else options+=(--detach); fi
      ;;
    ctr)
      options=(--rootfs --runc-binary "$(runtime_of ctr)" --cgroup "/$HOST_CGROUP/$name" --env PATH=/bin "${variables[@]/#/--env=}")
      [ "$net" != host ] || options+=(--net-host)
      if [ "$how" = run ]; then options+=(--rm); else options+=(--detach --null-io); fi
      ;;
  esac
  case $engine in
    docker) docker run "--runtime=$(runtime_of docker)" "${options[@]}" busybox "$@" ;;
    podman*) podman_by "$(runtime_of "$engine")" run "--cgroup-parent=/$HOST_CGROUP" "${options[@]}" --rootfs /run/busybox "$@" ;;
    ctr) ctr run "${options[@]}" /run/busybox "$name" "$@" ;;
    *) bundle_do "$how" "$engine" "$name" "$net" "${variables[@]}" -- "$@" ;;
  esac
}

net_option() { # NET
  if [ "$1" = host ]; then echo host; else echo "container:$1"; fi
}

bundle_do() { # run|start LOW-LEVEL NAME NET VARIABLE... -- COMMAND...
  local how=$1 engine=$2 name=$3 net=$4 BUNDLE=/run/bundles/$3 PROGRAM variables=()
  PROGRAM=$(runtime_of "$engine")
  shift 4
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  bundle_for "$engine" ".process.env = $(json_list PATH=/bin "${variables[@]}") | .process.args = $(json_list "$@")"
  if [ "$net" = host ]; then
    change_bundle '.linux.namespaces |= map(select(.type != "network"))'
  elif [ -n "$net" ]; then
    change_bundle ".linux.namespaces |= map(if .type == \"network\" then .path = \"/proc/$(engine_pid "$engine" "$net")/ns/net\" else . end)"
  fi
  if [ "$how" = run ]; then
    call "$engine" run --bundle "$BUNDLE" "$name"
  else
    call "$engine" create --bundle "$BUNDLE" "$name" && call "$engine" start "$name"
  fi
}

json_list() { # WORD...
  printf '%s\037' "$@" | jq -cRs 'split("\u001f")[:-1]'
}

engine_pid() { # ENGINE NAME
  case $1 in
    docker) docker inspect -f '{{.State.Pid}}' "$2" ;;
    podman*) podman_by "$(runtime_of "$1")" inspect -f '{{.State.Pid}}' "$2" ;;
    ctr) ctr task ls | awk -v name="$2" '$1 == name { print $2 }' ;;
    *) call "$1" state "$2" | jq .pid ;;
  esac
}

engine_exec() { # ENGINE NAME COMMAND...
  local engine=$1
  shift
  case $engine in
    docker) docker exec "$@" ;;
    podman*) podman_by "$(runtime_of "$engine")" exec "$@" ;;
    ctr) ctr task exec --exec-id "exec-$RANDOM" "$@" ;;
    *) PROGRAM=$(runtime_of "$engine") call "$engine" exec "$@" ;;
  esac
}

engine_pause() { # ENGINE NAME: and resume
  case $1 in
    docker) docker pause "$2" && docker unpause "$2" ;;
    podman*) podman_by "$(runtime_of "$1")" pause "$2" && podman_by "$(runtime_of "$1")" unpause "$2" ;;
    ctr) ctr task pause "$2" && ctr task resume "$2" ;;
    *) call "$1" pause "$2" && call "$1" resume "$2" ;;
  esac
}

# Whoever wants the container to be gone asks twice.
engine_end() { # ENGINE NAME
  local PROGRAM
  PROGRAM=$(runtime_of "$1")
  case $1 in
    docker) docker rm --force "$2" ;;
    podman*)
      podman_by "$PROGRAM" rm --force --time 0 "$2"
      podman_by "$PROGRAM" rm --force --ignore "$2"
      ;;
    ctr)
      ctr task kill --signal KILL "$2" || true
      wait_until 10 has_stopped "$2"
      ctr task rm "$2" 2>/dev/null || true
      ctr container rm "$2"
      ;;
    *)
      call "$1" delete --force "$2"
      call "$1" delete --force "$2"
      ;;
  esac
}

has_stopped() { ! ctr task ls | grep -q "^$1 .*RUNNING"; } # NAME

# For a teardown: what is left of containers in any engine.
engines_clean() {
  local name
  remove_containers
  podman_by ipu rm --all --force --time 0 >/dev/null 2>&1 || true
  for name in $(ctr container ls --quiet 2>/dev/null); do
    engine_end ctr "$name" >/dev/null 2>&1 || true
  done
  remove_all
  in_host rm -rf /run/bundles
}

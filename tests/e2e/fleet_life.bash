# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Hosts of a fleet with their agents, and containers that work. For sourcing after support, bundle and fleet_hosts.

# ---- agents

agent_on() { # HOST
  local as=()
  [ "$1" = a ] || as=("${AS_HOST_B[@]}")
  host_spawn "agent-$1" "${as[@]}" ipu-agent
}

state_on() { # HOST TAG
  on "$1" ipuctl fleet status -o json 2>/dev/null | jq -r --arg tag "$2" '.hosts[] | select(.host == $tag).state'
}
sees() { [ "$(state_on "$1" "$2")" = "$3" ]; } # HOST TAG STATE

# Both hosts say by themselves that they are alive.
agents_up() {
  agent_on a
  agent_on b
  wait_until 30 sees a "$(tag_of a)" LIVE || fail "$(in_host cat /run/service/agent-a.log)"
  wait_until 30 sees a "$(tag_of b)" LIVE || fail "$(in_host cat /run/service/agent-b.log)"
}

# With the users that they need.
make_agent_users() { in_host sh -e -c 'groupadd --system ipu; useradd --system ipu-agent'; }

# Ends the agents, and the containers of both hosts.
all_down() {
  host_stop agent-a
  host_stop agent-b
  remove_containers_of_both
  in_host sh -c 'rm -rf /run/bundle-[ab]-* /run/create-*.out'
}

# ---- containers

# Starts a container on a host, from a bundle of its own.
take() { # HOST CONTAINER VARIABLE...
  local host=$1 id=$2 variables
  variables=$(jq --null-input --compact-output '$ARGS.positional' --args "${@:3}")
  BUNDLE=/run/bundle-$host-$id make_bundle ".process.env += $variables | .linux.cgroupsPath += \"-$host-$id\""
  # shellcheck disable=SC2016
  on "$host" sh -c '
    ipu-container-runtime --root "$1" create --bundle "$2" "$3" >/run/create-$3.out 2>&1 </dev/null &&
      exec ipu-container-runtime --root "$1" start "$3"
    cat /run/create-$3.out >&2
    exit 1' sh "/run/oci-$host" "/run/bundle-$host-$id" "$id"
}
has() { [ "$(on "$1" ipuctl ps -o json | jq --arg id "$2" 'map(select(.container == $id and .state == "RUNNING")) | length')" = 1 ]; }
in_container() { on "$1" runc --root "/run/oci-$1" exec "${@:2}"; } # HOST CONTAINER COMMAND...

# A container runs, has its interface, and its first IPU answers from the container's own partition.
works() { # HOST CONTAINER
  local endpoint partition
  assert_equal "$(on "$1" runc --root "/run/oci-$1" state "$2" | jq -r .status)" running
  assert_contains "$(in_container "$1" "$2" ip -o link show roce0)" UP
  endpoint=$(in_container "$1" "$2" cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.devices[0] | "\(.ip) \(.server_port)"')
  partition=$(in_container "$1" "$2" cat /run/ipu/lease.json | jq -r .partition)
  # shellcheck disable=SC2086
  assert_contains "$(in_container "$1" "$2" nc -w 5 $endpoint </dev/null)" "$partition"
}

# Its process ends by itself, and the engine deletes it.
ends() { # HOST CONTAINER
  on "$1" runc --root "/run/oci-$1" kill "$2" KILL
  wait_until 10 has_stopped "$1" "$2"
  on "$1" ipu-container-runtime --root "/run/oci-$1" delete "$2"
}
has_stopped() { [ "$(on "$1" runc --root "/run/oci-$1" state "$2" | jq -r .status)" = stopped ]; }

refused_in_one_line() { # HOST CONTAINER VARIABLE...
  run -1 take "$@"
  # shellcheck disable=SC2154 # run sets lines
  assert_equal "${#lines[@]}" 1
}

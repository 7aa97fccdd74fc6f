# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests of this folder: words for the host that setup_suite made, and what must hold after each.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/support/host.sh
source "$BATS_TEST_DIRNAME/../support/host.sh"

# Nothing that is called here takes so long, unless it hangs.
LIMIT=60

in_host() { host_run "$@"; }
docker() { host_run timeout "$LIMIT" docker "$@"; }
ipuctl() { host_run timeout "$LIMIT" ipuctl "$@"; }

# Starts a container NAME that stays until it is removed.
start() { # NAME [DOCKER-OPTION...]
  local name=$1
  shift
  docker run --detach --runtime=ipu --name "$name" -v /run/dial:/bin/dial:ro "$@" busybox sleep 3600 >/dev/null
}

# Runs a command in a running container.
inside() { # NAME COMMAND...
  docker exec "$@"
}

# "ADDRESS PORT" of each IPU of a running container, as its ipuof.conf has them.
endpoints() { # NAME
  inside "$1" cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.devices[] | "\(.ip) \(.server_port)"'
}

# The part of a running container's lease.json that the jq FILTER selects.
lease_of() { # NAME FILTER
  inside "$1" cat /run/ipu/lease.json | jq -er "$2"
}

fail() {
  printf '%s\n' "$@" >&2
  return 1
}

assert_equal() { # ACTUAL EXPECTED
  [ "$1" = "$2" ] || fail "got:      $1" "expected: $2"
}

assert_contains() { # TEXT PART
  [[ $1 == *"$2"* ]] || fail "text: $1" "does not contain: $2"
}

# What of the product is still there, one line each.
leftovers() {
  ipuctl ps --output json | jq -r '.[] | "lease \(.)"'
  ipuctl partition list --output json | jq -r '.[] | "partition \(.)"'
  # shellcheck disable=SC2016
  in_host sh -c '
    ip -o link show type macvlan
    for namespace in $(awk "\$3 == \"nsfs\" { print \$2 }" /proc/self/mounts); do
      nsenter --net="$namespace" ip -o link show type macvlan
    done
    [ ! -d /run/ipu-container-toolkit/leases ] || find /run/ipu-container-toolkit/leases -mindepth 1'
}

nothing_is_left() {
  local left
  left=$(set -e -o pipefail; leftovers 2>&1) && [ -z "$left" ]
}

# docker reports the end of a container before its last hook has run.
assert_nothing_left() {
  wait_until 10 nothing_is_left || fail 'still there:' "$(leftovers 2>&1)"
}

remove_containers() {
  local containers
  mapfile -t containers < <(docker ps --all --quiet)
  [ ${#containers[@]} -eq 0 ] || docker rm --force "${containers[@]}" >/dev/null 2>&1 || true
}

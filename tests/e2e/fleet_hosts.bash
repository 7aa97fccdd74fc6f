# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The two hosts of a fleet, with one etcd and one configuration. For sourcing after support and bundle.

# shellcheck source=tests/e2e/two_hosts.bash
source "$BATS_TEST_DIRNAME/two_hosts.bash"
# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"
# shellcheck disable=SC2034 # etcd.bash reads them
ENDPOINT=10.1.3.101:2379 ETCD_NETNS=/run/netns/pod

# Starts etcd, and makes both hosts members, with addresses by IPU.
fleet_up() {
  host_config
  in_host sed -i 's|^range = .*|scheme = "ipu"\nbase = "10.5.64.0"\nmachines = "10.5.0.0/22"|' "$CONFIG"
  etcd_start
  configure_fleet
}

# Removes all partitions that people named.
remove_partitions() {
  local name
  for name in $(on a ipuctl partition list -o json | jq -r '.[].partition'); do
    on a ipuctl partition remove "$name" >/dev/null
  done
}

tag_of() { on "$1" ipuctl host list -o json | jq -r '.[] | select(.state == "this host").host'; } # HOST

use() { # HOST CONTAINER GCD [VARIABLE...]
  local host=$1 id=$2 gcd=$3
  shift 3
  make_bundle_of "$host" IPU_PARTITION=p0 "IPU_GCD=$gcd" "$@"
  start_on "$host" "$id"
}

# Starts a container with IPUs on a host, from a bundle of its own.
take_ipus() { # HOST CONTAINER IPUS [VARIABLE...]
  local host=$1 id=$2 variables
  variables=$(jq --null-input --compact-output '$ARGS.positional' --args "IPU_COUNT=$3" "${@:4}")
  BUNDLE=/run/bundle-$host-$id make_bundle ".process.env += $variables | .linux.cgroupsPath += \"-$host-$id\""
  # shellcheck disable=SC2016
  on "$host" sh -c '
    ipu-container-runtime --root "$1" create --bundle "$2" "$3" >/run/create-$3.out 2>&1 </dev/null && exit
    cat /run/create-$3.out >&2
    exit 1' sh "/run/oci-$host" "/run/bundle-$host-$id" "$id"
}

end_on() { on "$1" ipu-container-runtime --root "/run/oci-$1" delete --force "$2"; } # HOST CONTAINER

# ---- tenants

# A start says its tenant. [fleet] stays last in the file.
tenants_by_variable() { in_host sed -i 's|^\[fleet\]|[policy]\ntenant_variable = true\n&|' "$CONFIG"; }

start_for() { # HOST CONTAINER TENANT IPUS [VARIABLE...]
  local host=$1 id=$2 tenant=$3 ipus=$4
  shift 4
  make_bundle_of "$host" ${tenant:+"IPU_TENANT=$tenant"} "IPU_COUNT=$ipus" "$@"
  start_on "$host" "$id"
}

# Starts a container that waits in the background, and returns when it does so as one of N. Sets WAITING. What its start
# says is in the file CONTAINER.
start_waiter() { # HOST CONTAINER TENANT IPUS N
  start_for "$1" "$2" "$3" "$4" IPU_WAIT=60s >"$BATS_TEST_TMPDIR/$2" 2>&1 3>&- &
  # shellcheck disable=SC2034 # the tests read it
  WAITING=$!
  wait_until 10 waiting_are a "$5" || fail "$(cat "$BATS_TEST_TMPDIR/$2")"
}
waiting_are() { [ "$(on "$1" ipuctl queue -o json | jq length)" = "$2" ]; } # HOST N

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests with two hosts of a POD, each with a ledger of its own, and one configuration. Host "b" is a network namespace
# of the throw-away host, which is host "a". Bridges join both to the IPU-Machines and to the controller. For sourcing
# after support and bundle.

two_hosts_up() {
  # shellcheck disable=SC2016
  in_host sh -e -c '
    mkdir -p /run/hostb/lib /run/hostb/run /run/ipu-container-toolkit /var/lib/ipu-container-toolkit
    ip netns add hostb
    for bridge in brfab brctl; do
      ip -n pod link add "$bridge" mtu 9000 type bridge forward_delay 0
      ip -n pod link set "$bridge" up
    done
    ip -n pod link add fab1 mtu 9000 type veth peer name rnic0 mtu 9000 netns hostb
    ip -n pod link add ctl1 type veth peer name mgmt0 netns hostb
    ip -n pod address del 10.1.3.101/24 dev ctl0
    for link in fab0 fab1; do ip -n pod link set "$link" master brfab up; done
    for link in ctl0 ctl1; do ip -n pod link set "$link" master brctl up; done
    ip -n pod address add 10.1.3.101/24 dev brctl
    ip -n pod route replace 10.5.0.0/16 dev brfab
    ip -n hostb link set lo up
    ip -n hostb address add 10.5.200.2/16 dev rnic0
    ip -n hostb address add 10.1.3.2/24 dev mgmt0
    for link in rnic0 mgmt0; do ip -n hostb link set "$link" up; done'
}

two_hosts_down() {
  in_host sh -e -c '
    ip netns delete hostb
    ip -n pod link delete brfab
    ip -n pod link delete brctl
    ip -n pod address add 10.1.3.101/24 dev ctl0
    ip -n pod route replace 10.5.0.0/16 dev fab0
    ip neigh flush all
    rm -rf /run/hostb'
}

remove_containers_of_both() {
  local host id
  for host in a b; do
    for id in $(on "$host" runc --root "/run/oci-$host" list --quiet 2>/dev/null); do
      on "$host" ipu-container-runtime --root "/run/oci-$host" delete --force "$id"
    done
  done
  wait_until 10 both_are_empty || fail 'still there:' "$(on a ipuctl ps)" "$(on b ipuctl ps)"
  in_host rm -rf /run/bundle-a /run/bundle-b /run/oci-a /run/oci-b
}

is_empty() { [ "$(on "$1" ipuctl ps -o json)" = '[]' ]; } # HOST
both_are_empty() { [ "$(on a ipuctl ps -o json)$(on b ipuctl ps -o json)" = '[][]' ]; }

# What makes a process of the throw-away host one of host "b". It has the configuration of host "a", unless it has one of
# its own, /run/hostb/config.toml; so it is with its machine-id, /run/hostb/machine-id.
# shellcheck disable=SC2016
AS_HOST_B=(nsenter --net=/run/netns/hostb unshare --mount sh -e -c '
  mount --bind /run/hostb/lib /var/lib/ipu-container-toolkit
  mount --bind /run/hostb/run /run/ipu-container-toolkit
  ! [ -e /run/hostb/config.toml ] || mount --bind /run/hostb/config.toml /etc/ipu-container-toolkit/config.toml
  ! [ -e /run/hostb/machine-id ] || mount --bind /run/hostb/machine-id /etc/machine-id
  exec "$@"' sh)

# Runs a command on host "a" or "b".
on() { # HOST COMMAND...
  local host=$1 as=()
  shift
  [ "$host" = a ] || as=("${AS_HOST_B[@]}")
  host_run timeout "$LIMIT" "${as[@]}" "$@"
}

make_bundle_of() { # HOST [VARIABLE...]
  local host=$1 variables
  shift
  variables=$(jq --null-input --compact-output '$ARGS.positional' --args "$@")
  BUNDLE=/run/bundle-$host make_bundle ".process.env += $variables | .linux.cgroupsPath += \"-$host\""
}

start_on() { # HOST ID
  # shellcheck disable=SC2016
  on "$1" sh -c '
    ipu-container-runtime "$@" >/run/create-$0.out 2>&1 </dev/null && exit
    cat /run/create-$0.out >&2
    exit 1' "$1" --root "/run/oci-$1" create --bundle "/run/bundle-$1" "$2"
}

# Prints the addresses and the MACs of the containers of both hosts.
addresses_and_macs() {
  { on a ipuctl ps -o json && on b ipuctl ps -o json; } | jq -r '.[] | select(.state != "RELEASING").rails[] | .address, .mac'
}

# Starts a container on each host at the same time, by the bundles that are there. They share no address and no MAC.
start_both_apart() { # NUMBER
  local first second
  start_on a "a$1" 3>&- &
  first=$!
  start_on b "b$1" 3>&- &
  second=$!
  wait "$first"
  wait "$second"
  assert_equal "$(addresses_and_macs | wc -l)" 4
  assert_equal "$(addresses_and_macs | sort | uniq -d)" ''
}

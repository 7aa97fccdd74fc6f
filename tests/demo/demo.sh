#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shows the main job on a throw-away host: containers with their own (simulated) IPUs, apart from each other, from
# the controller and from the host. Checks each thing that it says. `make demo` builds and calls this script.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/host.sh
. tests/support/host.sh

[ "$(id -u)" -eq 0 ] || { echo 'make demo needs root: it starts containers' >&2; exit 1; }
broken=0
trap host_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { # LINE...
  echo
  printf '# %s\n' "$@"
}

# Runs a command in the host as a user would type it. OUTPUT also gets what it prints, and STATUS its exit status.
OUTPUT=''
STATUS=0
show() { # COMMAND...
  local word line='$'
  for word in "$@"; do
    [[ $word =~ ^[[:alnum:]_./=:,@-]+$ ]] || word="'$word'"
    line+=" $word"
  done
  echo "$line"
  STATUS=0
  OUTPUT=$(host_run timeout 60 "$@" 2>&1) || STATUS=$?
  [ -z "$OUTPUT" ] || printf '%s\n' "$OUTPUT"
}

# Prints whether a claim holds.
claim() { # TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then
    echo "  ok: $text"
  else
    echo "  NOT SO: $text"
    broken=$((broken + 1))
  fi
}

output_has() { [[ $OUTPUT == *"$1"* ]]; }
output_lacks() { [[ $OUTPUT != *"$1"* ]]; }
output_matches() { [[ $OUTPUT =~ $1 ]]; }
output_is_empty() { [ -z "$OUTPUT" ]; }
worked() { [ "$STATUS" -eq 0 ]; }
failed() { [ "$STATUS" -ne 0 ]; }

# The first endpoint of a container's ipuof.conf: "ADDRESS PORT".
endpoint_of() { # NAME
  host_run docker exec "$1" cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.devices[0] | "\(.ip) \(.server_port)"'
}
lease_of() { # NAME KEY
  host_run docker exec "$1" cat /run/ipu/lease.json | jq -r ".$2"
}

host_is_clean() {
  [ "$(host_run ipuctl ps --output json | jq length)" = 0 ] &&
    [ "$(host_run ipuctl partition list --output json | jq length)" = 0 ] &&
    [ -z "$(host_run ip -o link show type macvlan)" ]
}

prepare() {
  say 'A throw-away host: own dockerd, a simulated IPU-POD64 behind the interface rnic0, the product.' \
    "Nothing of this machine's docker, network or configuration is touched."
  host_up
  host_install
  host_config
  sim_start
  docker_start
  host_spawn listener busybox nc -ll -p 9999 -e echo 'the host'
  show cat /etc/ipu-container-toolkit/config.toml
}

one_container() {
  say 'One flag more than usual, and the container has 4 IPUs of its own.'
  show docker run --detach --name alice --runtime=ipu -e IPU_COUNT=4 busybox sleep 600
  claim 'it runs' worked
  say 'Its own RoCE interface, with one address and no subnet:'
  show docker exec alice ip -o -4 address show roce0
  claim 'roce0 has a /32 of the configured range' output_matches '10\.5\.200\.[0-9]+/32'
  say "Routes to the IPU-Machines of its own partition; the default route is docker's:"
  show docker exec alice ip route
  local machine
  read -r machine _ <<<"$(endpoint_of alice)"
  claim 'its IPU-Machine is reached by roce0' output_has "$machine dev roce0"
  claim 'no subnet of the fabric is' output_lacks '/16 dev roce0'
  say 'The file that Poplar reads, and what the container may know of its lease:'
  show docker exec alice cat /etc/ipuof.conf.d/ipuof.conf
  claim 'it lists 4 IPUs' [ "$(jq '.devices | length' <<<"$OUTPUT")" = 4 ]
  show docker exec alice cat /run/ipu/lease.json
  claim 'it names the partition' output_has '"partition": "c-'
  say 'Devices as in any container (this rail has no RDMA device, or its two nodes were here), memory can be locked:'
  show docker exec alice ls /dev
  claim 'no RDMA management device is there' output_lacks umad
  show docker exec alice grep 'Max locked memory' /proc/1/limits
  claim 'memlock is all that this host can give' output_has " $(highest_memlock) "
}

two_tenants() {
  say 'A second tenant, without any other network, at the same time.'
  show docker run --detach --name bob --net=none --runtime=ipu -e IPU_COUNT=4 busybox sleep 600
  claim 'it runs' worked
  local own other name host
  for name in alice bob; do
    own=$(endpoint_of "$name")
    other=$(endpoint_of "$([ "$name" = alice ] && echo bob || echo alice)")
    say "$name reaches its own endpoint, which says who holds it:"
    # shellcheck disable=SC2086
    show docker exec "$name" nc -w 2 $own
    claim "it is $name's partition" output_has "$(lease_of "$name" partition)"
    say "$name reaches neither the other's endpoint, nor the V-IPU controller, nor the host:"
    # shellcheck disable=SC2086
    show docker exec "$name" nc -w 1 $other
    claim "the other tenant's endpoint is out of reach" failed
    show docker exec "$name" nc -w 1 "${CONTROLLER%:*}" "${CONTROLLER#*:}"
    claim 'the controller is out of reach' failed
    for host in 10.5.200.1 10.1.3.1 172.17.0.1; do
      show docker exec "$name" nc -w 1 "$host" 9999
      claim "the host's $host is out of reach" failed
    done
  done
}

no_request() {
  say 'A container that asks for nothing is left alone, under the same runtime.'
  show docker run --rm --runtime=ipu busybox ip -o -4 address
  claim 'it has no roce0' output_lacks roce0
  say "It also shows that those targets do answer: what kept alice and bob out was not luck. The host" \
    "forwards for docker's bridge, as this configuration does not say guard_forwarding = true."
  # shellcheck disable=SC2046
  show docker run --rm --runtime=ipu busybox nc -w 2 $(endpoint_of alice)
  claim "alice's endpoint answers it" worked
  show docker run --rm --runtime=ipu busybox nc -w 2 10.5.200.1 9999
  claim 'so does the host' output_has 'the host'
  say 'With the guard, the host forwards nothing to the fabric any more:'
  host_run tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nguard_forwarding = true'
  show ipuctl gc
  # shellcheck disable=SC2046
  show docker run --rm --runtime=ipu busybox nc -w 1 $(endpoint_of alice)
  claim "alice's endpoint is out of reach of a container without IPUs" failed
  # shellcheck disable=SC2046
  show docker exec alice nc -w 2 $(endpoint_of alice)
  claim 'alice still reaches it' worked
}

the_operator() {
  say 'What the operator sees:'
  show ipuctl ps
  claim "alice's partition is in it" output_has "$(lease_of alice partition)"
  claim "bob's partition is in it" output_has "$(lease_of bob partition)"
  show ipuctl partition list
  claim 'both partitions exist' output_has "$(lease_of bob partition)"
  say 'A request that cannot be served is refused in one line:'
  show docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox true
  claim 'it says how much is free' output_has 'largest free: 32'
  show docker run --rm --runtime=ipu -e IPU_COUNT=3 busybox true
  claim 'it names the key and what is accepted' output_has 'IPU_COUNT'
}

made_ahead() {
  say 'A partition that outlives containers, for one job of two: a GCD each.'
  show ipuctl partition create team --size 8 --gcds 2
  claim 'it is made' worked
  show docker run --detach --name rank0 --runtime=ipu -e IPU_PARTITION=team -e IPU_GCD=0 busybox sleep 600
  show docker run --detach --name rank1 --runtime=ipu -e IPU_PARTITION=team -e IPU_GCD=1 busybox sleep 600
  show ipuctl partition list --holders
  claim 'both have it' output_has NAMED
  claim 'their IPUs differ' [ "$(endpoint_of rank0)" != "$(endpoint_of rank1)" ]
  show docker run --rm --runtime=ipu -e IPU_PARTITION=team -e IPU_GCD=1 busybox true
  claim 'a GCD has one container' output_has 'is in use by'
  show ipuctl partition remove team
  claim 'it is not taken from them' failed
  show docker rm --force rank0 rank1
  claim 'it is removed when they are gone' wait_until 10 host_run ipuctl partition remove team
}

the_end() {
  say 'One is stopped, one is removed while it runs: everything comes back.'
  show docker stop --time 1 alice
  show docker rm --force bob
  claim 'no lease, no partition and no interface is left' wait_until 10 host_is_clean
  show ipuctl ps
  show ipuctl partition list
}

prepare
one_container
two_tenants
no_request
the_operator
made_ahead
the_end
if [ "$broken" -gt 0 ]; then
  say "$broken of these claims did not hold."
  exit 1
fi
say "All of it held, in $SECONDS s."

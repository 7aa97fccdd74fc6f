#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the throw-away host. Compares what the ledger, docker, the controller, the kernel and the files say of who has
# what, and prints each difference. The last line is "N containers".
# shellcheck disable=SC2016 # $ in the filters is of jq
set -eu -o pipefail
folder=$(mktemp -d /run/storm/agree.XXXXXX)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Prints the lines that are in one of two files only.
compare() { # WHAT ONE OTHER
  comm -23 <(sort "$2") <(sort "$3") | sed "s/^/$1: only $2 has: /"
  comm -13 <(sort "$2") <(sort "$3") | sed "s/^/$1: only $3 has: /"
}

of_ledger() { jq -r "$1" leases.json; }

containers() {
  local running
  mapfile -t running < <(docker ps --quiet --no-trunc)
  [ ${#running[@]} -eq 0 ] || docker inspect --format '{{.Id}} {{.State.Pid}}' "${running[@]}"
}

# Prints each network namespace once, as "INODE PATH": those of processes, and those that mounts keep.
namespaces() {
  local path inode
  for path in /proc/[0-9]*/ns/net $(awk '$3 == "nsfs" { print $2 }' /proc/self/mounts); do
    inode=$(stat --dereference --format '%i' "$path" 2>/dev/null) && echo "$inode $path"
  done | sort -k 1,1 -u
}

# Prints "CONTAINER INTERFACE ADDRESS MAC" for every macvlan on the host.
macvlans() {
  local inode path owner
  while read -r inode path; do
    owner=$(awk -v inode="$inode" '$2 == inode { print $1 }' inodes)
    nsenter --net="$path" ip -json -details address show type macvlan | jq -r --arg owner "${owner:-nobody}" \
      '.[] | select(. != {}) | "\($owner) \(.ifname) \([.addr_info[] | select(.scope == "global").local] | join(",")) \(.address)"'
  done < <(namespaces)
}

ipuctl ps --output json >leases.json
ipuctl partition list --output json >partitions.json

containers >docker
while read -r id pid; do
  echo "$id $(stat --dereference --format '%i' "/proc/$pid/ns/net")" >>inodes
done <docker
touch inodes
of_ledger '.[] | "\(.container) \(.pid)"' >ledger
compare 'running containers, first processes' docker ledger
of_ledger '.[] | select(.state != "RUNNING") | "lease \(.lease) of container \(.container) is \(.state): \(.obstacle)"'

of_ledger '.[].partition' >ledger
jq -r '.[].partition' partitions.json >controller
jq -r '.partitions[].id' /var/lib/vipu-simulator.json >file
compare partitions ledger controller
compare partitions controller file

# Machine m, from 1, has the address 10.5.1.m and the IPUs from 4(m-1) on, which it numbers 3, 2, 1, 0; a domain has 64.
of_ledger '.[] | .partition as $partition | .devices[] |
  ((.address | split(".")[3] | tonumber) - 1) * 4 + 3 - .device | "\(. / 64 | floor) \(. % 64) \($partition)"' >ledger
jq -r '.[] | .partition as $partition | .ipus[] | "\(.domain) \(.ipu) \($partition)"' partitions.json >controller
jq -r '.partitions[] | .id as $partition | .ipus[] | "\(.domain) \(.ipu) \($partition)"' /var/lib/vipu-simulator.json >file
compare IPUs ledger controller
compare IPUs controller file

macvlans >kernel
of_ledger '.[] | .container as $container | .rails[] | "\($container) \(.interface) \(.address) \(.mac)"' >ledger
compare interfaces ledger kernel

of_ledger '.[].lease' >ledger
find /run/ipu-container-toolkit/leases -mindepth 1 -maxdepth 1 -printf '%f\n' >folders
compare 'folders of leases' ledger folders

while read -r id pid; do
  jq -r --arg id "$id" '"\($id) \(.lease) \(.partition) \(.ipus)"' "/proc/$pid/root/run/ipu/lease.json"
done <docker >container
of_ledger '.[] | "\(.container) \(.lease) \(.partition) \(.ipus)"' >ledger
compare 'what containers were told' ledger container

# The finding is like "130 addresses are left, 0 held, 61 in quarantine".
finding=$(ipuctl doctor --output json | jq -r '.[] | select(.check == "rail rnic0: addresses").finding')
read -r -a numbers <<<"${finding//[!0-9 ]/}"
held=$(of_ledger '[.[].rails[]] | length')
[ "${numbers[1]}" = "$held" ] || echo "addresses: $held are in leases, but doctor says: $finding"
[ $((numbers[0] + numbers[1] + numbers[2])) -eq 191 ] || echo "addresses: the range has 191, but doctor says: $finding"

echo "$(of_ledger length) containers"

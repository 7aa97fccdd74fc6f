#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the throw-away host. Lists all that exists of the product, one line each. Before a storm and after it, when
# all containers are gone, the lists must be equal.
set -eu -o pipefail

ipuctl ps --output json | jq -r '.[] | "lease \(.lease) \(.state)"'
ipuctl queue --output json | jq -r '.[] | "place in the queue: \(.container)"'
ipuctl partition list --output json | jq -r '.[] | "partition \(.partition)"'
jq -r '.partitions[] | "partition in the file of the controller: \(.id)"' /var/lib/vipu-simulator.json
awk '$3 == "nsfs" || $2 ~ /ipu-container-toolkit/ { print "mount", $2 }' /proc/self/mounts
find /run/ipu-container-toolkit /var/lib/ipu-container-toolkit /tmp /var/tmp /dev/shm -mindepth 1 ! -name last-gc -printf 'file %p\n'
for path in /proc/[0-9]*/ns/net $(awk '$3 == "nsfs" { print $2 }' /proc/self/mounts); do
  inode=$(stat --dereference --format '%i' "$path" 2>/dev/null) && echo "$inode $path"
done | sort -k 1,1 -u | while read -r _ path; do
  nsenter --net="$path" ip -o link show type macvlan | sed "s|^|interface in $path: |"
  nsenter --net="$path" nft list tables 2>/dev/null || true
done
for process in /proc/[0-9]*; do
  name=$(cat "$process/comm" 2>/dev/null) || continue
  case $name in ipu-* | ipuctl | runc* | containerd-shim) echo "process $name" ;; esac
done

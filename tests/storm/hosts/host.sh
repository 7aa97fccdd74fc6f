#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pid 1 of a host of the storm: host.sh NUMBER BOOT, in namespaces of its own. Its state directory and its machine-id are
# those of its last boot; its boot id, /run and containers are new. It does what a host does at boot, starts its workers,
# and stays until it is killed.
set -eu
cd /run/hosts-storm/hosts
number=$1
boot=$2
read -ra stat </proc/self/stat # its pid in the world

hostname "storm$number"
mount -t proc proc /proc
cat /proc/sys/kernel/random/uuid >"host$number/boot_id"
mount --bind "host$number/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "host$number/state" /var/lib/ipu-container-toolkit
mount --bind "host$number/machine-id" /etc/machine-id
mount -t tmpfs -o mode=0755 tmpfs /run/ipu-container-toolkit
mount -t tmpfs tmpfs /run/oci
echo "${stat[0]}" >"host$number/pid"

set +e
ipuctl gc --timeout 10s >/dev/null 2>&1 # as the unit does at boot
ipu-agent >>"host$number/agent.log" 2>&1 &
if [ ! -e over ]; then
  until [ -e raging ]; do sleep 0.2; done
  for ((i = 1; i <= $(cat workers); ++i)); do nice bash worker.sh "$number" "$boot" "$i" & done
  bash operator.sh "$number" "$boot" &
fi
# While bash waits, it reaps every child that dies, also adopted ones.
while :; do
  sleep infinity &
  wait $!
done

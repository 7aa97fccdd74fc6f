#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The world of a storm of many hosts: world.sh HOSTS WORKERS SECONDS SEED STARTS, as pid 1 of namespaces of its own in a
# throw-away host, so that all of it ends with this process. It lets the storm rage, brings all to rest, and writes to
# findings/ what does not agree then (agreement) and what is left when all containers are gone (remains).
set -u -o pipefail
cd /run/hosts-storm/hosts || exit 1
hosts=$1
seconds=$3
# shellcheck source=tests/storm/hosts/parts.bash
source parts.bash
# shellcheck source=tests/storm/hosts/fences.bash
source fences.bash
# shellcheck source=tests/storm/hosts/troubles.bash
source troubles.bash
# shellcheck source=tests/storm/hosts/rest.bash
source rest.bash
echo "$2" >workers
echo "$4" >seed
RANDOM=$4

mount -t proc proc /proc
mount -t tmpfs tmpfs /run/netns
mount --bind etc /etc/ipu-container-toolkit
for file in passwd group; do
  { grep -v '^ipu' "/etc/$file"; cat "etc/$file"; } >"world.$file"
  mount --bind "world.$file" "/etc/$file"
done
network_up
controller_up || exit 1
for member in 1 2 3; do etcd_up "$member"; done
wait_until 30 etcd_answers || { echo 'etcd does not answer'; exit 1; }
bash clock.sh &
for ((n = 1; n <= hosts; ++n)); do host_up "$n" || exit 1; done

note_tags && tenants_up || exit 1
# Later, they make some only while nobody waits.
on 1 ipuctl pool refill && on 2 ipuctl pool refill || exit 1

touch raging
rage "$hosts" "$seconds" "$5" || exit 1
touch over
settle >>findings/agreement 2>&1 || echo 'the storm did not come to rest' >>findings/agreement
agreement >>findings/agreement 2>&1
clear_all >>findings/remains 2>&1
remains >>findings/remains 2>&1
history_of_etcd >etcd.jsonl
touch finished

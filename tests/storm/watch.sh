#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Watches the storm in the throw-away host: watch.sh LATEST. Once a second it looks into all running containers themselves.
# It writes to /run/storm/violations what two containers have at once, and what a container has that the ledger does not
# know of. Each look adds a line "LIVE SEEN" to /run/storm/samples.
set -u -o pipefail
cd /run/storm || exit 1

# Sets REPLY to all of a file. No function here starts a process for a container, because there are many containers and
# little time.
slurp() { # FILE
  REPLY=
  { IFS= read -r -d '' REPLY <"$1"; } 2>/dev/null
  [ -n "$REPLY" ]
}

# Sets REPLY to the start time of a running process. Fails if the process has ended.
start_time() { # PID
  local stat
  slurp "/proc/$1/stat" || return 1
  read -ra stat <<<"${REPLY##*) }"
  REPLY=${stat[19]}
  [[ ${stat[0]} != [ZX] ]]
}

# Prints what the container sees of itself, as one JSON object.
look() { # CONTAINER PID
  local root=/proc/$2/root start lease ipuof mac
  start_time "$2" && start=$REPLY || return 0
  slurp "$root/run/ipu/lease.json" && lease=$REPLY || return 0
  slurp "$root/etc/ipuof.conf.d/ipuof.conf" && ipuof=$REPLY || return 0
  slurp "$root/sys/class/net/roce0/address" && mac=${REPLY%$'\n'} || return 0
  echo "{\"container\":\"$1\",\"pid\":$2,\"start\":\"$start\",\"mac\":\"$mac\",\"lease\":$lease,\"ipuof\":$ipuof}"
}

# Passes on the lines "PID START" whose process still runs. What such a process has now, it had at all times before.
survivors() {
  local pid start
  while read -r pid start; do
    if start_time "$pid" && [ "$REPLY" = "$start" ]; then echo "$pid"; fi
  done
}

sample() {
  local containers id pid
  mapfile -t containers < <(docker ps --quiet --no-trunc)
  [ ${#containers[@]} -gt 0 ] || return 0
  while read -r id pid; do
    [ "$pid" -eq 0 ] || look "$id" "$pid"
  done < <(docker inspect --format '{{.Id}} {{.State.Pid}}' "${containers[@]}" 2>/dev/null) >seen
  ipuctl ps --output json >leases
  jq -r '"\(.pid) \(.start)"' seen | survivors >alive
  jq -rn --slurpfile seen seen --slurpfile leases leases --slurpfile alive alive '
    def shared(what): [.[] | {container, has: what[]}] | group_by(.has)[] | select(length > 1);
    [$seen[] | select(.pid | IN($alive[]))] as $running |
    ($running |
      (shared([.mac]), shared([.lease.rails[].address]), shared([.ipuof.devices[] | "\(.ip) \(.server_port)"])) |
      "\(.[0].has) is had by \(map(.container[0:12]) | join(" and "))"),
    ($running[] | .lease.lease as $id | select([$leases[0][] | select(.lease == $id).state] | IN(["RUNNING"], ["ALLOCATED"]) | not) |
      "container \(.container[0:12]) runs without its lease \($id)")' >>violations || echo 'a look failed' >>violations
  echo "$(jq -r 'map(select(.state == "RUNNING")) | length' leases) $(wc -l <alive)" >>samples
}

while [ ! -e over ] && [ "$EPOCHSECONDS" -lt "$1" ]; do
  sample
  sleep 0.5
done
exit 0

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Judges what a storm of many hosts left in FOLDER: judge.sh FOLDER. Prints a line for each thing that two had at
# the same time, and for each that a container had while nobody had given it:
#   held/*             what containers saw, by the clock of the machine (worker.sh), and which hosts died (parts.bash)
#   controller.jsonl   the simulator's log: when a partition took and gave back each IPU
#   etcd.jsonl         all revisions of etcd, among them the times of clock.sh
#   log/*              what was asked for, and refused
#   events/*           the events of each ledger: when each request came
# It also prints a line for each container that got an IPU before a request for 64 IPUs which came earlier and then had that
# IPU; for each tenant that was above its limit, or was refused for those who borrow; and for what a fenced host got, or still
# had when its fence was finished.
set -eu -o pipefail
shopt -s nullglob
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All lists have the columns FROM, UNTIL, who, and what; separated by tabs.
had_by_two() { # LIST
  sort -t $'\t' -k 4,4 -k 1,1n -k 2,2n "$1" | awk -f "$here/../shared.awk"
}

# shellcheck disable=SC2016 # $ in the filters is of jq
cat held/* | jq -rR 'split("\t") | if .[1] != "take" then join("\t") else
    .[:4] as $begin | (.[4] | fromjson) as $lease | (.[5] | fromjson) as $ipuof |
    ($ipuof.devices[] | "IPU \(((.ip | split(".")[3] | tonumber) - 1) * 4 + 3 - .device_id)"),
    ($lease.rails[] | "address \(.address)", "MAC \(.mac)"),
    ($lease.gcds[].gcd | "GCD \($lease.partition) \(.)") |
    [$begin[], $lease.lease, $lease.partition, .] | join("\t") end' |
  sort -t $'\t' -s -k 1,1n | awk -f "$here/containers.awk" >"$work/containers"

jq -r 'if .event == "start" then "\(.time / 1000)\tstart" elif .event == null then "\(.time / 1000)\tcall" else
    "\(.time / 1000)\t\(.event)\t\(.partition)\t\(.ipus[])" end' controller.jsonl |
  awk -f "$here/controller.awk" >"$work/controller"

jq -r -f "$here/history.jq" etcd.jsonl >"$work/history"
history_by() { awk "${@:2}" -f "$here/clock.awk" -f "$here/$1" "$work/history" pass=2 "$work/history"; } # SCRIPT VARIABLE...
times_of() { history_by claims.awk -v kind="$1"; }                              # KIND
times_of claims >"$work/claims"
times_of grants >"$work/grants"

had_by_two "$work/containers" | sed 's/^/containers: /'
had_by_two "$work/controller" | sed 's/^/controller: /'
had_by_two "$work/claims" | sed 's/^/claims: /'
# Who in a list of givers is what the container's lease names: its partition at the controller, itself at etcd.
awk -F '\t' -v OFS='\t' '$4 ~ /^IPU / { print $1, $2, $6, $4, $3 }' "$work/containers" |
  awk -f "$here/within.awk" "$work/controller" - | sed 's/^/not of the controller: /'
awk -F '\t' -v OFS='\t' '{ print $5, $6, $3, $4 }' "$work/claims" >"$work/claim-times"
awk -F '\t' -v OFS='\t' '$4 ~ /^GCD / && $6 !~ /^[cfw]-/ { print $1, $2, $5, $4, $3 }' "$work/containers" |
  awk -f "$here/within.awk" "$work/claim-times" - | sed 's/^/not claimed: /'
# IPUs of a container's own are granted to its lease.
awk -F '\t' -v OFS='\t' '{ print $5, $6, $3, "grant" }' "$work/grants" >"$work/grant-times"
awk -F '\t' -v OFS='\t' '$4 ~ /^IPU / && $6 ~ /^[cf]-/ { print $1, $2, $5, "grant", $3 }' "$work/containers" | sort -u |
  awk -f "$here/within.awk" "$work/grant-times" - | sed 's/^/not granted: /'
# A fence ends them.
awk -F '\t' '$2 == "ended" && !($4 in ended) { ended[$4] = $1 }
    $2 == "lost" { lost[$3] = $1 }
    END { for (name in lost) {
      split(name, part, "-"); boot = part[1] "." part[2]
      if (!(boot in ended) || lost[name] < ended[boot]) print "container " name " ended by itself by " lost[name]
    } }' held/*

# Warm partitions: etcd says whose each is, and the controller has what is idle. A lease that took one came for it, as one that
# made its own: both count in the queue.
: >"$work/idle" && : >"$work/taken" && : >"$work/fenced"
history_by warm.awk -v idle="$work/idle" -v taken="$work/taken" | sed 's/^/warm: /'
awk -F '\t' -v OFS='\t' '!(($1, $2, $3) in seen) { seen[$1, $2, $3]; print $1, $2, $3, "idle" }' "$work/controller" >"$work/there"
awk -f "$here/within.awk" "$work/there" "$work/idle" | sed 's/^/not there: /'
awk -F '\t' -v OFS='\t' 'FILENAME == ARGV[1] { time[$2] = $1; lease[$2] = substr($3, 1, 12); next }
    $3 in time { $1 = time[$3] > $1 ? time[$3] : $1; $3 = $3 "-" lease[$3] }
    1' "$work/taken" "$work/controller" >"$work/served"

# Tenants and fences.
awk -f "$here/held.awk" -f "$here/limits.awk" "$work/history" | sed 's/^/limit: /'
awk -f "$here/clock.awk" -f "$here/held.awk" -f "$here/guaranteed.awk" "$work/history" pass=2 log/* pass=3 "$work/history" |
  sed 's/^/guaranteed: /'
history_by fences.awk -v fenced="$work/fenced" | sed 's/^/fence: /'
awk -f "$here/left.awk" "$work/fenced" "$work/controller" | sed 's/^/fence: /'

# shellcheck disable=SC2016
jq -rs 'map(select(.lease != null)) | group_by(.lease)[] | (map(.time) | min) as $time |
    "\(.[0].lease)\t\($time[:19] + "Z" | fromdate)\($time[19:23])"' events/* |
  awk -f "$here/queue.awk" - "$work/served" | sed 's/^/queue: /'

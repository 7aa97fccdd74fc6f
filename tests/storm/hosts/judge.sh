#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Judges what a storm of many hosts left in FOLDER: judge.sh FOLDER. Prints a line for each thing that two had at
# the same time, and for each that a container had while nobody had given it:
#   held/*             what containers saw, by the clock of the machine (worker.sh), and which hosts died (parts.bash)
#   controller.jsonl   the simulator's log: when a partition took and gave back each IPU
#   etcd.jsonl         all revisions of etcd, among them the times of clock.sh
#   events/*           the events of each ledger: when each request came
# It also prints a line for each container that got an IPU before a request for 64 IPUs which came earlier and then had that
# IPU.
set -eu -o pipefail
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

# When what etcd has in the folder KIND was there. A grant has no GCD, and counts as one.
times_of() { # KIND
  # shellcheck disable=SC2016
  jq -r --arg kind "/$1/" '.Events[]? | (.kv.key | @base64d) as $key | .kv.mod_revision as $revision |
    if $key == "/clock" then "\($revision)\tclock\t\(.kv.value | @base64d)"
    elif ($key | contains($kind) | not) then empty
    elif .type == null then "\($revision)\tclaim\t\($key)\t\(.kv.value | @base64d | fromjson | "\(.gcd // 0)\t\(.gcds // 1)")"
    else "\($revision)\tunclaim\t\($key)" end' etcd.jsonl |
    awk -f "$here/claims.awk"
}
times_of claims >"$work/claims"
times_of grants >"$work/grants"

had_by_two "$work/containers" | sed 's/^/containers: /'
had_by_two "$work/controller" | sed 's/^/controller: /'
had_by_two "$work/claims" | sed 's/^/claims: /'
# Who in a list of givers is what the container's lease names: its partition at the controller, itself at etcd.
awk -F '\t' -v OFS='\t' '$4 ~ /^IPU / { print $1, $2, $6, $4, $3 }' "$work/containers" |
  awk -f "$here/within.awk" "$work/controller" - | sed 's/^/not of the controller: /'
awk -F '\t' -v OFS='\t' '{ print $5, $6, $3, $4 }' "$work/claims" >"$work/claim-times"
awk -F '\t' -v OFS='\t' '$4 ~ /^GCD / && $6 !~ /^[cw]-/ { print $1, $2, $5, $4, $3 }' "$work/containers" |
  awk -f "$here/within.awk" "$work/claim-times" - | sed 's/^/not claimed: /'
# IPUs of a container's own are granted to its lease.
awk -F '\t' -v OFS='\t' '{ print $5, $6, $3, "grant" }' "$work/grants" >"$work/grant-times"
awk -F '\t' -v OFS='\t' '$4 ~ /^IPU / && $6 ~ /^c-/ { print $1, $2, $5, "grant", $3 }' "$work/containers" | sort -u |
  awk -f "$here/within.awk" "$work/grant-times" - | sed 's/^/not granted: /'
awk -F '\t' '$2 == "lost" { print "container " $3 " ended by itself by " $1 }' held/*
# shellcheck disable=SC2016
jq -rs 'map(select(.lease != null)) | group_by(.lease)[] | (map(.time) | min) as $time |
    "\(.[0].lease)\t\($time[:19] + "Z" | fromdate)\($time[19:23])"' events/* |
  awk -f "$here/queue.awk" - "$work/controller" | sed 's/^/queue: /'

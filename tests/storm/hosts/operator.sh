#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Acts as an operator on one of the storm's hosts: operator.sh HOST BOOT. It makes, resets and removes named partitions of
# four GCDs, which all hosts use, fills the warm pool, looks, and cleans up. It writes to log/HOST.BOOT.operator as a worker does.
set -u -o pipefail
cd /run/hosts-storm/hosts || exit 1
host=$1
boot=$2
RANDOM=$((100 * host + boot + $(cat seed)))

act() { # ACTION COMMAND...
  local action=$1 begin=$EPOCHREALTIME error status=0
  shift
  error=$(timeout --kill-after 5 60 "$@" 2>&1 >/dev/null) || status=$?
  [ "$status" -ne 0 ] || error=
  printf '%s\t%s\t%s\t-\t%s\t%s\t-\n' "$begin" "$EPOCHREALTIME" "$action" "$status" "${error//[$'\n\t']/ // }" \
    >>"log/$host.$boot.operator"
}

while [ ! -e over ]; do
  name=n$((RANDOM % 4))
  case $((RANDOM % 12)) in
    [0-3]) act create ipuctl partition create "$name" --size 8 --gcds 4 ;;
    4) act remove ipuctl partition remove "$name" ;;
    5) act reset ipuctl partition reset "$name" ;;
    6) act gc ipuctl gc ;;
    7) act show ipuctl partition list --holders ;;
    8) act status ipuctl fleet status ;;
    9) act hosts ipuctl host list ;;
    10) act refill ipuctl pool refill ;;
    11) act tenants ipuctl tenant list ;;
  esac
  sleep "0.$((3 + RANDOM % 7))"
done
exit 0

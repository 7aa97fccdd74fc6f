#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lets a storm rage over many hosts that share a simulated POD256 and an etcd, and prints TAP:
# tests/storm/hosts_check.sh SECONDS [SEED]. HOSTS=N and WORKERS=N set how many hosts there are (4) and how many workers
# each has (16). KEEP=FILE keeps what the storm left in a tar file, if it fails. Needs the built product, and root.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/host.sh
source tests/support/host.sh
# shellcheck source=tests/storm/storm.bash
source tests/storm/storm.bash
# shellcheck source=tests/storm/hosts.bash
source tests/storm/hosts.bash

seconds=${1:-}
seed=${2:-$((RANDOM % 1000))}
hosts=${HOSTS:-4}
workers=${WORKERS:-16}
[[ $seconds =~ ^[1-9][0-9]{0,4}$ && $seed =~ ^[0-9]{1,5}$ && $hosts =~ ^[1-9]$ && $workers =~ ^[1-9][0-9]?$ ]] || {
  echo 'usage: tests/storm/hosts_check.sh SECONDS [SEED]' >&2
  exit 2
}
[ "$(id -u)" -eq 0 ] || { echo 'tests/storm/hosts_check.sh needs root: it starts containers' >&2; exit 1; }
trap host_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

keep() { [ -z "${KEEP:-}" ] || host_run tar -C "$HOSTS_FOLDER/hosts" --exclude=rootfs -c . >"$KEEP"; }

echo 1..10
echo "# seed $seed"
host_up && host_install || exit 1
storm_check "$hosts hosts with $workers workers each rage for $seconds s" hosts_rage "$hosts" "$workers" "$seconds" "$seed" "$seconds"
[ "$failed" = 0 ] || { keep; exit 1; }
hosts_figures | sed 's/^/# /'
storm_check 'enough containers were started' hosts_started "$seconds"
storm_check 'a request for 64 IPUs was served' hosts_served_large
storm_check 'smaller requests passed it' hosts_passed
storm_check 'warm partitions were taken from other hosts, and given back' hosts_shared_warm
storm_check 'hosts, members of etcd, the controller and links failed, and hosts were fenced' hosts_had_all_troubles
storm_check 'no command had an error but with its reason' hosts_had_no_other_errors
storm_check 'nothing was had by two, ungranted, ahead of an older request, above a limit, or after a fence' hosts_never_shared
storm_check 'ledgers, low-level runtimes, the controller and etcd agree after one reconcile' hosts_agree
storm_check 'nothing is left when all containers are gone' hosts_leave_nothing
[ "$failed" = 0 ] || keep
exit "$failed"

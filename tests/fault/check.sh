#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Crash enumeration: cuts each scenario short, in each way, at each system call that has an effect, and checks what
# is left.
#   FAULT=all          (the default) takes all points
#   FAULT=quick        kills the process before the call, at one point in three of create, hook and poststop, and at
#                      one in fourteen of the other scenarios; fails every fifth call of create, hook and poststop; of
#                      a whole run of each scenario of a fleet, kills at each eightieth point
#   FAULT=fleet        takes all points of the scenarios of a fleet, in PARTS parts, of which each has points of all
#                      scenarios in all ways: what is left out for want of time leaves out no scenario
#   FAULT_PART=N       begins with part N, from 1; without it, with another one each day
#   TEST=PATTERN       selects by a regular expression on "SCENARIO WAY"
#   FAULT_POINT=P.N    takes one point: the Nth call of process P ('fault points' prints them)
#   FAULT_HOSTS=N      uses N hosts side by side
#   FAULT_UNTIL=TIME   begins nothing after TIME, in seconds since 1970
# Prints a line "ok ..." or "not ok ..." for each scenario and way, and a table. Fails if one is not ok.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/host.sh
. tests/support/host.sh

FAULT=${FAULT:-all}
TEST=${TEST:-}
FAULT_POINT=${FAULT_POINT:-}
FAULT_UNTIL=${FAULT_UNTIL:-}
PARTS=12
FAULT_PART=${FAULT_PART:-$((EPOCHSECONDS / 86400 % PARTS + 1))}
work=$(mktemp -d) || exit 1
export O
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046
trap 'kill $(jobs -p); wait; exit 130' INT TERM

# Prints lines "SCENARIO WAY POINTS", each for the next free host; and "self" for the harness's own tests.
units() {
  local scenario variant scenarios variants stride=/1
  mapfile -t scenarios < <("$O/bin/fault" list | sed -n 's/^scenario //p')
  mapfile -t variants < <("$O/bin/fault" list | sed -n 's/^variant //p')
  echo self
  [ "$FAULT" != fleet ] || { fleet_units; return; }
  [ "$FAULT" = all ] || variants=(uncut kill-before EIO)
  for variant in "${variants[@]}"; do
    for scenario in "${scenarios[@]}"; do
      if [ "$FAULT" != all ]; then
        case $variant,$scenario in uncut,fleet-*) continue ;; EIO,create | EIO,hook | EIO,poststop) stride=/5 ;; EIO,*) continue ;; *,create | *,hook | *,poststop) stride=/3 ;; *,fleet-*) stride=%80+40 ;; *) stride=/14 ;; esac
      fi
      echo "$scenario $variant ${FAULT_POINT:-$stride}"
    done
  done
}

# By parts, and in each by ways: see FAULT=fleet.
fleet_units() {
  local scenario variant part
  for ((part = 0; part < PARTS; ++part)); do
    for variant in "${variants[@]}"; do
      [ "$variant" != uncut ] || [ "$part" -eq 0 ] || continue
      for scenario in "${scenarios[@]}"; do
        [[ $scenario != fleet-* ]] || echo "$scenario $variant ${FAULT_POINT:-%$PARTS+$(((FAULT_PART - 1 + part) % PARTS + 1))}"
      done
    done
  done
}

# For the scenarios of a fleet.
etcd_start() {
  host_spawn etcd ip netns exec pod etcd --data-dir /run/etcd --log-level error --listen-client-urls http://10.1.3.101:2379 \
    --advertise-client-urls http://10.1.3.101:2379 --listen-peer-urls http://127.0.0.1:23800
  wait_until 20 etcd_answers || { host_run tail -n 5 /run/service/etcd.log; return 1; }
}
etcd_answers() { host_run env ETCDCTL_API=3 etcdctl --endpoints http://10.1.3.101:2379 get / >/dev/null 2>&1; }

prepare_host() {
  host_up || return 1
  host_install || return 1
  SIM_OPTIONS=(--reset-delay 0ms)
  SIM_CREATE_DELAY=0ms sim_start || return 1
  etcd_start || return 1
  host_run mkdir -p /run/fault /run/ipu-container-toolkit /var/lib/ipu-container-toolkit &&
    host_run mount -t tmpfs tmpfs /var/lib/ipu-container-toolkit &&
    host_run tee /run/fault/fault <"$O/bin/fault" >/dev/null &&
    host_run chmod 0755 /run/fault/fault
}

# Does the units that no other worker has begun. Prints the lines of a unit together.
worker() { # NUMBER
  local unit words status place
  trap host_down EXIT
  trap 'exit 143' TERM
  prepare_host >"$work/host.$1" 2>&1 || { cat "$work/host.$1"; return 1; }
  while IFS= read -r unit; do
    place=$work/${unit//[ \/]/,}
    mkdir "$place" 2>/dev/null || continue
    if [ -n "$FAULT_UNTIL" ] && [ "$EPOCHSECONDS" -ge "$FAULT_UNTIL" ]; then
      touch "$place/left_out"
      continue
    fi
    words=(self)
    [ "$unit" = self ] || read -ra words <<<"run $unit"
    host_run /run/fault/fault "${words[@]}" >"$work/output.$1" 2>&1 </dev/null
    status=$?
    grep -qE '^(ok|not ok) ' "$work/output.$1" && { [ "$status" -eq 0 ] || grep -q '^not ok ' "$work/output.$1"; } ||
      echo "not ok $unit: the harness ended with exit status $status" >>"$work/output.$1"
    grep '^row ' "$work/output.$1" >>"$work/rows"
    grep -v '^row ' "$work/output.$1" | tee -a "$work/lines"
    touch "$place/done"
  done <"$work/units"
}

# Prints a line for each scenario: its points for each way, and the results of all its runs.
table() {
  awk -v variants="$(awk 'NF > 1 && !seen[$2]++ { print $2 }' "$work/units" | xargs)" '
    BEGIN { n = split(variants, variant) }
    { if (!($2 in seen)) { seen[$2] = 1; order[++scenarios] = $2 }
      points[$2, $3] += $4; all += $4; missed += $5; runs[$2] += $6; bad[$2] += $7; left[$2] += $8
      aborts[$2] += $9; ms[$2] += $10 }
    END {
      printf "%-20s", "points"
      for (v = 1; v <= n; ++v) printf " %11s", variant[v]
      printf " %7s %10s %5s %6s %8s\n", "runs", "violations", "files", "aborts", "seconds"
      for (s = 1; s <= scenarios; ++s) {
        name = order[s]
        printf "%-20s", name
        for (v = 1; v <= n; ++v) printf " %11d", points[name, variant[v]]
        printf " %7d %10d %5d %6d %8.1f\n", runs[name], bad[name], left[name], aborts[name], ms[name] / 1000
        all_runs += runs[name]; all_bad += bad[name]; all_left += left[name]; all_aborts += aborts[name]
      }
      print "exempt: files, temporary ones that a killed create left in the bundle, which is the engine'"'"'s to delete;"
      print "        aborts of a program that cannot go back to the network namespace of the host"
      printf "%d scenarios, %d points, %d missed, %d runs, %d violations, %d exempt\n", scenarios, all, missed, all_runs, all_bad, all_left + all_aborts
    }' "$work/rows"
}

units | grep -E -- "$TEST" >"$work/units" || { echo "no test matches '$TEST'"; exit 1; }
: >"$work/rows"
: >"$work/lines"
for ((i = 0; i < ${FAULT_HOSTS:-$(nproc)}; ++i)); do worker "$i" & done
wait
[ ! -s "$work/rows" ] || table
left=$(find "$work" -name left_out | wc -l)
[ "$left" -eq 0 ] || echo "left out: $left of $(wc -l <"$work/units") scenarios and ways, for want of time"
missing=$(($(wc -l <"$work/units") - $(find "$work" -name "done" | wc -l) - left))
[ "$missing" -eq 0 ] || echo "not ok $missing of $(wc -l <"$work/units") scenarios and ways were not tried"
[ "$missing" -eq 0 ] && ! grep -q '^not ok ' "$work/lines"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs test groups and counts: tests/run.sh [--built] GROUP... A GROUP is unit, packaging, kernel, e2e, attack, fault or
# hostile. The groups core and more divide all tests of these: core is what `make check` runs in a quarter of an hour.
# The groups browser, storm, model, backfill, cut, upgrade, sanitizers, fleet-faults, frames, all-faults and all-hostile
# take longer, and the group long is all but the last.
# Without --built, the script first installs what is missing and builds.
#   TEST_JOBS=N        runs N programs and files of tests at a time; one more than there are processors by default
#   TEST=PATTERN       selects tests: a --gtest_filter for unit and kernel, else a regular expression on the name
#   STORM=SECONDS      sets how long the storm rages; 120 by default
#   STARTS=N           sets how many starts the storm of starts makes: 200 by default in the group storm, and 16 in
#                      e2e/killed_starts, which is in core
#   HOSTS_STORM=SECONDS sets how long the storm of many hosts rages in the group storm; 60 by default
#   CUT_SECONDS=N      sets for how long the group cut cuts a host off from its etcd; 600 by default
#   FLEET_FAULTS=N     sets for how many seconds the group fleet-faults begins to cut; 3600 by default. Each day it begins
#                      with other points
#   FRAMES=N           sets for how many seconds the group frames begins tests; 3600 by default
#   HOSTILE=N          sets how many hostile images all-hostile starts; 10000 by default
#   CHECK_SECONDS=N    takes from long only what can end within N seconds of the start, and from more what begins within
#                      2N seconds, each day another part first; prints what it leaves out
# Lists the slowest and the failed tests at the end. The last line is "N passed, N failed". Fails if a test failed, if
# none ran, and under TESTS_MUST_RUN=1 if one was skipped.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

export FLAVOR=${FLAVOR:-release}
export O=${O:-build/$FLAVOR}
export TEST=${TEST:-}
STORM=${STORM:-120}
# Tests also wait for deadlines of the product. One more job than processors fills these pauses.
TEST_JOBS=${TEST_JOBS:-$(($(nproc) + 1))}
CHECK_SECONDS=${CHECK_SECONDS:-}
# shellcheck source=tests/e2e/host.bash
source tests/e2e/host.bash
# shellcheck source=tests/e2e/conformance.bash
source tests/e2e/conformance.bash
# shellcheck source=tests/attack/table.bash
source tests/attack/table.bash
# These start first, so that no long one is left for the end. The others start in any order. The client's tests have
# deadlines of a second, so those that start beside them need little of the machine.
FIRST=(unit/cmd-ipu-vipu-client unit/hook-ledger unit/vipu-contract unit/cmd-vipu-simulator unit/hook-model
  unit/hook-lifecycle-start unit/hook-lifecycle-end unit/base fault/quick hostile/quick e2e/conformance_engines kernel/netns e2e/cri
  e2e/network attack/network attack/runtime e2e/conformance_runtimes e2e/reconcile kernel/hook-ledger e2e/options e2e/ipuctl e2e/cards e2e/configure
  e2e/conformance e2e/named kernel/storm e2e/lifecycle e2e/capacity e2e/history e2e/isolation)
# The jobs that make check leaves to make check-long, because they take most of the time: whatever takes over a minute on
# two processors, but for the tests of the start, of isolation and of attacks. Where the time is limited, they come last.
MORE=(fault/quick kernel/hook-ledger kernel/storm e2e/agent e2e/agent_theirs e2e/attack e2e/capacity e2e/cards
  e2e/checkpoint e2e/configure
  e2e/conformance e2e/conformance_engines e2e/conformance_odd e2e/conformance_passing e2e/conformance_runtimes
  e2e/cri e2e/docker_storm e2e/doctor_table e2e/durable e2e/endpoint_killed e2e/fleet e2e/fleet_cut e2e/fleet_frames e2e/fleet_frames_commands e2e/fleet_partitions e2e/fleet_bad e2e/fleet_cases e2e/fleet_shares e2e/fleet_stall e2e/fleet_walls e2e/full_disk e2e/history e2e/ipuctl e2e/named
  e2e/lists e2e/newcomer e2e/network e2e/options e2e/page_examples e2e/quirks e2e/reconcile e2e/slurm_example e2e/watch packaging/deb packaging/deb_host packaging/deb_user
  packaging/rpm)
# The most useful groups come first.
LONG=(browser storm model backfill cut upgrade sanitizers fleet-faults frames all-faults)

usage() {
  echo 'usage: tests/run.sh [--built] {core|more|unit|packaging|kernel|e2e|attack|fault|hostile|browser|storm|model|backfill|cut|upgrade|sanitizers|fleet-faults|frames|all-faults|all-hostile|long}...' >&2
  exit 2
}

# ---- jobs: a job GROUP/NAME is one program, or one file of tests -----------------------------------

# Prints all jobs of a group, one on each line.
jobs_of() { # GROUP
  case $1 in
    # unit/base is the program unit-base.
    unit | kernel) make --no-print-directory -s O="$O" list-tests | sed -n "s|^$1-|$1/|p" | { grep . || [ -n "$TEST" ]; } ;;
    e2e | attack | packaging) find "tests/$1" -name '*.bats' -printf "$1/%f\n" | sed 's/\.bats$//' ;;
    fault) echo fault/quick ;;
    hostile) echo hostile/quick ;;
    more) printf '%s\n' "${MORE[@]}" ;;
    core)
      for group in unit packaging kernel e2e attack fault hostile; do jobs_of "$group" || exit; done |
        grep -vxFf <(jobs_of more)
      ;;
    *) echo "$1/all" ;;
  esac
}

# Sorts the jobs on standard input: those of FIRST, then the others. If the time is limited, those of MORE come after all
# that are not, and each day others of them come first.
in_order() {
  awk -v first="${FIRST[*]}" -v last="${until:+${MORE[*]}}" -v day=$((EPOCHSECONDS / 86400)) '
    BEGIN {
      n = split(first, names)
      for (i = 1; i <= n; ++i) place[names[i]] = i
      m = split(last, names)
      for (i = 1; i <= m; ++i) late[names[i]] = (i + 17 * day) % m
    }
    $0 in late { print 1, late[$0], $0; next }
    { print 0, $0 in place ? place[$0] : n + 1, $0 }' | sort -u -k1,1n -k2,2n -k3 | cut -d " " -f 3
}

# Prints how many seconds must be left to begin a group; 0 if it runs in any case.
needed() { # GROUP
  case $1 in
    storm) echo $((4 * STORM + 4 * ${STARTS:-200} + ${HOSTS_STORM:-60} + 480)) ;;
    browser) echo 300 ;;
    upgrade) echo 1200 ;;
    model) echo 1200 ;;
    backfill) echo 900 ;;
    cut) echo $((${CUT_SECONDS:-600} + 120)) ;;
    sanitizers) echo 1500 ;;
    fleet-faults | all-faults) echo 240 ;;
    frames) echo 3000 ;;
    all-hostile) echo 1800 ;;
    *) echo 0 ;;
  esac
}

run_job() { # GROUP NAME
  case $1 in
    packaging | e2e | attack | *fault* | *hostile | storm | cut | frames | upgrade)
      [ "$(id -u)" -eq 0 ] || { printf '1..1\nok 1 %s # skip it needs root\n' "$1"; return; }
      ;;&
    unit | kernel) run_program "$O/bin/$1-$2" ${TEST:+"--gtest_filter=$TEST"} ;;
    model) MODEL=all PROGRAM_LIMIT=3600 run_program "$O/bin/unit-hook-model" ;;
    backfill) BACKFILL_SEEDS=1000 run_program "$O/bin/unit-vipu" '--gtest_filter=BackfillTest.*' ;;
    packaging) BATS_TEST_TIMEOUT=300 bats --tap --timing ${TEST:+--filter "$TEST"} "tests/packaging/$2.bats" ;;
    e2e | attack) run_bats "tests/$1/$2.bats" ;;
    # One host, because other jobs run beside it. By default there is a host for each processor.
    fault) FAULT=quick FAULT_HOSTS=1 tests/fault/check.sh ;;
    # The units that have begun need up to 180 s to end.
    all-faults) FAULT=${FAULT:-all} FAULT_UNTIL=${until:+$((until - 180))} tests/fault/check.sh ;;
    fleet-faults) run_fleet_faults ;;
    frames) run_frames ;;
    # One host, as above. In check-long it is one for each processor.
    hostile) HOSTILE_HOSTS=1 tests/hostile/check.sh ;;
    all-hostile) tests/hostile/check.sh "${HOSTILE:-10000}" ;;
    storm)
      tests/storm/check.sh "$STORM" && tests/storm/starts_check.sh "${STARTS:-200}" &&
        tests/storm/hosts_check.sh "${HOSTS_STORM:-60}"
      ;;
    browser) tests/browser/check.sh ;;
    upgrade) tests/upgrade/check.sh ;;
    cut) run_long_cut ;;
    sanitizers) tests/storm/sanitizers.sh ;;
  esac
}

run_program() { # PROGRAM OPTION...
  [ -x "$1" ] || { echo "$1 is not built"; return 1; }
  timeout --foreground --kill-after=10 "${PROGRAM_LIMIT:-1200}" "$@" --gtest_color=no
}

# Runs FILE on the host of this worker, with the configuration that a new host has, whatever a file before left. The worker's
# first file makes the host. Returns the status NONE if no test of it is selected.
run_bats() { # FILE [NONE]
  [ -z "$TEST" ] || [ "$(bats --count --filter "$TEST" "$1")" -gt 0 ] || return "${2:-0}"
  if [ -z "${HOST_PID:-}" ]; then
    e2e_host_up || { host_down; return 1; }
  else
    host_config || return
  fi
  # This limit only ends a test that hangs. Each wait in a test has its own, shorter limit.
  BATS_TEST_TIMEOUT=${LONGEST:-900} CONFORMANCE=$work/conformance ATTACKS=$work/attacks \
    timeout --foreground --kill-after=10 $((${LONGEST:-900} + 1800)) \
    bats --tap --timing ${TEST:+--filter "$TEST"} "$1"
}

# A host is cut off from the etcd of its fleet for longer than a fence by itself waits.
run_long_cut() {
  local CUT_SECONDS=${CUT_SECONDS:-600} TEST='^a host that is cut off from etcd'
  export CUT_SECONDS
  LONGEST=$((CUT_SECONDS + 300)) run_bats tests/e2e/fleet_cut.bats 1
}

run_fleet_faults() {
  local end=$((EPOCHSECONDS + ${FLEET_FAULTS:-3600}))
  [ -z "$until" ] || [ "$end" -le $((until - 180)) ] || end=$((until - 180))
  FAULT=fleet FAULT_UNTIL=$end tests/fault/check.sh
}

# Each frame between a host and its etcd, and not only some. Each day another test comes first.
run_frames() {
  local end=$((EPOCHSECONDS + ${FRAMES:-3600})) longest=2700 first=$((EPOCHSECONDS / 86400)) file name i tests=() left=0 status=0
  [ -z "$until" ] || [ "$end" -le $((until - longest)) ] || end=$((until - longest))
  export STRIDE=1
  for file in tests/e2e/fleet_frames*.bats; do
    while IFS= read -r name; do tests+=("$file:$name"); done < <(sed -n 's/^@test "\(.*\)" {$/\1/p' "$file")
  done
  for ((i = 0; i < ${#tests[@]}; ++i)); do
    name=${tests[(first + i) % ${#tests[@]}]}
    if [ "$EPOCHSECONDS" -ge "$end" ]; then
      left=$((left + 1))
    else
      LONGEST=$longest TEST="^${name#*:}\$" run_bats "${name%%:*}" 1 || status=1
    fi
  done
  [ "$left" -eq 0 ] || echo "left out: $left of ${#tests[@]} tests of frames, for want of time"
  return "$status"
}

# ---- what became of a job ------------------------------------------------------------------------------

# Prints the number of tests in the line of gtest's summary that starts with this mark.
gtest_count() { # MARK < OUTPUT
  sed -n "s/^\[  $1 *\] \([0-9]*\) tests\{0,1\}[.,].*/\1/p" | tail -n 1 | grep . || echo 0
}

is_gtest() { [[ $1 == unit/* || $1 == kernel/* || $1 == model/* || $1 == backfill/* ]]; } # JOB

# Prints "PASSED FAILED SKIPPED" for a job that has ended. One that ended before its last test has failed, whatever its
# status.
count() { # JOB STATUS < OUTPUT
  local output passed failed skipped planned status=$2
  output=$(cat)
  if is_gtest "$1"; then
    passed=$(gtest_count PASSED <<<"$output")
    failed=$(gtest_count FAILED <<<"$output")
    skipped=$(gtest_count SKIPPED <<<"$output")
    grep -q '^\[  PASSED  \]' <<<"$output" || status=1
  else
    skipped=$(grep -c '^ok .* # skip' <<<"$output")
    passed=$(grep '^ok ' <<<"$output" | grep -vc ' # skip')
    failed=$(grep -c '^not ok ' <<<"$output")
    planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' <<<"$output" | awk '{ n += $1 } END { print n + 0 }')
    [[ ! $1 =~ ^(e2e|attack|packaging)/ ]] || [ "$planned" -eq $((passed + failed + skipped)) ] || status=1
  fi
  [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
  echo "$passed $failed $skipped"
}

# Prints lines "SECONDS JOB: NAME" for an output with times, of gtest or TAP.
times() { # JOB < OUTPUT
  sed -En -e 's/^(not )?ok [0-9]+ (.*) in ([0-9]+)ms.*/\3\t\2/p' \
    -e 's/^\[ +(OK|FAILED) +\] ([^ ,]+).* \(([0-9]+) ms\)$/\3\t\2/p' |
    awk -F '\t' -v job="$1" '{ printf "%7.1f  %s: %s\n", $1 / 1000, job, $2 }'
}

# Prints a line "JOB: NAME" for each test that failed.
failures() { # JOB < OUTPUT
  sed -En -e '/^not ok /s/ in [0-9]+ms( #.*)?$/\1/' -e 's/^not ok (.*)/\1/p' -e 's/^\[  FAILED  \] ([^ ,]+)(, where .*)?$/\1/p' | sed "s|^|$1: |"
}

# Prints the first and the last lines of what each test that failed has to say: where it failed, and what it saw then.
reasons() { # JOB < OUTPUT
  awk -v job="$1" '
    function end(    i) {
      for (i = 1; failed && i <= lines; ++i) {
        if (i <= 4 || i > lines - 12) print said[i]
        else if (i == 5) print "# [" lines - 16 " lines more]"
      }
      failed = lines = 0
    }
    function fail(name) { print "-- " job ": " name; failed = 1 }
    /^not ok / { end(); fail(substr($0, 8)); next }
    /^ok / { end(); next }
    /^\[  FAILED  \] .*\(/ { fail($4); end(); next }
    /^\[/ { lines = 0; next }
    { said[++lines] = substr($0, 1, 300) }
    END { end() }'
}

# ---- the queue -----------------------------------------------------------------------------------------

may_start() { # JOB
  local group=${1%/*} needed
  if [ -n "$until" ] && [[ " ${MORE[*]} " == *" $1 "* ]]; then
    [ "$EPOCHSECONDS" -le "$until_more" ]
    return
  fi
  needed=$(needed "$group")
  [ "$needed" -eq 0 ] || [ -z "$until" ] || [ $((EPOCHSECONDS + needed)) -le "$until" ]
}

# Does the jobs that no other worker has begun.
worker() { # JOB...
  local job place
  trap host_down EXIT
  trap 'exit 143' TERM
  for job in "$@"; do
    place=$work/${job//\//,}
    mkdir "$place" 2>/dev/null || continue
    if may_start "$job"; then
      do_job "$job" "$place"
    else
      echo "${job%/all}" >>"$work/left_out"
      echo 0 0 0 >"$place/count"
    fi
  done
}

# Runs a job, and prints its output in one piece.
do_job() { # JOB PLACE
  local job=$1 place=$2 begin=$EPOCHSECONDS status
  run_job "${job%/*}" "${job#*/}" >"$place/output" 2>&1 </dev/null
  status=$?
  failures "$job" <"$place/output" >"$place/failures"
  count "$job" "$status" <"$place/output" >"$place/counted"
  if [[ $(cat "$place/counted") != *' 0 '* ]] && [ ! -s "$place/failures" ]; then
    echo "$job: ended with exit status $status, and not after its last test" | tee -a "$place/output" >"$place/failures"
  fi
  reasons "$job" <"$place/output" >"$place/reasons"
  times "$job" <"$place/output" >"$place/times"
  sed -n "s|^left out: |$job: |p" "$place/output" >>"$work/left_out"
  [ ! -s "$place/output" ] || {
    flock 9
    echo "== $job, $((EPOCHSECONDS - begin)) s"
    if is_gtest "$job"; then sed '/^\[ RUN \|^\[  *OK \|^$/d' "$place/output"; else cat "$place/output"; fi
  } 9>"$work/print"
  [ ! -s "$place/counted" ] || mv "$place/counted" "$place/count"
}

# Each worker is a process group of its own, which ends as one.
run_jobs() { # JOB...
  local i workers=() job
  set -m
  for ((i = 0; i < TEST_JOBS; ++i)); do
    worker "$@" &
    workers+=($!)
  done
  set +m
  trap 'kill -TERM "${workers[@]/#/-}"; wait; exit 130' INT TERM
  wait
  trap - INT TERM
  for job in "$@"; do
    [ -e "$work/${job//\//,}/count" ] || echo "$job: was not run to its end" >>"$work/unfinished"
  done
}

# ---- what was asked for --------------------------------------------------------------------------------

build=yes
if [ "${1:-}" = --built ]; then
  build=no
  shift
fi
[ $# -gt 0 ] || usage
beside=()
after=()
for group in "$@"; do
  case $group in
    core | more | unit | packaging | kernel | e2e | attack | fault | hostile) beside+=("$group") ;;
    browser | storm | model | backfill | cut | upgrade | sanitizers | fleet-faults | frames | all-faults | all-hostile)
      after+=("$group")
      ;;
    long) after+=("${LONG[@]}") ;;
    *) usage ;;
  esac
done
until=
until_more=
[ -z "$CHECK_SECONDS" ] || { until=$((EPOCHSECONDS + CHECK_SECONDS)) until_more=$((EPOCHSECONDS + 2 * CHECK_SECONDS)); }

if [ "$build" = yes ]; then
  with_browser=()
  [[ " ${after[*]} " != *' browser '* ]] || with_browser=(browser)
  packaging/deps.sh build e2e "${with_browser[@]}" || exit 1
  make --no-print-directory -j"$(nproc)" O="$O" test-programs || exit 1
fi
# The tests call make too. It would warn that it cannot reach the jobserver of the make that called this script. The
# variables of the caller's command line stay, or these calls would build other programs.
MAKEFLAGS=$(sed -E 's/(^| )(-j[0-9]*|--jobserver-[^ ]*)//g' <<<"${MAKEFLAGS:-}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

if [ ${#beside[@]} -gt 0 ]; then
  jobs=$(for group in "${beside[@]}"; do jobs_of "$group" || exit; done | in_order) || { echo 'no list of the tests'; exit 1; }
  [ -z "$jobs" ] || { mapfile -t jobs <<<"$jobs" && run_jobs "${jobs[@]}"; }
fi
# If a test has failed, the long groups are not worth their hours.
for group in "${after[@]}"; do
  if cat "$work"/*/failures 2>/dev/null | grep -q .; then
    echo "$group" >>"$work/left_out"
  else
    run_jobs "$group/all"
  fi
done

print_conformance "$work/conformance"
print_attacks "$work/attacks"
echo '== the slowest tests, in seconds'
cat "$work"/*/times 2>/dev/null | sort -rn | head -n 20
touch "$work/unfinished"
bad=$(cat "$work"/*/failures "$work/unfinished" 2>/dev/null)
[ -z "$bad" ] || {
  printf '== what failed\n%s\n' "$bad"
  cat "$work"/*/reasons
}
[ ! -e "$work/left_out" ] || sed 's/^/left out: /' "$work/left_out"
read -r passed failed skipped < <(cat "$work"/*/count | awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
failed=$((failed + $(wc -l <"$work/unfinished")))
summary="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || summary+=", $skipped skipped"
echo "$summary"
[ "$failed" -eq 0 ] && [ -z "$bad" ] || exit 1
[ "$passed" -gt 0 ] || exit 1
[ "$skipped" -eq 0 ] || [ "${TESTS_MUST_RUN:-0}" != 1 ]

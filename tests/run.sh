#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs test groups and counts: tests/run.sh [--built] GROUP..., a GROUP is unit, kernel, e2e, fault, or
# one that takes longer: model, storm, sanitizers.
# Without --built it first installs what is missing and builds. TEST=PATTERN selects tests: a
# --gtest_filter for unit and kernel, a regular expression on the name for e2e and fault. FAULT=all
# makes fault complete: see tests/fault/check.sh; STORM=SECONDS, 120, is how long storm rages. The last line is
# "N passed, N failed". It fails if a test failed, if none ran, and under TESTS_MUST_RUN=1 if one was
# skipped.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

export FLAVOR=${FLAVOR:-release}
export O=${O:-build/$FLAVOR}
export TEST=${TEST:-}
passed=0
failed=0
skipped=0

usage() {
  echo 'usage: tests/run.sh [--built] {unit|kernel|e2e|fault|model|storm|sanitizers}...' >&2
  exit 2
}

# The number of tests in the line of gtest's summary that starts with this mark.
gtest_count() { # MARK < OUTPUT
  sed -n "s/^\[  $1 *\] \([0-9]*\) tests\{0,1\}[.,].*/\1/p" | tail -n 1
}

run_gtest() { # PROGRAM
  local output status bad
  output=$(mktemp) || exit 1
  echo "== ${1##*/}"
  "$1" --gtest_color=no ${TEST:+"--gtest_filter=$TEST"} 2>&1 | tee "$output" | grep -v '^\[ RUN \|^\[  *OK ' | sed '/^$/d'
  status=${PIPESTATUS[0]}
  bad=$(gtest_count FAILED <"$output")
  if [ "$status" -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then
    echo "${1##*/} ended with exit status $status"
    bad=1
  fi
  passed=$((passed + $(gtest_count PASSED <"$output" | grep . || echo 0)))
  skipped=$((skipped + $(gtest_count SKIPPED <"$output" | grep . || echo 0)))
  failed=$((failed + ${bad:-0}))
  rm -f "$output"
}

run_gtest_group() { # GROUP
  local source program
  for source in "tests/$1"/*/; do
    program=$O/bin/$1-$(basename "$source")
    find "$source" -name '*.cc' | grep -q . || continue
    if [ -x "$program" ]; then
      run_gtest "$program"
    else
      echo "$program is not built" >&2
      failed=$((failed + 1))
    fi
  done
}

# Runs a command that prints a line "ok ..." or "not ok ..." for each test.
run_tap() { # NAME COMMAND...
  local output status name=$1
  shift
  echo "== $name"
  if [ "$(id -u)" -ne 0 ]; then
    echo 'skipped: it needs root'
    skipped=$((skipped + 1))
    return
  fi
  output=$(mktemp) || exit 1
  "$@" | tee "$output"
  status=${PIPESTATUS[0]}
  skipped=$((skipped + $(grep -c '^ok .* # skip' "$output")))
  passed=$((passed + $(grep '^ok ' "$output" | grep -vc ' # skip')))
  failed=$((failed + $(grep -c '^not ok ' "$output")))
  if [ "$status" -ne 0 ] && ! grep -q '^not ok ' "$output"; then
    echo "$name ended with exit status $status"
    failed=$((failed + 1))
  fi
  rm -f "$output"
}

run_e2e() {
  # The limit of a test is a net for one that hangs; each wait in a test has its own, shorter one.
  BATS_TEST_TIMEOUT=120 run_tap e2e bats --tap --timing ${TEST:+--filter "$TEST"} tests/e2e
}

run_fault() {
  FAULT=${FAULT:-quick} run_tap fault tests/fault/check.sh
}

build=yes
if [ "${1:-}" = --built ]; then
  build=no
  shift
fi
[ $# -gt 0 ] || usage
for group in "$@"; do
  case $group in unit | kernel | e2e | fault | model | storm | sanitizers) ;; *) usage ;; esac
done

if [ "$build" = yes ]; then
  packaging/deps.sh build e2e || exit 1
  make --no-print-directory -j"$(nproc)" O="$O" test-programs || exit 1
fi
for group in "$@"; do
  case $group in
    e2e) run_e2e ;;
    fault) run_fault ;;
    model) TEST='*ModelTest*' MODEL=all run_gtest "$O/bin/unit-hook" ;;
    storm) run_tap storm tests/storm/check.sh "${STORM:-120}" ;;
    sanitizers) run_tap sanitizers tests/storm/sanitizers.sh ;;
    *) run_gtest_group "$group" ;;
  esac
done

summary="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || summary+=", $skipped skipped"
echo "$summary"
[ "$failed" -eq 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 1
[ "$skipped" -eq 0 ] || [ "${TESTS_MUST_RUN:-0}" != 1 ]

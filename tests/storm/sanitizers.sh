#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the ledger's tests with the thread sanitizer and with the address sanitizer, runs them, and prints TAP:
# tests/storm/sanitizers.sh. The thread sanitizer finds nothing in many processes with one thread each. So it runs only
# the test with threads, which saves minutes.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

number=0
failed=0

# Runs the suites that FILTER selects. Fails if there are none.
# shellcheck disable=SC2317 # called by check
run_suites() { # PROGRAM FILTER
  local output status=0
  output=$("$1" --gtest_filter="$2" 2>&1) || status=$?
  grep -vE '^\[( RUN  |       OK |-----)' <<<"$output"
  [ "$status" -eq 0 ] && grep -qE '^\[  PASSED  \] [1-9]' <<<"$output"
}

check() { # TEXT COMMAND...
  local output result=ok
  number=$((number + 1))
  output=$("${@:2}" 2>&1) || result='not ok'
  if [ "$result" = ok ]; then output=$(tail -n 1 <<<"$output"); else failed=1; fi
  echo "$result $number - $1"
  echo "# ${output//$'\n'/$'\n'# }"
}

echo 1..6
for flavor in tsan asan; do
  bin=build/$flavor/bin
  together='*'
  [ "$flavor" = asan ] || together='ThreadsOnOneLedger.*'
  check "$flavor: the tests of the ledger are built" \
    make --no-print-directory -j"$(nproc)" FLAVOR="$flavor" O="build/$flavor" "$bin/kernel-hook-ledger" "$bin/unit-hook-ledger"
  check "$flavor: many on one ledger at the same time" run_suites "$bin/kernel-hook-ledger" "$together"
  check "$flavor: what each change of a ledger does" run_suites "$bin/unit-hook-ledger" '*'
done
exit "$failed"

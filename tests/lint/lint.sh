#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the given checks, or every check of this folder but tidy.sh: tests/lint/lint.sh [CHECK]... Checks run side by
# side. When a check ends, the script prints its findings, whether it passed, and how long it took.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

run() { # CHECK
  local start=${EPOCHREALTIME//[!0-9]/} output verdict=ok tenths
  output=$("./$1.sh" 2>&1) || verdict=FAILED
  tenths=$(((${EPOCHREALTIME//[!0-9]/} - start) / 100000))
  printf '%slint: %s: %s (%d.%d s)\n' "${output:+$output$'\n'}" "$1" "$verdict" $((tenths / 10)) $((tenths % 10))
  [ "$verdict" = ok ]
}

# The checks that take long start first.
checks=("$@")
[ $# -gt 0 ] || checks=(headers shell format try layering layering_test text attacks man units sizes)
export -f run
printf '%s\n' "${checks[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'run {}'

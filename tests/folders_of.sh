#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the folders of unit tests with a suite that a --gtest_filter may select: tests/folders_of.sh FILTER. Prints
# all folders with tests if the filter does not start with a name.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

suites=()
IFS=: read -ra patterns <<<"${1%%-*}"
for pattern in "${patterns[@]}"; do
  suite=${pattern%%.*}
  suite=${suite##*/}
  suites+=("${suite//\*/.*}")
done
names=$(IFS='|' && echo "${suites[*]}")
grep -rlE "^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\((${names:-.*})," --include='*_test.cc' tests/unit | xargs -r -n 1 dirname | sort -u

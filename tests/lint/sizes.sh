#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file that is longer than this does more than one thing. (Functions: see .clang-tidy.)
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

check() { # LIMIT PATTERN...
  local limit=$1 file lines
  shift
  while IFS= read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le "$limit" ] || finding "$file:$lines" "longer than $limit lines"
  done < <(files "$@")
}

check 200 '*.h'
check 400 '*.cc' '*.sh' '*.bash' '*.bats' '*.proto'
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file that is longer than this does more than one thing. (Functions: see .clang-tidy.)
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

check() { # LIMIT PATTERN...
  finding_each "longer than $1 lines" < <(
    files "${@:2}" | xargs -r awk -v limit="$1" 'FNR == limit + 1 { print FILENAME ":" FNR ":" }'
  )
}

check 200 '*.h'
check 400 '*.cc' '*.sh' '*.bash' '*.bats' '*.pl' '*.proto'
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every check of this folder but tidy.sh, says which failed, and fails if one did.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

failed=()
for check in layering layering_test headers try sizes text format shell man units; do
  if ./"$check.sh"; then
    echo "lint: $check: ok"
  else
    echo "lint: $check: FAILED"
    failed+=("$check")
  fi
done
[ ${#failed[@]} -eq 0 ]

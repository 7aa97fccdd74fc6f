#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Upgrades a host of an early release while its containers run: tests/upgrade/check.sh. Builds that release from the
# project's history, once, below build/upgrade. Needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
# The first release of which sites have containers. Its partitions have names without a host: c-<12 hex>.
OLD=91b3c85
if ! git cat-file -e "$OLD^{commit}" 2>/dev/null; then
  echo "this clone has no commit $OLD; run 'git fetch --unshallow', and then this again" >&2
  exit 1
fi
export OLD_TREE=$PWD/build/upgrade/$OLD
mkdir -p "$OLD_TREE"
[ -e "$OLD_TREE/Makefile" ] || git archive "$OLD" | tar -x -C "$OLD_TREE"
env MAKEFLAGS='' make --no-print-directory -s -j"$(nproc)" -C "$OLD_TREE" O=build/release FLAVOR=release all
BATS_TEST_TIMEOUT=300 timeout --foreground --kill-after=10 900 bats --tap --timing tests/upgrade/upgrade.bats

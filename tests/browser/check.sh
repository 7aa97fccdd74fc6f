#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Opens the page of `ipuctl report` with 1000 leases in a headless browser, and prints TAP: tests/browser/check.sh
# SHOTS=DIR writes screenshots there. They are for people: no test compares them.
set -euo pipefail
cd "$(dirname "$0")/../.."
O=${O:-build/${FLAVOR:-release}}

if ! type -P chromium >/dev/null; then
  echo '1..1'
  echo "ok 1 the page in a browser # skip chromium is not installed: packaging/deps.sh browser"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$O/bin/report-sample" 1000 >"$work/page.html"
"$O/bin/report-sample" 0 >"$work/empty.html"
PYTHONDONTWRITEBYTECODE=1 timeout --foreground --kill-after=10 500 \
  python3 tests/browser/page_test.py "$work/page.html" "$work/empty.html"

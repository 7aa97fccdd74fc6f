#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares the figures of two runs of `make bench`: compare.sh BEFORE.json AFTER.json. Only what a variant adds to the
# first one of its run is compared, because two runs never have the same machine. A change is flagged if the intervals
# of the two runs have nothing in common. The exit status is 1 if something became slower.
set -euo pipefail
[ $# -eq 2 ] || {
  echo "usage: make bench-compare BEFORE=FILE AFTER=FILE, with figures of 'make bench BENCH_JSON=FILE'" >&2
  exit 2
}
jq -rn --slurpfile before "$1" --slurpfile after "$2" '
  def figures: [.[] | .title as $title | .variants[1:][] | {key: "\($title): \(.name)", value: {added, added_cpu}}] | from_entries;
  def hundredths: . * 100 | round / 100;
  def shown: "\(.median | hundredths) (\(.low | hundredths) to \(.high | hundredths))";
  def verdict($b; $a): if $a.low > $b.high then "SLOWER" elif $a.high < $b.low then "faster" else "same" end;
  ($before | figures) as $b | ($after | figures) as $a | $a | keys_unsorted[] | select($b[.] != null) as $key
  | ("added", "added_cpu") as $kind
  | [verdict($b[$key][$kind]; $a[$key][$kind]), $key, ($kind | if . == "added" then "wall" else "CPU" end),
     ($b[$key][$kind] | shown), ($a[$key][$kind] | shown)] | @tsv' |
  awk -F '\t' '{ printf "%-7s %-60s %-5s %-26s -> %s\n", $1, $2, $3, $4, $5; slower += $1 == "SLOWER" } END { exit slower > 0 }'

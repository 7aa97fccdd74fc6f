#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target under libFuzzer: tests/fuzz/fuzz.sh. `make fuzz` builds them first.
#   FUZZ_SECONDS=N   tries each target for N seconds; 60 by default
#   TEST=REGEX       selects targets
#   TEST_JOBS=N      runs N targets at a time; one for each processor by default
# What libFuzzer learns stays in build/fuzz/corpus. Prints a line for each target, and fails if one found something:
# the input is then in build/fuzz/findings.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

O=build/fuzz
SEEDS=tests/data/fuzz
export FUZZ_SECONDS=${FUZZ_SECONDS:-60} O SEEDS
mkdir -p "$O/findings"

# Adds a run of libFuzzer to the log of TARGET. An input of 1 MB may take 10 s under the sanitizers, on a busy machine.
run() { # TARGET SECONDS OPTION|FOLDER...
  nice "$O/bin/fuzz-$1" -max_total_time="$2" -max_len=1048576 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$O/findings/$1-" "$O/corpus/$1" "${@:3}" >>"$O/findings/$1.log" 2>&1 || echo "$1" >>"$O/findings/failed"
}

# For most of the time, inputs grow from the small seeds: small ones are fast. Then they have any length from the start.
fuzz() { # TARGET
  local small=$O/seeds/$1
  rm -rf "$small" "$O/findings/$1.log"
  mkdir -p "$O/corpus/$1" "$small"
  find "$SEEDS/$1" -type f ! -name 'long_*' ! -name 'many_*' -exec cp -t "$small" {} +
  run "$1" $((FUZZ_SECONDS * 4 / 5)) "$small"
  run "$1" $((FUZZ_SECONDS - FUZZ_SECONDS * 4 / 5)) -len_control=0 "$SEEDS/$1"
  awk -v target="$1" '
    / cov: / { for (i = 1; i < NF; ++i) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1) } }
    /^stat::number_of_executed_units:/ { runs += $2 }
    /^stat::slowest_unit_time_sec:/ && $2 > slowest { slowest = $2 }
    /^stat::peak_rss_mb:/ && $2 > memory { memory = $2 }
    /^SUMMARY: / { found = substr($0, 10) }
    END {
      printf "%-14s %9d runs  coverage %5d edges %6d features  slowest %d s  %4d MB  %s\n", target, runs, cov, ft,
        slowest, memory, found == "" ? "ok" : found
    }' "$O/findings/$1.log"
}
export -f run
export -f fuzz

mapfile -t targets < <(find "$SEEDS" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | grep -E -- "${TEST:-.}")
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no target is called '$TEST'"; exit 1; }
rm -f "$O/findings/failed"
printf '%s\0' "${targets[@]}" | xargs -0 -P "${TEST_JOBS:-$(nproc)}" -I {} bash -c 'fuzz {}'
[ ! -e "$O/findings/failed" ] || {
  echo "fuzz: look at $O/findings. To try one input again: $O/bin/fuzz-TARGET FILE"
  exit 1
}

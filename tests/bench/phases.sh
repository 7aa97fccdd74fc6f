# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs inside the throw-away host, where the bundles are: phases.sh WRAPPER ROUNDS BUNDLE... Creates a container of each
# bundle in each round, in an order of its own, and prints how long each step of `ipuctl trace` took: median, p10, p90
# and p99. A bundle without a request has no trace, so it has one line, for the whole command.
set -euo pipefail
wrapper=$1 rounds=$2
shift 2

# Prints what `create` took as the last step of the trace. A step's text loses the words with a digit, by which two
# starts differ.
one_create() { # BUNDLE ID
  local from to trace='[]'
  [ ! -e "$1.json" ] || cp "$1.json" "$1/config.json"
  from=${EPOCHREALTIME/./}
  "$wrapper" create --bundle "$1" "$2" >/dev/null </dev/null
  to=${EPOCHREALTIME/./}
  ! grep -q graphcore.ai/ipu.lease "$1/config.json" || trace=$(ipuctl trace "$2" --output json)
  "$wrapper" delete --force "$2"
  jq -c --arg bundle "$1" --argjson all "$((to - from))" '
    map({bundle: $bundle, program, step: (.step | gsub("[^ ]*[0-9][^ ]*"; "*")), ms: .step_ms})
    + [{bundle: $bundle, program: "", step: "the whole of create", ms: ($all / 1000)}] | .[]' <<<"$trace"
}

for ((round = 1; round <= rounds; ++round)); do
  for bundle in $(shuf -e "$@"); do
    one_create "$bundle" "phases-$$-$round"
    sleep 0.1
  done
done | jq -rs '
  def rank($percent): sort | .[((length * $percent + 99) / 100 | floor) - 1];
  def column($width): tostring | . + " " * ([$width - length, 0] | max);
  def number: . * 100 | round / 100 | column(9);
  ("  " + ("bundle" | column(10)) + ("p10" | column(9)) + ("p50" | column(9)) + ("p90" | column(9)) + ("p99" | column(9))
    + "step"),
  # In the order of the trace: the steps of the first round come in it.
  (to_entries | group_by([.value.bundle, .value.program, .value.step]) | sort_by([.[0].value.bundle, .[0].key])[]
    | map(.value) | .[0] as $one | map(.ms)
    | "  " + ($one.bundle | column(10)) + (rank(10) | number) + (rank(50) | number) + (rank(90) | number)
      + (rank(99) | number) + $one.step)'

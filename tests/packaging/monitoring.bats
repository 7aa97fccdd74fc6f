#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The rules of Prometheus, by promtool, and the form of the dashboard. tests/e2e/metrics.bats runs its queries.

bats_require_minimum_version 1.5.0

PACKAGING=$BATS_TEST_DIRNAME/../../packaging

@test "each alert fires when it should, and not before" {
  local rules=$PACKAGING/prometheus/ipu-container-toolkit.rules.yml
  sed "s|RULES|$rules|" "$BATS_TEST_DIRNAME/../data/ipu.rules_test.yml" >"$BATS_TEST_TMPDIR/test.yml"
  promtool check rules --lint-fatal "$rules"
  promtool test rules "$BATS_TEST_TMPDIR/test.yml"
  # An alert that fires too early is noticed.
  sed 's/for: 10m/for: 0m/' "$rules" >"$BATS_TEST_TMPDIR/early.yml"
  sed -i "s|^rule_files: .*|rule_files: [early.yml]|" "$BATS_TEST_TMPDIR/test.yml"
  run ! promtool test rules "$BATS_TEST_TMPDIR/test.yml"
}

@test "each alert has a test" {
  local name
  while IFS= read -r name; do
    grep -q "alertname: $name\$" "$BATS_TEST_DIRNAME/../data/ipu.rules_test.yml" || { echo "$name has none"; return 1; }
  done < <(sed -n 's/.*- alert: //p' "$PACKAGING/prometheus/ipu-container-toolkit.rules.yml")
}

@test "the dashboard's panels have ids, places and queries of their own" {
  jq -e '.panels | length >= 10 and (map(.id) | unique | length) == length and (map(.gridPos) | unique | length) == length
    and all(.targets | length > 0) and all(.datasource.uid == "${source}")' "$PACKAGING/grafana/ipu-container-toolkit.json"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl metrics: what a scraper sees of containers, and a real Prometheus that runs all queries of the dashboard.

load support

DASHBOARD=$BATS_TEST_DIRNAME/../../packaging/grafana/ipu-container-toolkit.json
SITE=127.0.0.1:9190
PROMETHEUS=127.0.0.1:9191

teardown() {
  host_stop prometheus
  host_stop site
  remove_containers
  ipuctl gc >/dev/null
  host_config
  assert_nothing_left
}

metric() { ipuctl metrics | sed -n "s/^$1 //p"; } # PATTERN
counts() { # PATTERN VALUE
  [ "$(metric "$1")" = "$2" ] || { ipuctl metrics | grep "${1%%\{*}"; return 1; }
}

@test "promtool finds no fault in the metrics, with containers and without" {
  ipuctl metrics >"$BATS_TEST_TMPDIR/empty"
  run -0 promtool check metrics <"$BATS_TEST_TMPDIR/empty"
  assert_equal "$output" ''
  start one -e IPU_COUNT=4
  ipuctl metrics >"$BATS_TEST_TMPDIR/one"
  run -0 promtool check metrics <"$BATS_TEST_TMPDIR/one"
  assert_equal "$output" ''
}

@test "pools, leases, the queue and today's starts are counted" {
  local before status=0
  # A rate does not see the first sample of a series, so it is there from the beginning.
  before=$(metric 'ipu_starts_total{pool="pod64",tenant=""}')
  [ -n "$before" ]
  start one -e IPU_COUNT=4
  counts 'ipu_pool_up{pool="pod64"}' 1
  counts 'ipu_pool_ipus{pool="pod64",provider="vipu",state="used"}' 4
  counts 'ipu_pool_ipus{pool="pod64",provider="vipu",state="free"}' 60
  counts 'ipu_pool_largest_free_ipus{pool="pod64",provider="vipu"}' 32
  counts 'ipu_leases{pool="pod64",tenant="",state="RUNNING"}' 1
  counts 'ipu_leased_ipus{pool="pod64",tenant="",state="RUNNING"}' 4
  counts 'ipu_starts_total{pool="pod64",tenant=""}' $((before + 1))
  start two -e IPU_COUNT=64 -e IPU_WAIT=60s >/dev/null 2>&1 3>&- &
  local waiting=$!
  wait_until 10 has_waiters 1
  counts 'ipu_queue_requests{pool="pod64",resource="pod64"}' 1
  counts 'ipu_queue_ipus{pool="pod64",resource="pod64"}' 64
  counts 'ipu_queue_first_ipus{pool="pod64",resource="pod64"}' 64
  ipuctl queue cancel two
  wait "$waiting" || status=$?
  assert_equal "$status" 125
  run ! start three -e IPU_COUNT=4096
  [ -n "$(metric 'ipu_refused_starts_total{pool="pod64",cause=".*}')" ]
  docker rm --force one
  wait_until 10 counts 'ipu_pool_ipus{pool="pod64",provider="vipu",state="used"}' 0
  [ -z "$(metric 'ipu_leases{.*RUNNING"}')" ]
}

@test "who waited and was killed is not counted, and the audit log is looked at once in an hour" {
  start one -e IPU_COUNT=64
  start two -e IPU_COUNT=4 -e IPU_WAIT=60s >/dev/null 2>&1 3>&- &
  local waiting=$! status=0
  wait_until 10 has_waiters 1
  # shellcheck disable=SC2016
  in_host sh -c 'kill -KILL $(ipuctl queue -o json | jq ".[].pid")'
  wait "$waiting" || status=$?
  [ "$status" != 0 ]
  wait_until 5 has_no_waiters
  in_host rm -f "$VERDICT"
  counts ipu_audit_log_intact 1
  in_host sed -i 's/1$/0/' "$VERDICT"
  counts ipu_audit_log_intact 0
  in_host sh -c "echo '1 0' >$VERDICT"
  counts ipu_audit_log_intact 1
  in_host sh -c "echo nonsense >$VERDICT"
  counts ipu_audit_log_intact 1
}
VERDICT=/run/ipu-container-toolkit/audit-verdict
has_no_waiters() { [ -z "$(metric 'ipu_queue_requests{.*}')" ]; }

@test "a controller that is away is a metric, and exit status 3; the file is replaced all the same" {
  sim_stop
  run -3 ipuctl metrics --file /run/ipu.prom
  assert_contains "$output" 'cannot be reached'
  assert_equal "$(in_host sed -n 's/^ipu_pool_up{pool="pod64"} //p' /run/ipu.prom)" 0
  assert_equal "$(in_host tail -n 1 /run/ipu.prom)" '# EOF'
  assert_equal "$(in_host stat -c %a /run/ipu.prom)" 644
  run -1 ipuctl metrics --file /nonexistent/ipu.prom
  assert_contains "$output" "/nonexistent"
  sim_start
}

query() { # QUERY
  in_host promtool query instant "http://$PROMETHEUS" "$1"
}
has_scraped() { [ -n "$(query 'rate(ipu_starts_total[30s])' 2>/dev/null)" ]; }

@test "a real Prometheus scrapes them, runs each query of the dashboard, and loads the rules" {
  start one -e IPU_COUNT=4
  in_host mkdir -p /run/site /run/prometheus
  host_spawn site busybox httpd -f -p "$SITE" -h /run/site
  ipuctl metrics --file /run/site/metrics
  in_host cp /dev/stdin /run/prometheus/rules.yml <"$BATS_TEST_DIRNAME/../../packaging/prometheus/ipu-container-toolkit.rules.yml"
  in_host tee /run/prometheus/prometheus.yml >/dev/null <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [/run/prometheus/rules.yml]
scrape_configs: [{job_name: ipu, static_configs: [{targets: ["$SITE"]}]}]
END
  host_spawn prometheus prometheus --config.file /run/prometheus/prometheus.yml --storage.tsdb.path /run/prometheus/data \
    --web.listen-address "$PROMETHEUS" --log.level error
  wait_until 40 has_scraped
  assert_contains "$(query 'ipu_pool_ipus{state="used"}')" '=> 4 @'
  local asked=0 expression
  while IFS= read -r expression; do
    expression=${expression//\$__rate_interval/30s}
    expression=${expression//\$instance/.*}
    expression=${expression//\$pool/.*}
    # Prometheus answers an empty vector to what has no samples. It names each error.
    run -0 query "$expression"
    asked=$((asked + 1))
  done < <(jq -r '.panels[].targets[].expr' "$DASHBOARD")
  [ "$asked" -ge 15 ]
  # These panels show something as soon as one container runs.
  for expression in 'max by (pool) (ipu_pool_largest_free_ipus)' 'sum by (tenant) (ipu_leased_ipus)' \
    'histogram_quantile(0.5, sum by (le) (ipu_start_wait_seconds_bucket))' 'min by (rail) (ipu_rail_addresses{state="free"})'; do
    [ -n "$(query "$expression")" ] || { echo "nothing: $expression"; return 1; }
  done
  assert_equal "$(query 'ALERTS{alertstate="firing"}')" ''
}

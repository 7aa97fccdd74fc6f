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
  sim_answers || sim_start
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
gc_fails() { ! ipuctl gc >/dev/null 2>&1; }

@test "when gc ended last, and what was in its way" {
  local before ended
  in_host rm -f /run/ipu-container-toolkit/last-gc
  assert_equal "$(metric 'ipu_gc_[a-z_]*')" ''
  before=$(date +%s)
  ipuctl gc
  ended=$(metric ipu_gc_timestamp_seconds)
  [ "${ended%.*}" -ge "$before" ]
  [ "${ended%.*}" -le "$(date +%s)" ]
  sleep 1
  ipuctl gc --dry-run
  assert_equal "$(metric ipu_gc_timestamp_seconds)" "$ended"
  counts ipu_gc_obstacles 0
  start one -e IPU_COUNT=4
  sim_stop
  docker rm --force one
  # At first, the process that poststop started has the lease.
  wait_until 30 gc_fails
  run ipuctl metrics
  [ "$(sed -n 's/^ipu_gc_obstacles //p' <<<"$output")" -ge 1 ]
  sim_start
  ipuctl gc
  counts ipu_gc_obstacles 0
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

errors() { metric "ipu_controller_errors{pool=\"pod64\",status=\"$1\"}"; } # STATUS

@test "how the controller answered starts and releases is counted" {
  local made fast before full
  # Others have used this host today. Of their failures, the history has folded some; this tenant has none.
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[policy]\ntenant_variable = true'
  fast=$(metric 'ipu_controller_seconds_bucket{pool="pod64",call="create",le="0.02"}')
  made=$(metric 'ipu_controller_seconds_count{pool="pod64",call="create"}')
  before=$(errors UNAVAILABLE)
  full=$(errors RESOURCE_EXHAUSTED)
  start one -e IPU_TENANT=metrics -e IPU_COUNT=64
  counts 'ipu_controller_seconds_count{pool="pod64",call="create"}' $((made + 1))
  # The simulator takes 50 ms.
  counts 'ipu_controller_seconds_bucket{pool="pod64",call="create",le="0.02"}' "$fast"
  run ! start two -e IPU_TENANT=metrics -e IPU_COUNT=4
  assert_contains "$output" 'has no free block of 4 IPUs'
  # What a failure of this test shows.
  ipuctl events --since 1m
  counts 'ipu_controller_errors{pool="pod64",status="RESOURCE_EXHAUSTED"}' $((full + 1))
  # The history keeps the first and the last of a kind.
  run ! start again -e IPU_TENANT=metrics -e IPU_COUNT=4
  run ! start thrice -e IPU_TENANT=metrics -e IPU_COUNT=4
  counts 'ipu_controller_errors{pool="pod64",status="RESOURCE_EXHAUSTED"}' $((full + 3))
  sim_stop
  run ! start three -e IPU_TENANT=metrics -e IPU_COUNT=4
  # The outcome is 3 while the controller is away.
  run -3 ipuctl metrics --file /run/ipu.prom
  [ "$(in_host sed -n 's/^ipu_controller_errors{pool="pod64",status="UNAVAILABLE"} //p' /run/ipu.prom)" -gt "$before" ]
  sim_start
  counts 'ipu_controller_seconds_count{pool="pod64",call="create"}' $((made + 1))
}

dropped() { metric 'ipu_border_dropped_frames_total{chain="to-container",rule="all else"}'; }
has_dropped() { [ "$(dropped)" -ge "$1" ]; } # NUMBER

# Sends container NAME three datagrams that it may not have.
send_refused() { # NAME
  local address mac
  address=$(address_in "$1")
  mac=$(lease_of "$1" '.rails[0].mac')
  # shellcheck disable=SC2016
  in_host ip netns exec pod bash -c 'device=$(ip -o route get "$1" | sed "s/.* dev \([^ ]*\).*/\1/")
    ip neighbour replace "$1" lladdr "$2" dev "$device"
    for i in 1 2 3; do echo hello >"/dev/udp/$1/53"; done
    ip neighbour del "$1" dev "$device"' bash "$address" "$mac"
}

# Without CAPABILITY there is no such metric, and no error.
assert_no_border_without() { # CAPABILITY
  local shown
  shown=$(in_host setpriv --bounding-set "-$1" ipuctl metrics)
  assert_contains "$shown" ipu_pool_up
  [[ $shown != *ipu_border_* ]]
}

@test "frames that the border drops are counted, while there is a border" {
  local before filter
  for filter in nftables tc; do
    printf '[network]\nfilter = "%s"\n' "$filter" | in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
    assert_equal "$(metric 'ipu_border_.*')" ''
    start one -e IPU_COUNT=4
    before=$(dropped)
    [ -n "$before" ]
    send_refused one
    wait_until 5 has_dropped $((before + 3))
    [ "$filter" = tc ] || assert_no_border_without net_admin
    [ "$filter" = nftables ] || assert_no_border_without sys_admin
    docker rm --force one
    wait_until 10 has_leases 0
    ipuctl gc
    assert_equal "$(metric 'ipu_border_.*')" ''
    host_config
  done
}

query() { # QUERY
  in_host promtool query instant "http://$PROMETHEUS" "$1"
}
# The number that an instant query answers, without its fraction.
number() { query "$1" | sed -n 's/.*=> \([0-9]*\).* @.*/\1/p'; } # QUERY
has_scraped_use() { [ "$(number 'ipu_pool_ipus{state="used"}')" = "$1" ]; } # NUMBER
has_scraped() { [ -n "$(query 'rate(ipu_starts_total[30s])' 2>/dev/null)" ]; }

@test "a real Prometheus scrapes them for a minute, runs each query of the dashboard, and loads the rules" {
  start one -e IPU_COUNT=4
  in_host mkdir -p /run/site /run/prometheus
  host_spawn site busybox httpd -f -p "$SITE" -h /run/site
  ipuctl metrics --file /run/site/metrics
  in_host cp /dev/stdin /run/prometheus/rules.yml <"$BATS_TEST_DIRNAME/../../packaging/prometheus/ipu-container-toolkit.rules.yml"
  in_host tee /run/prometheus/prometheus.yml >/dev/null <<END
global: {scrape_interval: 3s, evaluation_interval: 3s}
rule_files: [/run/prometheus/rules.yml]
scrape_configs: [{job_name: ipu, static_configs: [{targets: ["$SITE"]}]}]
END
  host_spawn prometheus prometheus --config.file /run/prometheus/prometheus.yml --storage.tsdb.path /run/prometheus/data \
    --web.listen-address "$PROMETHEUS" --log.level error
  wait_until 40 has_scraped
  # As ipu-metrics.timer, but more often.
  local scraped_until=$((SECONDS + 60))
  start two -e IPU_COUNT=4
  while [ "$SECONDS" -lt "$scraped_until" ]; do
    ipuctl metrics --file /run/site/metrics
    sleep 2
  done
  [ "$(number 'count_over_time(up{job="ipu"}[1m])')" -ge 10 ]
  assert_equal "$(number 'min_over_time(up{job="ipu"}[1m])')" 1
  [ "$(number 'sum(count_over_time(ipu_starts_total{pool="pod64"}[1m]))')" -ge 10 ]
  [ -n "$(query 'increase(ipu_starts_total{pool="pod64"}[2m]) > 0')" ]
  [ -n "$(query 'increase(ipu_controller_seconds_count{call="create"}[2m]) > 0')" ]
  docker rm --force two
  wait_until 10 counts 'ipu_pool_ipus{pool="pod64",provider="vipu",state="used"}' 4
  ipuctl metrics --file /run/site/metrics
  wait_until 10 has_scraped_use 4
  local asked=0 expression
  while IFS= read -r expression; do
    expression=${expression//\$__rate_interval/30s}
    expression=${expression//\$instance/.*}
    expression=${expression//\$pool/.*}
    # Prometheus answers an empty vector to what has no samples. It names each error.
    run -0 query "$expression"
    asked=$((asked + 1))
  done < <(jq -r '.panels[].targets[].expr' "$DASHBOARD")
  [ "$asked" -ge 20 ]
  # These panels show something as soon as one container runs.
  for expression in 'max by (pool) (ipu_pool_largest_free_ipus)' 'sum by (tenant) (ipu_leased_ipus)' \
    'histogram_quantile(0.95, sum by (pool, call, le) (ipu_controller_seconds_bucket)) > 0' \
    'sum by (pool, status) (ipu_controller_errors)' 'sum by (instance, chain) (ipu_border_dropped_frames_total)' \
    'histogram_quantile(0.5, sum by (le) (ipu_start_wait_seconds_bucket))' 'min by (rail) (ipu_rail_addresses{state="free"})'; do
    [ -n "$(query "$expression")" ] || { echo "nothing: $expression"; return 1; }
  done
  assert_equal "$(query 'ALERTS{alertstate="firing"}')" ''
}

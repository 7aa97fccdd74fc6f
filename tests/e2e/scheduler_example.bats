#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# packaging/examples/scheduler as it stands: what the prolog and the epilog of a scheduler do, and its job in between.

load support

JOB=/run/ipu-job

setup_file() { in_host install -m 0755 /dev/stdin "$JOB" <"$BATS_TEST_DIRNAME/../../packaging/examples/scheduler/ipu-job"; }
teardown_file() { in_host rm "$JOB"; }

teardown() {
  remove_containers
  for name in $(ipuctl reservation list -o json | jq -r '.[].reservation'); do ipuctl reservation end --force "$name"; done
  assert_nothing_left
}

# A scheduler sets no PATH.
ipu_job() { in_host env -i IPU_PROLOG_WAIT="${LONGEST:-1s}" "$JOB" "$@"; } # COMMAND JOB ARGUMENT...
reservations() { ipuctl reservation list -o json | jq -r '.[] | "\(.reservation) \(.ipus) \(.containers | length)"'; }

@test "a job has its IPUs from the prolog to the epilog, and each may run twice" {
  ipu_job prolog 4711 8
  assert_equal "$(reservations)" 'job-4711 8 0'
  ipu_job prolog 4711 8
  run -0 ipu_job run 4711 --rm busybox cat /run/ipu/lease.json
  assert_equal "$(jq -r .ipus <<<"$output")" 8
  ipu_job run 4711 --detach --name trainer busybox sleep 3600
  assert_equal "$(reservations)" 'job-4711 8 1'
  run ! ipu_job prolog 4711 8
  assert_contains "$output" 'is in use by'
  ipu_job epilog 4711
  assert_equal "$(reservations)" ''
  run ! docker inspect trainer
  run -0 ipu_job epilog 4711
  assert_contains "$output" "'job-4711' has no reservation"
}

@test "ids of any form: the reservation of one job is not that of another one" {
  local id ids=('41[3].head' 7b1c9d3e-0f6a-4c55-9d1e-5f2a8b3c4d5e "$(printf 'x%.0s' {1..300})" 'a b' '../c')
  for id in "${ids[@]}"; do ipu_job prolog "$id" 4; done
  assert_equal "$(reservations | sort -u | wc -l)" 5
  ipu_job run 'a b' --detach --name trainer busybox sleep 3600
  ipu_job epilog '../c'
  assert_equal "$(reservations | wc -l)" 4
  docker inspect trainer >/dev/null
  for id in "${ids[@]}"; do ipu_job epilog "$id"; done
  assert_equal "$(reservations)" ''
}

@test "a full pool, and what no pool has: the prolog fails with the reason, and keeps nothing" {
  ipu_job prolog large 64
  run ! ipu_job prolog small 4
  assert_contains "$output" 'no free block of 4 IPUs'
  run ! ipu_job prolog odd 3
  assert_contains "$output" '--ipus'
  run ! ipu_job prolog huge 128
  assert_equal "$(reservations)" 'job-large 64 0'
  for arguments in '' 'prolog' 'prolog 1' 'prolog 1 2 3' 'epilog' 'epilog 1 2' 'start 1'; do
    # shellcheck disable=SC2086
    run -2 ipu_job $arguments
    assert_contains "$output" usage
  done
  run -2 ipu_job epilog ''
  # A job that waits gets what the first one gives back.
  LONGEST=30s ipu_job prolog small 4 &
  wait_until 10 in_host sh -c 'ipuctl queue -o json | grep -q job-small'
  ipu_job epilog large
  wait $!
  assert_equal "$(reservations)" 'job-small 4 0'
  ipu_job epilog small
}

@test "a prolog that is killed while it waits leaves nothing, and the next one begins anew" {
  ipu_job prolog large 64
  # shellcheck disable=SC2016 # the shell in the host expands it
  in_host env -i sh -c 'echo $$ >/run/prolog.pid; exec "$0" prolog small 4' "$JOB" &
  wait_until 10 in_host sh -c 'ipuctl queue -o json | grep -q job-small'
  # shellcheck disable=SC2016
  in_host sh -c 'pid=$(cat /run/prolog.pid); kill -KILL $(cat "/proc/$pid/task/$pid/children") "$pid"; rm /run/prolog.pid'
  if wait $!; then fail 'the prolog was not killed'; fi
  ipu_job epilog small
  ipu_job epilog large
  ipuctl gc
  assert_equal "$(reservations)" ''
  assert_equal "$(ipuctl queue -o json)" '[]'
  ipu_job prolog small 4
  ipu_job epilog small
}

@test "an epilog that comes while the prolog waits ends the wait" {
  ipu_job prolog large 64
  LONGEST=60s ipu_job prolog small 4 &
  wait_until 10 in_host sh -c 'ipuctl queue -o json | grep -q job-small'
  ipu_job epilog small
  if wait $!; then fail 'the prolog got IPUs'; fi
  ipu_job epilog large
  assert_equal "$(reservations)" ''
}

@test "docker that is away: the epilog gives the IPUs back by force" {
  ipu_job prolog 4711 8
  ipu_job run 4711 --detach --name trainer busybox sleep 3600
  run -0 in_host env -i DOCKER_HOST=unix:///run/nobody.sock "$JOB" epilog 4711
  assert_contains "$output" 'has ended; its 8 IPUs are free'
  assert_equal "$(reservations)" ''
  docker rm --force trainer
}

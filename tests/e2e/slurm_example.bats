#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# packaging/examples/slurm, run as it stands by Debian's Slurm, for a user who is not root. The image graphcore/pytorch is
# busybox, whose python3 runs a shell script.

load support
load slurm

EXAMPLE=$BATS_TEST_DIRNAME/../../packaging/examples/slurm

setup_file() {
  in_host install -D -m 0755 /dev/stdin /etc/slurm/epilog <"$EXAMPLE/epilog"
  in_host install -D -m 0755 /dev/stdin /run/slurm/image/python3 <<'END'
#!/bin/sh
exec sh "$@"
END
  in_host sh -c "printf 'FROM busybox\nCOPY python3 /bin/python3\n' >/run/slurm/image/Dockerfile"
  docker build --quiet --tag graphcore/pytorch /run/slurm/image >/dev/null
  slurm_up <"$EXAMPLE/slurm.conf"
  in_host install -m 0644 -o jane /dev/stdin "$JOBS/train.sbatch" <"$EXAMPLE/train.sbatch"
}

teardown_file() {
  docker image rm --force graphcore/pytorch >/dev/null
  slurm_down
}

teardown() {
  slurm_clear || return
  remove_containers
  assert_nothing_left
}

# Submits the example, whose train.py is the script on standard input, and prints the number of the job.
submit() { # [SBATCH-OPTION...]
  in_host install -m 0644 /dev/stdin "$JOBS/train.py"
  as_jane sbatch --parsable "$@" train.sbatch
}

epilog() { in_host env -i ${1:+SLURM_JOB_ID="$1"} /etc/slurm/epilog; } # [JOB]

@test "a job gets its IPUs, and its output is in its file" {
  local job
  # shellcheck disable=SC2016 # The container expands it.
  job=$(submit <<<'grep -c "\"ip\"" "$IPUOF_CONFIG_PATH"')
  wait_until 30 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  assert_equal "$(output_of "$job")" 4
  assert_nothing_left
}

waits_for_licences() { [ "$(slurm squeue --noheader --jobs "$1" --format %r)" = Licenses ]; } # JOB

@test "a job starts when its licences are free" {
  local first second
  first=$(submit -L ipu:48 <<<'echo begins; while [ ! -e go ]; do sleep 0.1; done')
  wait_until 30 has_said "$first" begins || fail "$(state "$first")" "$(output_of "$first")"
  second=$(as_jane sbatch --parsable -L ipu:48 train.sbatch)
  wait_until 20 waits_for_licences "$second"
  assert_equal "$(state "$second")" PENDING
  as_jane touch go
  wait_until 40 is_in_state "$second" COMPLETED || fail "$(state "$second")" "$(output_of "$second")"
  assert_equal "$(state "$first")" COMPLETED
  in_host rm "$JOBS/go"
}

@test "scancel gives the IPUs back for the next job, and drains no node" {
  local first second
  first=$(submit <<<'echo begins; exec sleep 3600')
  wait_until 30 has_said "$first" begins || fail "$(state "$first")" "$(output_of "$first")"
  in_host sed 's/IPU_COUNT=4/IPU_COUNT=64/' "$JOBS/train.sbatch" | in_host tee "$JOBS/all.sbatch" >/dev/null
  second=$(as_jane sbatch --parsable -L ipu:64 all.sbatch)
  as_jane scancel "$first"
  wait_until 40 has_said "$second" begins || fail "$(state "$second")" "$(output_of "$second")"
  assert_equal "$(ipuctl ps --output json | jq -c 'map(.ipus | length)')" '[64]'
  as_jane scancel "$second"
  wait_until 30 nothing_is_left || fail 'still there:' "$(leftovers)"
  assert_idle
}

@test "a job that waits for IPUs ends by scancel" {
  local job
  start holder -e IPU_COUNT=64
  job=$(submit <<<'echo begins')
  wait_until 30 has_waiters 1 || fail "$(state "$job")" "$(output_of "$job")"
  as_jane scancel "$job"
  wait_until 30 has_waiters 0 || fail "$(ipuctl queue)"
  assert_idle
  assert_equal "$(docker ps --all --format '{{.Names}}')" holder
}

@test "a job that is requeued runs again, with the same number" {
  local job
  job=$(submit --requeue <<<'if [ -e again ]; then echo again; else touch again; echo begins; exec sleep 3600; fi')
  wait_until 30 has_said "$job" begins || fail "$(state "$job")" "$(output_of "$job")"
  requeue "$job"
  has_said "$job" again
  assert_idle
  in_host rm "$JOBS/again"
}

@test "the epilog ends the containers of its job alone, and never fails" {
  start one --label slurm.job=1
  start none --label slurm.job=
  start eleven --label slurm.job=11
  start other
  epilog 1
  assert_equal "$(docker ps --all --format '{{.Names}}' | sort)" $'eleven\nnone\nother'
  epilog 1
  epilog
  assert_equal "$(docker ps --all --format '{{.Names}}' | sort)" $'eleven\nnone\nother'
  # What it cannot end is a line in syslog. A stand-in of logger has it: the host has no syslog.
  in_host install -D -m 0755 /dev/stdin /usr/local/sbin/logger <<'END'
#!/bin/sh
echo "$*" >>/run/slurm/logged
END
  docker_stop
  epilog 11
  docker_start
  in_host rm /usr/local/sbin/logger
  assert_equal "$(in_host cat /run/slurm/logged)" '-t ipu-epilog job 11: docker does not list the containers'
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debian's Slurm runs with the lines that `ipuctl slurm config` prints.

load support
load slurm
# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"

setup_file() {
  plugin_install
  ipuctl partition create p0 --size 4 >/dev/null
  {
    ipuctl slurm config plugstack.conf | sed '/^#/d' | tr -d '\n'
    echo " cgroup=/$HOST_CGROUP/slurm"
  } | in_host tee /etc/slurm/plugstack.conf >/dev/null
  ipuctl slurm config job_submit.lua | in_host tee /etc/slurm/job_submit.lua >/dev/null
  # The machine's cgroups may be such that Slurm cannot use them.
  ipuctl slurm config slurm.conf | sed '/^ProctrackType=/d' | slurm_up
}

teardown_file() {
  remove_partitions
  plugin_down
  assert_nothing_left
}

teardown() {
  remove_containers
  slurm_clear || return
  sim_start
  etcd_stop
  host_config
  unconfigure_fleet
}

@test "with the lines that it prints, a job has its IPUs and their licences" {
  local job
  assert_contains "$(slurm scontrol --oneliner show licenses)" 'LicenseName=ipu Total=60 '
  assert_equal "$(as_jane srun --quiet --ipus=4 jq .ipus /run/ipu/lease.json)" 4
  job=$(as_jane sbatch --parsable --hold --ipus=8 --wrap true)
  assert_equal "$(field "$job" Licenses)" ipu:8
  # What a container has now is none of a named partition.
  start one -e IPU_COUNT=4
  assert_contains "$(ipuctl slurm config slurm.conf)" 'Licenses=ipu:60'
  ipuctl partition remove p0
}

@test "without a file's name it prints all, each with a heading that is a comment" {
  local name parts=
  for name in slurm.conf plugstack.conf job_submit.lua; do
    run -0 ipuctl slurm config "$name"
    [[ $output =~ ^(#|--)" $name, " ]] || fail "$output"
    parts+=$output$'\n\n'
  done
  assert_equal "$(ipuctl slurm config)" "${parts%$'\n\n'}"
  run -2 ipuctl slurm config gres.conf
  assert_contains "$output" "'gres.conf' is none of slurm.conf, plugstack.conf, job_submit.lua"
}

@test "a job waits no longer than each tenant may" {
  assert_contains "$(ipuctl slurm config plugstack.conf)" ' wait=2m '
  ipuctl config set policy.max_wait 90s >/dev/null
  assert_contains "$(ipuctl slurm config plugstack.conf)" ' wait=90s '
  in_host tee -a "$CONFIG" >/dev/null <<<$'[[tenant]]\nname = "vision"\nmax_wait = "30s"'
  assert_contains "$(ipuctl slurm config plugstack.conf)" ' wait=30s '
  in_host tee -a "$CONFIG" >/dev/null <<<$'[[tenant]]\nname = "language"\nmax_wait = "10m"'
  assert_contains "$(ipuctl slurm config plugstack.conf)" ' wait=30s '
  etcd_start
  configure_fleet
  ipuctl fleet join >/dev/null
  ipuctl tenant set audio --max-wait 20s >/dev/null
  assert_contains "$(ipuctl slurm config plugstack.conf)" ' wait=20s '
  run -0 ipuctl slurm config slurm.conf
  [[ $output != *'your allocation or cluster'* ]] || fail "$output"
  ipuctl tenant set audio --allocation a1 >/dev/null
  assert_contains "$(ipuctl slurm config slurm.conf)" 'your allocation or cluster'
  ipuctl fleet leave >/dev/null
}

@test "the number of an allocation is for the administrator to write" {
  run -0 ipuctl slurm config slurm.conf
  [[ $output != *'your allocation or cluster'* ]] || fail "$output"
  ipuctl config set pool.allocation a1 >/dev/null
  run -0 ipuctl slurm config slurm.conf
  assert_contains "$output" 'Write the number of your allocation or cluster instead'
}

@test "without a controller it says so; a pool that has none takes no licences" {
  sim_stop
  run -3 ipuctl slurm config slurm.conf
  assert_contains "$output" 'cannot be reached'
  run -0 ipuctl slurm config plugstack.conf
  in_host tee "$CONFIG" >/dev/null <<<$'[pool]\nname = "cards"\nprovider = "pcie"'
  run -0 ipuctl slurm config
  assert_contains "$output" 'start jobs with --exclusive'
  [[ $output != *Licenses=* && $output != *JobSubmitPlugins* && $output != *dofile* ]] || fail "$output"
  assert_contains "$output" '-- Nothing: licences do not count the IPUs of pool cards.'
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# licences.lua in Debian's Slurm: a job takes a licence for each of its IPUs.

load support
load slurm

# A job by the name of fault is a fault in the file.
setup_file() {
  in_host install -D -m 0644 /dev/stdin /etc/slurm/job_submit.lua <<'LUA'
local ipu = dofile("/usr/local/share/ipu-container-toolkit/slurm/licences.lua")
function slurm_job_submit(job, partitions, user) return ipu.submit(job.name ~= "fault" and job or nil) end
function slurm_job_modify(job, record, partitions, user) return ipu.modify(job, record, user) end
LUA
  in_host install -m 0755 /dev/stdin /etc/slurm/epilog <<'EPILOG'
#!/bin/sh
for _ in $(seq 600); do [ -e /run/slurm/hold ] || exit 0; sleep 0.1; done
EPILOG
  plugin_up wait=10s <<<$'JobSubmitPlugins=lua\nLicenses=ipu:8,other:9\nEpilog=/etc/slurm/epilog'
}

teardown_file() { plugin_down; }

teardown() {
  in_host rm -f /run/slurm/hold
  slurm_clear || return
  assert_nothing_left
}

hold() { as_jane sbatch --parsable --partition=both --hold "$@" --wrap true; } # SBATCH-OPTION...
waits_for_licences() { [ "$(field "$1" Reason)" = Licenses ]; } # JOB

has_licences_back() { slurm scontrol --oneliner show licenses | grep -q '=ipu .*Used=0 '; }

takes() { # LICENCES NODES SBATCH-OPTION...
  local job
  job=$(hold "${@:3}")
  assert_equal "$(field "$job" Licenses) $(field "$job" NumNodes)" "$1 $2"
}

refused() { # TEXT SBATCH-OPTION...
  run ! hold "${@:2}"
  assert_contains "$output" "$1"
}

@test "a job waits for its IPUs without -L, and one without IPUs does not" {
  local first second
  first=$(as_jane sbatch --parsable --ipus=8 --wrap 'while [ ! -e go ]; do sleep 0.1; done')
  wait_until 30 is_in_state "$first" RUNNING
  second=$(as_jane sbatch --parsable --ipus=4 --wrap 'jq .ipus /run/ipu/lease.json')
  as_jane srun true
  wait_until 30 waits_for_licences "$second" || fail "$(slurm squeue)"
  as_jane touch go
  wait_until 60 is_in_state "$second" COMPLETED || fail "$(slurm squeue)" "$(output_of "$second")"
  assert_equal "$(output_of "$second")" 4
  in_host rm "$JOBS/go"
}

@test "a job takes a licence for each IPU on each of its nodes" {
  takes ipu:4 1-1 --ipus=4
  takes ipu:4 1-1 --ipus=4 --ntasks=1
  takes ipu:4 1-1 --ipus=4 --ntasks=4 --nodes=1
  takes ipu:4 2-2 --ipus=2 --nodes=2
  takes ipu:4 2-2 --ipus=2 --nodelist=ipu-host,second
  takes ipu:4 1-1 --ipus=4 --licenses=ipu:4
  takes ipu:1 1-1 --ipus=1 --licenses=ipu
  takes other:2,ipu:4 1-1 --ipus=4 --licenses=other:2
  takes '(null)' 1
  takes other:2 1 --licenses=other:2
  takes '(null)' 1 --ipu-partition=team
}

@test "a job that would take another number is refused, with what to do" {
  local wrong
  for wrong in '--ntasks=8' '--nodes=0' '--nodes=1-2' '--ntasks-per-node=2'; do
    # shellcheck disable=SC2086 # options
    refused '--ipus=4 counts for each node: give the job one number of nodes, by --nodes=N' --ipus=4 $wrong
  done
  for wrong in ipu:2 ipu:8 ipu other:2,ipu:3 ipu:2,ipu:1 ipu:0 ipu:+4 'ipu: 4' 'ipu*4' \
    ipu:+2147483647,ipu:+2147483645; do
    refused 'the job takes the licences ipu:4: give no others of them by --licenses' --ipus=4 --licenses="$wrong"
  done
  refused "takes no licences by '|'" --ipus=4 --licenses='other:1|ipu:4'
  refused '--licenses is too long' --ipus=4 --licenses="a$(printf '%1024s' '')x"
}

@test "a fault of licences.lua refuses a job" {
  run ! hold --ipus=4 --job-name=fault
  in_host grep -q 'ipu: call submit() with the first parameter' /run/service/slurmctld.log
}

# Slurm gives back the licences that the job has when its epilog ends, not those that it took.
@test "a requeued job changes neither nodes nor licences before its last run has ended" {
  local job
  second_up
  job=$(as_jane sbatch --parsable --partition=both --ipus=2 --wrap 'echo runs; exec sleep 30')
  wait_until 30 has_said "$job" runs
  in_host touch /run/slurm/hold # its epilog does not end
  as_jane scontrol requeue "$job"
  for change in NumNodes=2 Licenses=other:1; do
    run ! as_jane scontrol update job="$job" "$change"
    assert_contains "$output" 'Invalid license specification'
  done
  in_host rm /run/slurm/hold
  wait_until 40 has_licences_back || fail "$(slurm scontrol show licenses)"
  as_jane scontrol update job="$job" NumNodes=2
  assert_equal "$(field "$job" Licenses)" ipu:4
  slurm scancel "$job"
  wait_until 40 no_jobs
  host_stop second
}

# Such a job has the option in its environment, and slurmctld does not know it.
@test "a forged option gives no IPUs without licences" {
  local job
  job=$(as_jane env _SLURM_SPANK_OPTION_ipu_ipus=4 sbatch --parsable --no-requeue --wrap 'echo runs')
  wait_until 40 no_jobs
  assert_contains "$(output_of "$job")" "this node knows of no IPUs for job $job"
  run ! has_said "$job" runs
  assert_idle
}

# A client that is not Slurm's own sends what a node has the prolog know as an option, by another name.
@test "an option that is hidden behind a prefix takes its licences" {
  local job option=_SLURM_SPANK_OPTION_ipu_ipus
  g++ -o "$BATS_TEST_TMPDIR/client" "$BATS_TEST_DIRNAME/slurm_client.cc" -lslurm
  in_host install -m 0755 /dev/stdin /run/slurm/client <"$BATS_TEST_TMPDIR/client"
  job=$(as_jane /run/slurm/client "SPANK_$option=8")
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  assert_equal "$(output_of "$job") $(field "$job" Licenses)" '8 ipu:8'
  run ! as_jane /run/slurm/client "SPANK_$option=8" "$option=4"
  assert_contains "$output" '--ipus is given twice'
}

# Without PrologFlags=Alloc, the options that a node has recorded are those of the first step there.
@test "a step whose job has no licences gets no IPUs" {
  local job
  second_up
  as_jane salloc --no-shell --partition=both --nodes=2
  job=$(slurm squeue --noheader --format %A)
  run ! as_jane srun --jobid="$job" --nodes=1 --ntasks=1 --ipus=4 echo runs
  assert_contains "$output" "this node knows of no IPUs for job $job"
  run ! as_jane srun --jobid="$job" --nodes=1 --ntasks=1 --nodelist=second --ipus=4 echo runs
  assert_contains "$output" "this node knows of no IPUs for job $job"
  slurm scancel "$job"
  wait_until 40 no_jobs
  host_stop second
}

@test "a user cannot give licences back before the job runs, and root can" {
  local job
  job=$(hold --ipus=2 --nodes=2)
  for licences in '' ipu:1 ipu:+2147483647,ipu:+2147483645 other:1; do
    run as_jane scontrol update job="$job" Licenses="$licences"
    [[ ,$(field "$job" Licenses), == *,ipu:4,* ]] || fail "$licences: $(field "$job" Licenses)"
  done
  as_jane scontrol update job="$job" NumNodes=1
  assert_equal "$(field "$job" Licenses)" other:1,ipu:2
  run ! as_jane scontrol update job="$job" NumNodes=1-2
  as_jane scontrol update job="$job" JobName=another
  assert_equal "$(field "$job" Licenses) $(field "$job" NumNodes)" 'other:1,ipu:2 1-1'
  slurm scontrol update job="$job" Licenses=ipu:1
  assert_equal "$(field "$job" Licenses)" ipu:1
  job=$(as_jane sbatch --parsable --ipus=4 --wrap 'sleep 30')
  wait_until 30 is_in_state "$job" RUNNING
  run ! as_jane scontrol update job="$job" Licenses=ipu:1
  assert_contains "$output" 'Invalid license specification'
}

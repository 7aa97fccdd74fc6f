# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian's Slurm on the throw-away host, and a user, jane, who is not root.

JOBS=/run/jobs
USER_ID=5001
SLURM_ADDRESS=10.1.3.1

# Starts Slurm with the lines of standard input in its slurm.conf. The machine's cgroups may be such that Slurm cannot
# use them. All jobs fit but for their licences.
slurm_up() {
  in_host useradd --uid "$USER_ID" --user-group --groups docker --no-create-home --home-dir "$JOBS" jane
  in_host install -d -o jane "$JOBS"
  in_host mkdir -p /etc/slurm /run/munge /run/slurm/state /run/slurm/spool
  {
    cat
    cat <<CONF
SlurmdPidFile=/run/slurm/%n.pid
SlurmdSpoolDir=/run/slurm/spool-%n
ClusterName=test
SlurmctldHost=ipu-host($SLURM_ADDRESS)
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=/run/slurm/state
SlurmctldPidFile=/run/slurm/slurmctld.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2
KillWait=2
SlurmdParameters=config_overrides
NodeName=ipu-host NodeAddr=$SLURM_ADDRESS CPUs=32 State=UNKNOWN
PartitionName=all Nodes=ipu-host Default=YES State=UP
CONF
  } | in_host tee /etc/slurm/slurm.conf >/dev/null
  in_host sh -c 'umask 077; head -c 1024 /dev/urandom >/run/slurm/munge.key'
  host_spawn munged munged --foreground --force --key-file /run/slurm/munge.key --log-file /run/slurm/munged.log \
    --pid-file /run/slurm/munged.pid --seed-file /run/slurm/munged.seed
  wait_until 10 in_host test -S /run/munge/munge.socket.2
  host_spawn slurmctld slurmctld -D
  host_spawn slurmd slurmd -D -N ipu-host
  wait_until 30 node_is idle || {
    in_host tail -n 20 /run/service/munged.log /run/service/slurmctld.log /run/service/slurmd.log >&2
    return 1
  }
}

slurm_down() {
  host_stop slurmctld
  host_stop slurmd
  host_stop munged
  in_host userdel jane
  in_host rm -rf "$JOBS" /run/slurm /run/munge /etc/slurm/{slurm,plugstack}.conf /etc/slurm/job_submit.lua /etc/slurm/epilog
  run in_host ps -eo comm
  # shellcheck disable=SC2154 # bats sets it
  [[ $output != *slurm* && $output != *munged* ]] || fail "$output"
}

plugin_install() {
  flock "$O" env MAKEFLAGS='' make --no-print-directory -s O="$O" DESTDIR="/proc/$HOST_PID/root" install-slurm >/dev/null
  in_host mkdir -p /etc/slurm
}

# Starts Slurm as slurm_up does, with the plugin, which has these arguments, and with a second slurmd on this host, by a
# hostname of its own, for jobs of two nodes.
plugin_up() { # ARGUMENT...
  plugin_install
  echo "required spank_ipu.so cgroup=/$HOST_CGROUP/slurm $*" | in_host tee /etc/slurm/plugstack.conf >/dev/null
  {
    cat
    cat <<CONF
PrologFlags=Alloc
NodeName=second NodeAddr=$SLURM_ADDRESS Port=6819 CPUs=4 State=UNKNOWN
PartitionName=both Nodes=second,ipu-host State=UP
CONF
  } | slurm_up
}

plugin_down() {
  in_host rm -r /usr/local/share/ipu-container-toolkit/slurm /etc/ipu-container-toolkit/slurm-uplink.conflist \
    "$(in_host find /usr/lib -name spank_ipu.so)"
  slurm_down
}

second_is_idle() { [ "$(slurm sinfo --noheader --nodes second --format %T 2>/dev/null)" = idle ]; }
second_up() {
  host_spawn second unshare --uts sh -c 'hostname second; exec slurmd -D'
  wait_until 30 second_is_idle || fail "$(slurm sinfo --Node --long)" "$(in_host tail /run/service/second.log)"
}

# Ends all jobs. It comes early in a teardown, of which bats takes the last status alone: what does not end fails the test.
slurm_clear() {
  slurm scancel --user jane
  wait_until 60 no_jobs || {
    slurm squeue
    return 1
  }
}

slurm() { in_host timeout "$LIMIT" "$@"; }
node_is() { [ "$(slurm sinfo --noheader --nodes ipu-host --format %T 2>/dev/null)" = "$1" ]; }
assert_idle() { wait_until 30 node_is idle || fail "$(slurm sinfo --long --Node --list-reasons)"; }
no_jobs() { [ -z "$(slurm squeue --noheader)" ]; }

as_jane() { # COMMAND...
  slurm setpriv --reuid jane --regid jane --init-groups env --chdir "$JOBS" HOME="$JOBS" USER=jane "$@"
}

state() { slurm scontrol --oneliner show job "$1" | sed 's/.* JobState=\([A-Z]*\) .*/\1/'; } # JOB
field() { slurm scontrol --oneliner show job "$1" | sed -n "s/.* $2=\([^ ]*\) .*/\1/p"; } # JOB FIELD
is_in_state() { [ "$(state "$1")" = "$2" ]; }
output_of() { in_host cat "$JOBS/slurm-$1.out"; }
has_said() { output_of "$1" 2>/dev/null | grep -qx "$2"; } # JOB LINE

# Has Slurm run the job again soon. By itself, it begins a requeued job after two minutes. In the second in which slurmd
# ended the job, it would take it for one whose prolog has run.
requeue() { # JOB
  as_jane scontrol requeue "$1"
  wait_until 30 is_in_state "$1" PENDING || fail "$(state "$1")"
  wait_until 30 nothing_is_left || fail 'still there:' "$(leftovers)"
  slurm scontrol update JobId="$1" StartTime=now+2
  wait_until 40 is_in_state "$1" COMPLETED || fail "$(state "$1")" "$(output_of "$1")"
}

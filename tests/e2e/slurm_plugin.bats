#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# spank_ipu.so in Debian's Slurm: jobs of a user who is not root have IPUs without a container.

load support
load slurm

UPLINK=/etc/ipu-container-toolkit/slurm-uplink.conflist
RECORDS=/run/ipu-container-toolkit/slurm

setup_file() { plugin_up wait=10s uplink="$UPLINK" <<<'Licenses=ipu:64'; }
teardown_file() { plugin_down; }

teardown() {
  in_host rm -f /dev/ipu0 /tmp/runs "$JOBS/go"
  site_down
  slurm_clear || return
  remove_containers
  remove_partitions
  host_config
  assert_nothing_left && assert_no_traces
}

# Nothing of a job is on the host. bats takes the last status of a teardown alone.
assert_no_traces() {
  local records links rules
  in_host mkdir -p "$RECORDS"
  records=$(in_host find "$RECORDS" -mindepth 1 ! -path "$RECORDS/oci" ! -path "$RECORDS/netns") &&
    links=$(in_host ip -o link show type veth) && rules=$(in_host iptables -t nat -S) || return
  [ -z "$records" ] || fail "$records" || return
  [[ $links == *': rnic0@'* && $links != *': veth'* ]] || fail "$links" || return
  [[ $rules == *POSTROUTING* && $rules != *ipu-slurm* ]] || fail "$rules"
}

step() { as_jane srun --quiet "$@"; }
submit() { as_jane sbatch --parsable "$@"; } # SBATCH-OPTION...
lease_in() { jq -r .lease; }

@test "a step has its IPUs, and a network of its own, as its user" {
  local ip port
  # shellcheck disable=SC2016
  run -0 step --ipus=4 sh -c 'id -un; grep -c "\"ip\"" "$IPUOF_CONFIG_PATH"; ls /sys/class/net; cat /run/ipu/lease.json'
  assert_equal "$(sed -n 1,2p <<<"$output")" $'jane\n4'
  assert_equal "$(sed -n '3,/{/p' <<<"$output" | grep -v '{' | sort | paste -sd' ')" 'eth0 lo roce0'
  start other -e IPU_COUNT=4
  read -r ip port <<<"$(first_endpoint other)"
  # shellcheck disable=SC2016
  run -0 step --ipus=4 sh -c '
    set -- $(jq -r ".devices[0] | \"\(.ip) \(.server_port)\"" "$IPUOF_CONFIG_PATH") "$@"
    /run/dial "$1" "$2" >/dev/null && echo own; /run/dial "$3" "$4" >/dev/null 2>&1 || echo "not the other one"' sh "$ip" "$port"
  assert_equal "$output" $'own\nnot the other one'
}

@test "a job without the option is as it was" {
  assert_equal "$(step readlink /proc/self/ns/net)" "$(in_host readlink /proc/self/ns/net)"
  assert_equal "$(in_host find "$RECORDS" -mindepth 1 -maxdepth 1 ! -name oci ! -name netns 2>/dev/null)" ''
}

@test "a batch script, its steps and their tasks share the job's IPUs" {
  local job
  # shellcheck disable=SC2016
  job=$(submit --ipus=4 --ntasks=2 --wrap '
    jq -r .lease /run/ipu/lease.json
    srun jq -r .lease /run/ipu/lease.json
    readlink /proc/self/ns/net
    srun --ntasks=1 readlink /proc/self/ns/net')
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  assert_equal "$(output_of "$job" | head -n 3 | uniq | wc -l)" 1
  assert_equal "$(output_of "$job" | tail -n 2 | uniq | wc -l)" 1
  [ "$(output_of "$job" | tail -n 1)" != "$(in_host readlink /proc/self/ns/net)" ]
}

SITE=10.1.3.150 # An address of the management network that is not the controller's.
site_up() { in_host ip -n pod address add "$SITE/24" dev ctl0; }
site_down() {
  host_stop server
  host_stop dns
  # shellcheck disable=SC2016
  in_host sh -c '[ ! -e /run/www/resolv.conf ] || cat /run/www/resolv.conf >/etc/resolv.conf
    rm -rf /run/www /run/systemd/resolve
    ip -n pod address flush to "$1/32" dev ctl0' sh "$SITE"
}

@test "a job reaches what its host reaches, by its uplink" {
  site_up
  host_spawn server ip netns exec pod busybox nc -l -p 7000 -e echo hello
  assert_equal "$(step --ipus=4 busybox nc -w 5 "$SITE" 7000 </dev/null)" hello
  run ! step --ipus=4 busybox nc -w 5 10.1.3.101 8090
  assert_contains "$output" 'Permission denied'
}

# The host's /etc/resolv.conf names the loopback, as with systemd-resolved.
@test "a job resolves names, and downloads" {
  local sum
  site_up
  # shellcheck disable=SC2016
  in_host sh -e -c 'mkdir -p /run/www /run/systemd/resolve
    head -c 4194304 /dev/urandom >/run/www/data
    cat /etc/resolv.conf >/run/www/resolv.conf
    printf "nameserver\\t127.0.0.53 \\n" >/etc/resolv.conf
    echo "nameserver $1" >/run/systemd/resolve/resolv.conf' sh "$SITE"
  host_spawn dns ip netns exec pod python3 -c '
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    query, client = server.recvfrom(512)
    end = query.index(0, 12) + 5
    is_a = query[end - 4 : end - 2] == b"\0\1"
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(sys.argv[1]) if is_a else b""
    server.sendto(query[:2] + b"\x81\x80\0\1" + bytes([0, is_a, 0, 0, 0, 0]) + query[12:end] + answer, client)' "$SITE"
  host_spawn server ip netns exec pod python3 -m http.server --directory /run/www --bind "$SITE" 7000
  wait_until 10 in_host ip netns exec pod busybox nc -w 1 "$SITE" 7000 </dev/null
  sum=$(in_host sha256sum /run/www/data)
  assert_equal "$(step --ipus=4 python3 -c '
import hashlib, urllib.request
print(hashlib.sha256(urllib.request.urlopen("http://files.site:7000/data", timeout=20).read()).hexdigest())')" "${sum%% *}"
}

@test "an impossible request says why, and drains no node" {
  run ! step --ipus=0 true
  assert_contains "$output" "--ipus: '0' is no number from 1 to 4096"
  run ! step --ipus=4 --ipu-partition=p0 true
  assert_contains "$output" '--ipus and --ipu-partition exclude each other'
  run ! step --ipus=4 --ipu-gcd=0 true
  assert_contains "$output" '--ipu-gcd needs --ipu-partition=NAME'
  run ! step --ipu-partition= true
  assert_contains "$output" '--ipu-partition needs a value'
  run ! step --ipus=3 true
  assert_contains "$output" 'IPU_COUNT'
  run ! step --ipu-partition=nosuch true
  assert_contains "$output" 'nosuch'
  assert_idle
}

@test "a job whose options were forged fails, and drains no node" {
  local job
  # Slurm hands them to the node unchecked.
  job=$(as_jane env _SLURM_SPANK_OPTION_ipu_ipus=lots sbatch --parsable --no-requeue --wrap 'echo runs')
  wait_until 40 no_jobs
  assert_idle
  assert_contains "$(output_of "$job")" "--ipus: 'lots' is no number"
  run ! has_said "$job" runs
  job=$(as_jane env _SLURM_SPANK_OPTION_ipu_ipu_gcd=0 sbatch --parsable --no-requeue --wrap 'echo runs')
  wait_until 40 no_jobs
  assert_idle
  assert_contains "$(output_of "$job")" '--ipu-gcd needs --ipu-partition=NAME'
  run ! has_said "$job" runs
}

# slurmstepd opens the files of a batch script, and those of a step whose names have a pattern.
@test "the streams of a job lead to no device that is hidden from it" {
  local job place
  # Stands for an IPU: a device that this kernel has, and that jane can open.
  # shellcheck disable=SC2016
  in_host sh -c 'for minor in $(cut -c 1-3 /proc/misc); do
      mknod /dev/ipu0 c 10 "$minor" && chmod 666 /dev/ipu0
      ! setpriv --reuid jane --regid jane --clear-groups sh -c "true 3<>/dev/ipu0" || exit 0
      rm /dev/ipu0
    done
    exit 1'
  for place in --input=/dev --input=/dev/ipu0 --output=/dev/ipu0 --error=/dev/ipu0; do
    job=$(submit --ipus=4 "$place" --wrap 'touch /tmp/runs')
    wait_until 40 no_jobs
    run ! in_host rm /tmp/runs
    [[ $place != --input=* ]] || assert_contains "$(output_of "$job")" 'may not have a folder, or a device'
  done
  run ! step --ipus=4 --output=/dev/ipu%t touch /tmp/runs
  run ! in_host rm /tmp/runs
  run -0 step --ipus=4 --input=/dev/null --output=/dev/null touch /tmp/runs
  # shellcheck disable=SC2016
  run -0 step --ipus=4 --chdir=/sys/class/net sh -c '[ "$(ls .)" = "$(ls /sys/class/net)" ]'
  wait_until 40 no_jobs
  assert_idle
}

@test "a slurmd that is killed does its jobs no harm" {
  local job
  job=$(submit --ipus=4 --wrap 'echo begins; while [ ! -e go ]; do sleep 0.1; done; srun true && echo ends')
  wait_until 30 has_said "$job" begins || fail "$(state "$job")" "$(output_of "$job")"
  host_signal slurmd KILL
  host_spawn slurmd slurmd -D -N ipu-host
  wait_until 30 slurm scontrol show slurmd >/dev/null
  as_jane touch go
  wait_until 60 no_jobs
  has_said "$job" ends || fail "$(output_of "$job")"
}

@test "a prolog ends what an earlier job of its number has left" {
  local job lease
  job=$(submit --ipus=4 --no-requeue --wrap 'echo begins; exec sleep 3600')
  wait_until 30 has_said "$job" begins || fail "$(state "$job")" "$(output_of "$job")"
  lease=$(ipuctl ps -o json | jq -r '.[].lease')
  in_host /usr/local/libexec/ipu-container-toolkit/ipu-slurm prolog "$job" -- ipus=lots && fail 'it takes anything'
  [ -n "$lease" ] && wait_until 10 has_leases 0 || fail "$(ipuctl ps)"
  wait_until 30 is_in_state "$job" FAILED || fail "$(state "$job")"
}

@test "what a job leaves behind in its network ends with it" {
  # Slurm does not find it: it has another session and another parent.
  step --ipus=4 sh -c '(setsid sleep 98765 >/dev/null 2>&1 &)'
  wait_until 20 nothing_is_left
  run ! in_host pgrep -f 'sleep 98765'
}

@test "the user's umask does not count for what root makes" {
  in_host rmdir /run/ipu
  as_jane sh -c 'umask 0; exec srun --quiet --ipus=4 true'
  assert_equal "$(in_host stat -c '%a %U' /run/ipu)" '755 root'
}

@test "the batch script of a job of several nodes stays outside, and its steps have IPUs" {
  local job
  second_up
  job=$(submit --partition=both --nodes=2 --ipus=4 --wrap 'readlink /proc/self/ns/net; srun --nodes=1 --ntasks=1 --nodelist=ipu-host jq -r .ipus,.lease /run/ipu/lease.json
    srun --nodes=1 --ntasks=1 --nodelist=ipu-host jq -r .lease /run/ipu/lease.json')
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  assert_equal "$(output_of "$job" | head -n 2)" "$(in_host readlink /proc/self/ns/net)"$'\n4'
  assert_equal "$(output_of "$job" | tail -n 2 | uniq | wc -l)" 1
  host_stop second
}

@test "a step cannot have other IPUs than its job" {
  local job
  job=$(submit --ipus=4 --wrap 'srun --ipus=8 true || echo refused')
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  has_said "$job" refused
  assert_contains "$(output_of "$job")" 'a step has the IPUs of its job'
  job=$(submit --wrap 'srun --ipus=8 true || echo refused')
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  has_said "$job" refused
  assert_contains "$(output_of "$job")" "this node knows of no IPUs for job $job"
  assert_idle
}

@test "without free IPUs a step waits as long as plugstack.conf says, and then says so" {
  local first
  start holder -e IPU_COUNT=64
  run -1 step --ipus=4 true
  assert_contains "$output" 'no free block of 4 IPUs'
  assert_idle
  step --ipus=4 echo served >"$BATS_TEST_TMPDIR/out" &
  first=$!
  wait_until 30 has_waiters 1
  docker rm --force holder
  wait "$first"
  assert_equal "$(cat "$BATS_TEST_TMPDIR/out")" served
}

@test "scancel of a job that waits, and of one that runs" {
  local job
  job=$(submit --ipus=64 --wrap 'echo begins; exec sleep 3600')
  wait_until 30 has_said "$job" begins || fail "$(state "$job")" "$(output_of "$job")"
  local second
  second=$(submit --ipus=4 --wrap 'echo begins')
  wait_until 30 has_waiters 1 || fail "$(state "$second")" "$(output_of "$second")"
  as_jane scancel "$second"
  wait_until 30 has_waiters 0 || fail "$(ipuctl queue)"
  as_jane scancel "$job"
  wait_until 40 nothing_is_left || fail 'still there:' "$(leftovers)"
  assert_idle
}

@test "a slurmstepd that is killed leaves nothing once its job has ended" {
  local job
  job=$(submit --ipus=4 --no-requeue --wrap 'echo begins; exec sleep 3600')
  wait_until 30 has_said "$job" begins || fail "$(state "$job")" "$(output_of "$job")"
  in_host pkill -KILL -x slurmstepd
  as_jane scancel "$job"
  wait_until 60 nothing_is_left || fail 'still there:' "$(leftovers)"
  wait_until 60 no_jobs
}

@test "a job that is requeued gets IPUs again" {
  local job
  job=$(submit --ipus=4 --requeue --wrap 'if [ -e again ]; then echo again; else touch again; echo begins; exec sleep 3600; fi')
  wait_until 30 has_said "$job" begins || fail "$(state "$job")" "$(output_of "$job")"
  requeue "$job"
  has_said "$job" again
  in_host rm "$JOBS/again"
}

@test "jobs share the GCDs of a named partition" {
  local job
  ipuctl partition create team --size 8 --gcds 2
  # shellcheck disable=SC2016
  job=$(submit --ipu-partition=team --ipu-gcd=1 --wrap 'grep -c "\"ip\"" "$IPUOF_CONFIG_PATH"; jq .gcd /run/ipu/lease.json')
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  assert_equal "$(output_of "$job")" $'4\n1'
}

@test "a job whose container was killed is told so, and its IPUs are free" {
  local job
  job=$(submit --ipus=4 --wrap 'srun true; echo one; while [ ! -e go ]; do sleep 0.1; done; srun true || echo refused')
  wait_until 30 has_said "$job" one || fail "$(state "$job")" "$(output_of "$job")"
  # shellcheck disable=SC2016
  in_host sh -c 'read -r pid _ <"$1/$2/process" && kill -KILL "$pid"' sh "$RECORDS" "$job"
  wait_until 20 gc_leaves_nothing || fail 'still there:' "$(leftovers)"
  as_jane touch go
  wait_until 40 is_in_state "$job" COMPLETED || fail "$(state "$job")" "$(output_of "$job")"
  has_said "$job" refused
  assert_contains "$(output_of "$job")" "the container slurm-$job, which had the job's IPUs, was killed"
  in_host rm "$JOBS/go"
}

@test "a job counts for the tenant that is its account, and is refused by that one's share" {
  local job
  with_tenant vision 4
  run -0 step --account=vision --ipus=4 jq -r .tenant /run/ipu/lease.json
  job=$(submit --account=vision --ipus=4 --wrap 'sleep 60')
  wait_until 20 tenant_holds vision 4 || fail "$(output_of "$job")"
  run -1 step --account=vision --ipus=4 true
  assert_contains "$output" "tenant 'vision' has 4 of at most 4 IPUs"
  run -1 step --account=other --ipus=4 true
  assert_contains "$output" "there is no tenant 'other'"
  as_jane scancel "$job"
}
tenant_holds() { [ "$(ipuctl tenant show "$1" -o json | jq .held)" = "$2" ]; } # TENANT IPUS

@test "the options are in the help" {
  run -0 as_jane srun --help
  assert_contains "$output" --ipus=N
  assert_contains "$output" --ipu-partition=NAME
}

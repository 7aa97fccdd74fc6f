#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl plan: what a model needs, and whether the pool has room for it. The printed commands are run as printed.

load support

teardown() {
  # Those that still wait get nothing, and end, before the containers are counted.
  # shellcheck disable=SC2016
  in_host sh -c 'kill -KILL $(ipuctl queue -o json | jq ".[].pid") 2>/dev/null' || true
  remove_containers
  remove_partitions
  [ -z "${SWITCHED:-}" ] || switch_pod pod64
  host_config
  ipuctl pool refill >/dev/null
  ipuctl gc >/dev/null
  assert_nothing_left
}

plan() { # OPTION...
  ipuctl plan "$@"
}

# Runs the commands of one start of a plan, as they are printed, and stops at the first that fails.
run_start() { # JSON HOW
  local line
  while IFS= read -r line; do
    host_run timeout "$LIMIT" bash -c "$line" </dev/null || return 1
  done < <(jq -r --arg how "$2" '.starts[] | select(.how == $how).commands[]' <<<"$1")
}

BERT=(--tensor 1 --pipeline 4 --replicas 4 --parameters 336M)
GPT3=(--parameters 175e9 --layers 96 --hidden 12288 --heads 96 --rts 4)

@test "without --pool it needs neither root nor a configuration" {
  run -0 in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl plan "${BERT[@]}"
  assert_equal "${lines[0]}" 'IPUs       16: 4 replicas of 4'
  assert_contains "$output" 'one of 16 IPUs, as a POD16 has; none idle'
  assert_contains "$output" '1 host with 1 instance in all'
  assert_contains "$output" \
    'FITS IN-PROCESSOR: weights; the optimizer state stays in exchange memory (an estimate)'
  assert_contains "$output" '  docker run --rm --runtime=ipu -e IPU_COUNT=16 graphcore/pytorch python3 train.py'
}

@test "GPT-3 on 256 IPUs: phases, hosts and the commands" {
  run -0 plan --tensor 8 --pipeline 8 --replicas 4 "${GPT3[@]}"
  assert_contains "$output" 'NEEDS PHASED EXECUTION: at least 13 phases (an estimate)'
  assert_contains "$output" 'about 6.84 GB of 64.00 GB for each IPU'
  assert_contains "$output" '4 hosts with 4 instances in all; 16 are usual for 256 IPUs'
  assert_contains "$output" 'the commands need max_ipus = 256 in [policy] of config.toml'
  assert_contains "$output" 'ipuctl partition create t8p8r4 --size 256 --segments 4 --gcds 4'
}

@test "idle IPUs are named, with the nearest shapes; what never fits is an error, and has no commands" {
  run -0 plan --tensor 8 --pipeline 6 --replicas 4
  assert_contains "$output" \
    '192 IPUs leave 64 idle of a partition of 256; nearest: t8 p8 r4 (256 IPUs, none idle), t8 p6 r5 (240 IPUs, 16 idle)'
  run -2 --separate-stderr plan --tensor 8 --pipeline 8 --replicas 8 -o json
  assert_equal "$(jq -c '[.partitions.count, .partitions.size, .starts, .checks[].id]' <<<"$output")" '[2,256,[],"E6"]'
  # shellcheck disable=SC2154
  assert_contains "$stderr" 'ipuctl: E6: 512 IPUs are more than the 256 of the largest partition: a gang of 2 partitions'
  run -2 plan --tensor 1 --pipeline 1 --replicas 1 --parameters 1e12
  assert_contains "$output" 'DOES NOT FIT (an estimate)'
  assert_contains "$output" 'E7: weights and optimizer state take about 10000.00 GB'
}

@test "a free pool: it could start now, and does where it says" {
  local json
  json=$(plan "${BERT[@]}" --pool pod64 --image busybox -o json -- cat /run/ipu/lease.json)
  assert_equal "$(jq -c '[.pool.now, .pool.blocks, .pool.free, .pool.ahead]' <<<"$json")" '[true,["0/0-15"],64,0]'
  assert_equal "$(jq -r '.starts[0].commands[0]' <<<"$json")" \
    'docker run --rm --runtime=ipu -e IPU_POOL=pod64 -e IPU_COUNT=16 busybox cat /run/ipu/lease.json'
  run -0 in_host timeout "$LIMIT" bash -c "$(jq -r '.starts[0].commands[0]' <<<"$json")"
  assert_equal "$(jq -c '[.pool, .ipus]' <<<"$output")" '["pod64",16]'
}

# The simulator keeps no partitions of another POD.
switch_pod() { # POD
  SWITCHED=$1
  sim_stop
  in_host rm -f /var/lib/vipu-simulator.json
  SIM_POD=$1 sim_start
}

# It stands where Graphcore's is in their images, and fails if the files of the container differ from what it is told.
make_poprun_image() {
  in_host tee /run/poprun >/dev/null <<'END'
#!/bin/sh
for word; do
  case $word in
    --vipu-partition=*) grep -q "\"partition\": *\"${word#*=}\"" /run/ipu/lease.json || exit 11 ;;
    --num-instances=*) instances=${word#*=} ;;
    --num-replicas=*) replicas=${word#*=} ;;
    --ipus-per-replica=*) each=${word#*=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
[ "$(ls /etc/ipuof.conf.d | wc -l)" = "$instances" ] || exit 12
[ "$(cat /etc/ipuof.conf.d/* | grep -o '"server_port"' | wc -l)" = $((replicas * each)) ] || exit 13
nc -w 2 127.0.0.1 8090 </dev/null >/dev/null || exit 14
exec "$@"
END
  in_host chmod 0755 /run/poprun
  docker create --name base busybox true >/dev/null
  docker cp /run/poprun base:/bin/poprun
  docker commit base with-poprun >/dev/null
  docker rm base >/dev/null
}

@test "the commands with poprun run as printed: a partition with a GCD for each instance, a container, and its end" {
  local json
  make_poprun_image
  # shellcheck disable=SC2016
  json=$(plan --tensor 2 --pipeline 4 --replicas 4 --pool pod64 --image with-poprun -o json -- sh -c 'echo "it'\''s $0" x')
  assert_equal "$(jq -c '[.poprun.instances, [.starts[].how]]' <<<"$json")" '[4,["process","poprun"]]'
  run -0 run_start "$json" poprun
  assert_contains "$output" 'create partition (t2p4r4): success.'
  assert_equal "$(grep -c "^it's sh x\$" <<<"$output")" 1
  assert_contains "$output" 'remove partition (t2p4r4): success.'
  # A name that somebody has is not taken.
  ipuctl partition create t2p4r4 --size 4 >/dev/null
  json=$(plan --tensor 2 --pipeline 4 --replicas 4 --pool pod64 --image with-poprun -o json -- true)
  assert_contains "$(jq -r '.starts[1].commands[0]' <<<"$json")" 'partition create t2p4r4-2 '
  run_start "$json" poprun
  docker rmi with-poprun >/dev/null
}

@test "a POD256: a partition over four domains, with four instances, as printed" {
  local json
  make_poprun_image
  switch_pod pod256
  json=$(plan --tensor 8 --pipeline 8 --replicas 4 "${GPT3[@]}" --pool pod64 --image with-poprun -o json -- echo ended)
  assert_equal "$(jq -c '[.pool.now, .pool.blocks, .memory.verdict, [.starts[].how]]' <<<"$json")" \
    '[true,["0/0-63","1/0-63","2/0-63","3/0-63"],"NEEDS PHASED EXECUTION",["process","poprun"]]'
  # A container may not have so many.
  assert_equal "$(jq .max_ipus <<<"$json")" 256
  run ! run_start "$json" poprun
  assert_contains "$output" 'policy.max_ipus allows only 64'
  remove_partitions
  printf '\n[policy]\nmax_ipus = 256\n' | in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
  json=$(plan --tensor 8 --pipeline 8 --replicas 4 --pool pod64 --image with-poprun -o json -- echo ended)
  assert_equal "$(jq .max_ipus <<<"$json")" null
  run -0 run_start "$json" process
  assert_contains "$output" $'\nended\n'
  run -0 run_start "$json" poprun
  assert_contains "$output" $'\nended\n'
  docker rmi with-poprun >/dev/null
}

@test "a partly used pool: the block beside the others, or who is in the way" {
  start job -e IPU_COUNT=32
  ipuctl partition create p0 --size 8 >/dev/null
  run -0 plan "${BERT[@]}" --pool pod64
  assert_contains "$output" 'pod64: 24 of 64 IPUs free; could start now on 0/48-63'
  run -3 --separate-stderr plan --tensor 1 --pipeline 8 --replicas 4 --pool pod64
  assert_contains "$stderr" "pool 'pod64': no free block of 32 IPUs (largest free: 16, free in all: 24)"
  assert_contains "$stderr" 'there would be one without partition p0'
  assert_contains "$output" 'IPU_POOL=pod64 -e IPU_COUNT=32 -e IPU_WAIT=15m '
  run -3 --separate-stderr plan --tensor 8 --pipeline 8 --replicas 1 --pool pod64 -o json
  assert_equal "$(jq -c '[.pool.now, .pool.blocks, .pool.blockers]' <<<"$output")" \
    '[false,[],["container job","partition p0"]]'
  run -2 plan --tensor 8 --pipeline 8 --replicas 2 --pool pod64
  assert_contains "$output" 'E6: 128 IPUs are more than the 64 of the largest partition'
}

is_half_used() { [ "$(ipuctl pool list -o json | jq '.[0].usage.used')" = 32 ]; }

@test "a pool with a queue: behind whom it would wait, and the printed command waits too" {
  local json waiter
  start half1 -e IPU_COUNT=32
  start half2 -e IPU_COUNT=32
  start large -e IPU_COUNT=64 -e IPU_WAIT=60s >/dev/null 2>&1 3>&- &
  waiter=$!
  wait_until 10 has_waiters 1
  docker rm --force half2
  wait_until 10 is_half_used
  run -3 --separate-stderr plan "${BERT[@]}" --pool pod64
  assert_contains "$stderr" "pool 'pod64': 1 request is ahead, the first of container"
  assert_contains "$stderr" ', for 64 IPUs'
  json=$(plan "${BERT[@]}" --pool pod64 --image busybox -o json -- true 2>/dev/null) || [ $? = 3 ]
  assert_equal "$(jq -c '[.pool.now, .pool.ahead, [.starts[].how]]' <<<"$json")" '[false,1,["process"]]'
  run_start "$json" process 3>&- &
  wait_until 10 has_waiters 2
  docker rm --force half1
  wait "$waiter"
  docker rm --force large
  wait $!
}

@test "warm partitions make room, and one of the size is taken" {
  in_host sed -i 's|^timeout = .*|&\nwarm = { "16" = 1 }|' /etc/ipu-container-toolkit/config.toml
  ipuctl pool refill >/dev/null
  run -0 plan "${BERT[@]}" --pool pod64
  assert_contains "$output" ', which is warm'
  run -0 plan --tensor 8 --pipeline 8 --replicas 1 --pool pod64
  assert_contains "$output" 'could start now on 0/0-63'
}

configure() { # LINE...
  printf '%s\n' '' '[policy]' "$@" | in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
}

@test "an allocation has fewer IPUs than the controller, so nothing is promised, and the command waits" {
  local json
  in_host sed -i "s|^timeout = .*|&\nallocation = \"a\"|" /etc/ipu-container-toolkit/config.toml
  run -0 plan "${BERT[@]}" --pool pod64
  assert_contains "$output" "64 of 64 IPUs of the controller free; allocation 'a' may have less"
  [[ $output != *'could start now'* ]]
  assert_contains "$output" '-e IPU_COUNT=16 -e IPU_WAIT=15m '
  json=$(plan "${BERT[@]}" --pool pod64 -o json)
  assert_equal "$(jq -c '[.pool.limit, .pool.now, .pool.blocks]' <<<"$json")" "[\"allocation 'a'\",null,[]]"
}

@test "commands are what the policy allows: annotations, no wait, and this host's max_ipus" {
  local json
  configure 'sources = ["annotation"]' 'max_wait = "0s"' 'max_ipus = 32'
  json=$(plan "${BERT[@]}" --pool pod64 --image busybox -o json -- cat /run/ipu/lease.json)
  assert_equal "$(jq -r '.starts[0].commands[0]' <<<"$json")" \
    'docker run --rm --runtime=ipu --annotation graphcore.ai/ipu.pool=pod64 --annotation graphcore.ai/ipu.count=16 busybox cat /run/ipu/lease.json'
  assert_contains "$(plan --tensor 8 --pipeline 8 --replicas 1)" 'the commands need max_ipus = 64 in [policy]' \
    '--annotation graphcore.ai/ipu.count=64'
  ipuctl partition create p0 --size 64 >/dev/null
  json=$(plan "${BERT[@]}" --pool pod64 -o json 2>/dev/null) || [ $? = 3 ]
  assert_equal "$(jq -c '[.pool.now, .starts]' <<<"$json")" '[false,[]]'
}

@test "without a configuration to read there is no policy" {
  in_host chmod 0600 /etc/ipu-container-toolkit/config.toml
  run -0 in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl plan --tensor 8 --pipeline 8 --replicas 4 "${GPT3[@]}"
  [[ $output != *max_ipus* ]]
  in_host chmod 0644 /etc/ipu-container-toolkit/config.toml
}

@test "a drained host starts nothing" {
  ipuctl drain --reason upgrade >/dev/null
  run -3 plan "${BERT[@]}" --pool pod64
  ipuctl drain --end
  assert_contains "$output" 'this host is drained since'
}

@test "bad input is one clear line, and exit status 2" {
  assert_refuses() { # TEXT ARGUMENT...
    run -2 ipuctl plan "${@:2}"
    assert_contains "$output" "$1"
    assert_equal "${#lines[@]}" 1
  }
  local split=(--tensor 1 --pipeline 4 --replicas 4)
  assert_refuses 'give --tensor, --pipeline and --replicas' --tensor 4
  local value
  for value in 0 -1 65536 99999999999999999999 1.5 four; do
    assert_refuses "--tensor: '$value' is not a whole number from 1 to 65535" "--tensor=$value" --pipeline 1 --replicas 1
  done
  for value in 0 -7b 7bb 1.5 1e16 nan BERT; do
    assert_refuses "--parameters: '$value' is not a whole number from 1 to 1000000000000000" "${split[@]}" "--parameters=$value"
  done
  assert_refuses "--phases: 'some' is not a whole number" "${split[@]}" --parameters 1e9 --phases some
  assert_refuses '--micro has no effect without --batch' "${split[@]}" --micro 2
  assert_refuses '--memory-percent has no effect without --parameters' "${split[@]}" --memory-percent 60
  assert_refuses '--phases has no effect without --parameters' "${split[@]}" --phases auto
  assert_refuses "--image: '-x' is not an image" "${split[@]}" --image=-x
  assert_refuses "there is no pool 'other'" "${split[@]}" --pool other
  run -2 ipuctl plan "${split[@]}" --rts 3 --batch 30
  assert_contains "$output" 'E2: --rts 3 does not divide the 4 replicas'
  assert_contains "$output" 'E3: a batch of 30 is no multiple of 4 replicas x 1'
}

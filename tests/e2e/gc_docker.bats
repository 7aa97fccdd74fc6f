#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gc-docker: Graphcore's command line. Cards: cards.bats; slices of a file: slices.bats.
# shellcheck disable=SC2154 # stderr is set by bats

load support
load bundle
load conformance
load engines

setup() {
  in_host truncate --size 0 "$SIM_LOG"
}

teardown() {
  remove_containers
  docker volume rm --force vol >/dev/null
  in_host rm -rf "$PODMAN/storage.conf" /root/.ipuof.conf.d /root/variables
  remove_partitions
  assert_nothing_left
}

# gc-docker of a user who has exported the VARIABLEs.
gc_docker() { # [VARIABLE=VALUE]... [ARGUMENT]...
  local variables=()
  while [[ ${1:-} =~ ^[A-Z_]+= ]]; do
    variables+=("$1")
    shift
  done
  host_run env "${variables[@]}" timeout "$LIMIT" gc-docker "$@"
}

# The IPUs of a container that gc-docker started, by its lease.json: "PARTITION GCD IPUS".
LEASE='"\(.partition) \(.gcd) \(.ipus)"'

@test "gc-docker --count makes a partition, for as long as the container runs" {
  run -0 --separate-stderr gc_docker --count 4 -- --rm busybox cat /run/ipu/lease.json
  assert_equal "$stderr" ''
  assert_equal "$(jq '.ipus' <<<"$output")" 4
  assert_nothing_left
  assert_equal "$(sim_log 'map(select(.event == "hold") | .ipus | length) | join(" ")')" 4
}

@test "gc-docker: the exit status is the container's" {
  run -42 gc_docker --count 1 -- --rm busybox sh -c 'exit 42'
  run -0 gc_docker run --rm -e IPU_COUNT=1 busybox true
}

@test "gc-docker: the partition of IPUOF_VIPU_API_PARTITION_ID" {
  ipuctl partition create p0 --size 8 --gcds 2 >/dev/null
  run -0 --separate-stderr gc_docker IPUOF_VIPU_API_HOST="${CONTROLLER%:*}" IPUOF_VIPU_API_PARTITION_ID=p0 \
    IPUOF_VIPU_API_GCD_ID=1 -- --rm busybox cat /run/ipu/lease.json
  assert_equal "$(jq -r "$LEASE" <<<"$output")" 'p0 1 4'
  assert_equal "$stderr" ''
  # Of the options for docker, also in a file, before that of the environment.
  printf 'IPUOF_VIPU_API_PARTITION_ID=p0\nIPUOF_VIPU_API_GCD_ID=0\n' | in_host tee /root/variables >/dev/null
  run -0 --separate-stderr gc_docker IPUOF_VIPU_API_PARTITION_ID=p9 -- --rm --env-file /root/variables \
    busybox cat /run/ipu/lease.json
  assert_equal "$(jq -r "$LEASE" <<<"$output")" 'p0 0 4'
}

@test "gc-docker: a partition that ipuctl does not know is refused, with the ways that work" {
  run -125 gc_docker IPUOF_VIPU_API_PARTITION_ID=p9 -- --rm busybox true
  assert_contains "$output" "create it with 'ipuctl partition create', or adopt one of Graphcore's vipu with 'ipuctl partition adopt'"
  assert_contains "$output" "has no partition 'p9' in this host's ledger"
}

@test "gc-docker: a partition of Graphcore's vipu, adopted" {
  on_other_host ipuctl partition create p1 --size 4 >/dev/null
  ipuctl partition adopt p1
  run -0 --separate-stderr gc_docker IPUOF_VIPU_API_PARTITION_ID=p1 -- --rm busybox cat /run/ipu/lease.json
  assert_equal "$(jq -r "$LEASE" <<<"$output")" 'p1 0 4'
}

@test "gc-docker: the partition of a file in ~/.ipuof.conf.d, which stays as it was" {
  ipuctl partition create p0 --size 4 >/dev/null
  in_host mkdir /root/.ipuof.conf.d
  ipuctl partition config p0 --gcd 0 | in_host tee /root/.ipuof.conf.d/p0_gcd0_ipuof.conf >/dev/null
  run -0 --separate-stderr gc_docker -- --rm busybox cat /run/ipu/lease.json
  assert_equal "$(jq -r "$LEASE" <<<"$output")" 'p0 0 4'
  # As recipes for Graphcore's tool have it.
  run -0 --separate-stderr gc_docker -- --rm -v /root/.ipuof.conf.d/:/etc/ipuof.conf.d \
    busybox cat /etc/ipuof.conf.d/ipuof.conf
  assert_contains "$stderr" "the mount on '/etc/ipuof.conf.d' is ignored"
  assert_equal "$(jq '.devices | length' <<<"$output")" 4
  assert_equal "$(in_host ls /root/.ipuof.conf.d)" p0_gcd0_ipuof.conf
}

@test "gc-docker: a file in a volume, as Paddle's CI has it, needs a request" {
  local line=(-- --rm -v vol:/ipuof -e IPUOF_CONFIG_PATH=/ipuof/ipu.conf busybox cat /run/ipu/lease.json)
  ipuctl partition create p0 --size 4 >/dev/null
  run -125 gc_docker "${line[@]}"
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "IPUOF_CONFIG_PATH is in the volume 'vol', in which no IPUoF file can be read; give --count N"
  docker volume create vol >/dev/null
  ipuctl partition config p0 --gcd 0 | in_host tee /var/lib/docker/volumes/vol/_data/ipu.conf >/dev/null
  run -125 gc_docker "${line[@]}"
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "its name is not that of a partition; give --count 4 for a new partition, -e IPU_PARTITION=NAME"
  run -0 --separate-stderr gc_docker -- -e IPU_PARTITION=p0 "${line[@]:1}"
  assert_equal "$(jq -r "$LEASE" <<<"$output")" 'p0 0 4'
  run -0 --separate-stderr gc_docker --count 4 "${line[@]}"
  assert_equal "$(jq .ipus <<<"$output")" 4
}

@test "gc-docker --echo: the line does the same when it is pasted" {
  local line
  # shellcheck disable=SC2016 # for the shell in the container
  line=$(gc_docker --count 2 --echo -- --rm busybox sh -c 'echo "it'\''s  $IPU_COUNT"; exit 3')
  assert_equal "$(wc -l <<<"$line")" 1
  assert_contains "$line" 'docker run --runtime=ipu -e IPU_COUNT=2'
  assert_equal "$(sim_log length)" 0
  run -3 in_host sh -c "$line"
  assert_equal "$output" "it's  2"
}

@test "gc-docker: --net=host becomes a network of the container's own, and is explained" {
  local network
  for network in --net=host '--network host'; do
    # shellcheck disable=SC2086 # two words
    run -0 --separate-stderr gc_docker --count 4 -- --rm $network busybox ls /sys/class/net
    assert_contains "$stderr" 'gc-docker: --net=host is ignored'
    assert_contains "$output" roce0
    [[ $output != *rnic0* ]]
  done
}

@test "gc-docker: another runtime gives no IPUs, and is told" {
  run -0 --separate-stderr gc_docker --count 4 -- --rm --runtime=runc busybox sh -c '! ls /run/ipu'
  assert_contains "$stderr" 'gc-docker: --runtime=runc replaces the runtime'
}

@test "gc-docker --host-network: what Graphcore's tool gives, and no lease" {
  local memlock
  memlock=$(highest_memlock)
  [ "$memlock" != unlimited ] || memlock=-1
  run -0 --separate-stderr gc_docker IPUOF_VIPU_API_HOST=10.1.3.101 IPUOF_VIPU_API_PARTITION_ID=p9 \
    --host-network -- --rm --ulimit "memlock=$memlock" busybox sh -c 'ls /sys/class/net; env; ! ls /run/ipu'
  assert_contains "$output" rnic0
  assert_contains "$output" IPUOF_VIPU_API_PARTITION_ID=p9
  assert_contains "$output" IPUOF_VIPU_API_HOST=10.1.3.101
}

@test "gc-docker: shared memory is as large as the host's" {
  local blocks
  blocks=$(in_host stat -f -c '%b' /dev/shm)
  run -0 --separate-stderr gc_docker --count 1 -- --rm busybox stat -f -c '%b' /dev/shm
  assert_equal "$output" "$blocks"
}

@test "gc-docker: bad input is one line with the next step, and status 125" {
  assert_bad() { # TEXT ARGUMENT...
    local text=$1
    shift
    run -125 gc_docker "$@"
    assert_equal "${#lines[@]}" 1
    assert_contains "$output" "gc-docker: "
    assert_contains "$output" "$text"
  }
  assert_bad '--count 3 is not a power of two; give --count 2 or --count 4' --count 3 -- busybox true
  assert_bad "'--cuont' is not one of the options that may stand before '--'" --cuont 4 -- busybox true
  assert_bad 'cannot be combined' --count 4 --device-id 0 -- busybox true
  assert_bad 'cannot be combined' --count 4 --host-network -- busybox true
  assert_bad 'no image is given' --count 4 --
  assert_bad 'no IPUs are selected: give --count N' -- busybox true
  assert_bad 'this host has no /dev/ipuN; give --count N' --device-id 0 -- busybox true
  assert_bad "there is no IPUoF file" IPUOF_CONFIG_PATH=/none.conf -- busybox true
  assert_bad "is not the name of a partition: give 1 to 36" 'IPUOF_VIPU_API_PARTITION_ID=a b' -- busybox true
  run -125 host_run env PATH="$BINDIR" gc-docker --count 4 -- busybox true
  assert_contains "$output" "gc-docker: execute 'docker': it is not in PATH"
  # What docker does not accept, docker says.
  run -125 gc_docker --count 4 -- --no-such-option busybox true
  assert_contains "$output" 'unknown flag: --no-such-option'
}

@test "gc-docker, gc-podman: the help ends with an example, which docker runs as it is printed" {
  local example
  run -0 host_run gc-podman --help
  assert_equal "${lines[-2]} ${lines[-1]%% --count*}" 'Example:   gc-podman'
  run -0 host_run gc-docker --help
  assert_equal "${lines[-2]} ${lines[-1]%% --count*}" 'Example:   gc-docker'
  example=${lines[-1]}
  assert_contains "$(host_run timeout "$LIMIT" bash -c "$example")" '"partition"'
}

@test "gc-docker: a user who may not read the configuration gets the same line" {
  local line
  line=$(gc_docker --count 4 --echo -- busybox)
  in_host chmod 0600 /etc/ipu-container-toolkit/config.toml
  assert_equal "$(in_host setpriv --reuid 65534 --regid 65534 --clear-groups gc-docker --count 4 --echo -- busybox)" "$line"
  host_config
}

@test "gc-podman starts a container, whose exit status is its own" {
  engines_up
  in_host tee "$PODMAN/storage.conf" >/dev/null <<END
[storage]
driver = "vfs"
graphroot = "$PODMAN/storage"
runroot = "$PODMAN/run"
END
  gc_podman() {
    host_run env "CONTAINERS_CONF=$PODMAN/containers.conf" "CONTAINERS_STORAGE_CONF=$PODMAN/storage.conf" timeout "$LIMIT" \
      gc-podman --count 4 -- --rm "--cgroup-parent=/$HOST_CGROUP" --rootfs /run/busybox "$@"
  }
  assert_equal "$(gc_podman /bin/cat /run/ipu/lease.json | jq .ipus)" 4
  run -42 gc_podman /bin/sh -c 'exit 42'
}

@test "gc-podman is for podman" {
  run -0 host_run gc-podman --count 4 --echo -- --rm busybox true
  assert_contains "$output" "podman --runtime=$BINDIR/ipu-container-runtime run -e IPU_COUNT=4"
  assert_contains "$(host_run gc-podman --version)" 'gc-podman '
}

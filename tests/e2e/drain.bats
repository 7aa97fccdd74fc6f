#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How an operator empties a host, and removes the toolkit from it; requests that leave a trace although they are refused.

load support

# Where the host has the project for `make uninstall`.
PROJECT=/run/project

teardown() {
  in_host test -e "$BINDIR/vipu-simulator" || host_install
  in_host rm -rf "$PROJECT"
  sim_stop
  sim_start
  ipuctl drain --end >/dev/null || true
  remove_containers
  remove_partitions
  ipuctl gc >/dev/null
  host_config
  assert_nothing_left
}

# What `make uninstall` runs first.
check_unused() { in_host sh -s "$BINDIR/ipuctl" <"$BATS_TEST_DIRNAME/../../packaging/check_unused.sh"; }

@test "a host that is drained gives IPUs to no new container, and waits for those that have some" {
  start job -e IPU_COUNT=4
  run -3 ipuctl drain --timeout 0s --reason 'new kernel'
  assert_contains "$output" 'containers that hold IPUs: job'
  assert_contains "$output" "containers with IPUs: 1; no new one gets any"
  assert_refused -e IPU_COUNT=1 -- 'this host is drained since' '(new kernel)' "'ipuctl drain --end'"
  assert_refused -e IPU_COUNT=1 -e IPU_WAIT=60s -- 'this host is drained since'
  run -1 ipuctl partition create p0 --size 4
  assert_contains "$output" 'this host is drained since'
  docker run --rm --runtime=ipu busybox true
  docker exec job true
  docker rm --force job
  run -0 ipuctl drain --reason 'new kernel'
  assert_contains "$output" "no container holds IPUs, and none gets any before 'ipuctl drain --end'"
  run -0 ipuctl drain --end
  assert_equal "$output" 'containers get IPUs again'
  run -0 ipuctl drain --end
  assert_equal "$output" 'this host was not drained'
  docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true
}

@test "one pool is drained: its requests fail or give up, those of another pool start, and the rest is told" {
  configure_slices /etc/ipuof.conf.d/whole.conf
  ipuctl partition create whole --size 16 --reconfigurable --pool pod64
  in_host mkdir -p /etc/ipuof.conf.d
  ipuctl partition config whole --pool pod64 --gcd 0 | in_host tee /etc/ipuof.conf.d/whole.conf >/dev/null
  start job -e IPU_POOL=pod64 -e IPU_COUNT=32
  start waiter -e IPU_POOL=pod64 -e IPU_COUNT=32 -e IPU_WAIT=60s 3>&- >"$BATS_TEST_TMPDIR/waiter" 2>&1 &
  local waiter=$!
  wait_until 10 has_waiters 1
  run -3 ipuctl pool drain pod64 --timeout 0s --reason repair
  ! wait "$waiter" || fail 'it got IPUs'
  assert_contains "$output" 'containers that hold IPUs: job' "'ipuctl pool drain pod64 --end'"
  assert_refused -e IPU_POOL=pod64 -e IPU_COUNT=1 -- "pool 'pod64' is drained on this host since" '(repair)' "'ipuctl pool drain pod64 --end'"
  docker run --rm --runtime=ipu -e IPU_POOL=slices -e IPU_COUNT=2 busybox true
  assert_equal "$(ipuctl pool list -o json | jq -c 'map({(.pool): .drained.reason}) | add')" '{"pod64":"repair","slices":null}'
  [[ $(ipuctl metrics) == *'ipu_pool_drained{pool="pod64"} 1'*'ipu_pool_drained{pool="slices"} 0'* ]]
  docker rm --force job
  run -0 ipuctl pool drain pod64
  assert_contains "$output" 'no container holds IPUs of pool pod64' "'ipuctl partition remove whole --pool pod64'"
  run -0 ipuctl pool drain pod64 --end
  assert_equal "$output" 'containers get IPUs of pool pod64 again'
  docker run --rm --runtime=ipu -e IPU_POOL=pod64 -e IPU_COUNT=1 busybox true
  run -2 ipuctl pool drain nowhere
  assert_contains "$output" nowhere
  in_host rm /etc/ipuof.conf.d/whole.conf
}

@test "who waits when a drain begins gives up at once" {
  start full -e IPU_COUNT=64
  start waiter -e IPU_COUNT=4 -e IPU_WAIT=60s 3>&- >"$BATS_TEST_TMPDIR/waiter" 2>&1 &
  local waiter=$!
  wait_until 10 has_waiters 1
  run -3 ipuctl drain --timeout 0s
  wait "$waiter" && fail 'it got IPUs'
  assert_equal "$(ipuctl queue -o json)" '[]'
}

has_asked_in_vain() { [[ $(ipuctl events --since 30s) == *'waits for the controller'* ]]; }

@test "who waits for its controller when a drain begins gives up, too" {
  ipuctl partition create p0 --size 4
  sim_stop
  start waiter -e IPU_PARTITION=p0 -e IPU_WAIT=60s 3>&- >"$BATS_TEST_TMPDIR/waiter" 2>&1 &
  local waiter=$!
  wait_until 20 has_asked_in_vain
  run -0 ipuctl drain --timeout 20s
  wait "$waiter" && fail 'it got IPUs'
  sim_start
}

@test "uninstall refuses while anything uses the toolkit, and says what to do about each" {
  run -0 ipuctl border remove
  run -0 check_unused
  assert_equal "$output" 'nothing uses the toolkit on this host'
  ipuctl partition create p0 --size 4
  start job -e IPU_COUNT=4
  in_host install -D -m 0644 /dev/stdin /etc/docker/daemon.json <<<"{\"runtimes\":{\"ipu\":{\"path\":\"$BINDIR/ipu-container-runtime\"}}}"
  in_host sed -i 's/^timeout.*/&\nwarm = { 2 = 1 }/' /etc/ipu-container-toolkit/config.toml
  ipuctl pool refill
  run -1 check_unused
  assert_contains "$output" 'container job holds 4 IPUs of pool pod64: end it with its engine'
  assert_contains "$output" "partition p0 of pool pod64 has 4 IPUs: remove it with 'ipuctl partition remove p0 --pool pod64'"
  assert_contains "$output" "of pool pod64 has 2 IPUs: 'ipuctl drain' removes it"
  assert_contains "$output" "docker has the runtime in /etc/docker/daemon.json: remove it with 'ipuctl runtime unconfigure docker'"
  assert_contains "$output" 'make uninstall removes nothing'
  run -3 ipuctl border remove
  assert_contains "$output" 'the packet filter keeps it from other tenants'
  docker rm --force job
  run -0 ipuctl drain
  assert_contains "$output" "'ipuctl partition remove p0 --pool pod64'"
  assert_equal "$(ipuctl partition list -o json | jq length)" 1
  ipuctl partition remove p0
  in_host rm /etc/docker/daemon.json
  run -0 ipuctl border remove
  run -0 check_unused
}

# The real target, in the host. It goes by what the host uses, so it runs without DESTDIR.
uninstall() { # [VARIABLE=VALUE]
  host_run make --no-print-directory -C "$PROJECT" BINDIR="$BINDIR" PREFIX="${PREFIX:-/usr/local}" uninstall "$@" 2>&1
}

installed() {
  # shellcheck disable=SC2016
  in_host sh -c 'find "$@" -name "*ipu*" ! -path "*/doc/*" -type f | sort' sh "$BINDIR" "${PREFIX:-/usr/local}/libexec"
}

@test "make uninstall refuses while a container has IPUs and removes nothing; FORCE=1 removes all" {
  local before
  in_host mkdir "$PROJECT"
  tar -C "$BATS_TEST_DIRNAME/../.." --exclude=./build --exclude=./.git -c . | in_host tar -C "$PROJECT" -x
  before=$(installed)
  assert_contains "$before" "$BINDIR/ipu-container-runtime"
  start job -e IPU_COUNT=4
  run -2 uninstall
  assert_contains "$output" 'container job holds 4 IPUs of pool pod64: end it with its engine'
  assert_contains "$output" "make uninstall FORCE=1"
  assert_equal "$(installed)" "$before"
  run -0 uninstall FORCE=1
  assert_equal "$(installed)" ''
  # The container goes on, and what gives its IPUs back is there again with the programs.
  assert_equal "$(docker inspect -f '{{.State.Running}}' job)" true
  host_install
  assert_equal "$(installed)" "$before"
  docker rm --force job
  wait_until 10 has_leases 0
  ipuctl border remove
  run -0 uninstall
  assert_contains "$output" 'nothing uses the toolkit on this host'
  assert_equal "$(installed)" ''
  host_install
}

@test "a request that is refused before it has a lease leaves an event" {
  assert_refused --name three -e IPU_COUNT=3 -- "IPU_COUNT='3' is not accepted"
  run -0 ipuctl events
  assert_contains "$output" "IPU_COUNT='3' is not accepted"
  assert_refused -e IPU_COUT=1 -- 'IPU_COUT is unknown; did you mean IPU_COUNT?'
  run -0 ipuctl events
  assert_contains "$output" 'did you mean IPU_COUNT?'
  assert_equal "$(ipuctl ps -o json)" '[]'
  assert_refused -e IPU_COUNT=1 -e IPU_TENANT=a -- "IPU_TENANT='a' is not accepted" 'policy.tenant_variable = true'
}

@test "a container has half of the memory as shared memory, or what its user chose" {
  # shellcheck disable=SC2016
  local half='echo $(($(grep MemTotal /proc/meminfo | tr -dc 0-9) / 2))'  # and the file system rounds to pages
  local size="df -k /dev/shm | awk 'NR == 2 { print \$2 }'"
  run -0 docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox sh -c "$half; $size"
  [ $((lines[1] - lines[0])) -ge 0 ] && [ $((lines[1] - lines[0])) -le 4 ]
  run -0 docker run --rm --runtime=ipu -e IPU_COUNT=1 --shm-size=96m busybox sh -c "$size"
  assert_equal "$output" 98304
  run -0 docker run --rm --runtime=ipu busybox sh -c "$size"
  assert_equal "$output" 65536
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[container]\nshm_size = "256MiB"'
  run -0 docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox sh -c "$size"
  assert_equal "$output" 262144
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Containers under every engine, with IPUs and without: nobody but the container notices the product.

# bats's run sets status, output and stderr; LOW_LEVEL is for remove_all.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load support
load bundle
load conformance
load engines

setup_file() {
  engines_up
}

setup() {
  # "line NN, ENGINE: ..."
  ENGINE=${BATS_TEST_DESCRIPTION#line * }
  ENGINE=${ENGINE%%:*}
  LOW_LEVEL=$ENGINE
  [ "$ENGINE" = crun ] || LOW_LEVEL=runc
}

teardown() {
  note_conformance
  engines_clean
  in_host rm -rf "$SPY/before"
  give_back
}

# A container called create, then one called run, with IPUs: its network, and afterwards nothing.
odd_names() {
  local name
  for name in create run; do
    engine_start "$ENGINE" "$name" IPU_COUNT=2 -- sleep 3600
    assert_contains "$(engine_exec "$ENGINE" "$name" ip link show roce0)" UP
    assert_equal "$(ipuctl ps -o json | jq -r '.[0].state')" RUNNING
    engine_end "$ENGINE" "$name"
    wait_until 10 nothing_is_left
  done
}

@test "line 01, docker: containers named create and run" { odd_names; }
@test "line 01, ctr: containers named create and run" { odd_names; }
@test "line 01, podman: containers named create and run" { odd_names; }
@test "line 01, podman-path: containers named create and run" { odd_names; }
@test "line 01, runc: containers named create and run, with IPUs" { odd_names; }
@test "line 01, crun: containers named create and run, with IPUs" { odd_names; }

# What the container writes, and its exit status, arrive; nothing else does.
only_the_container() {
  local variable
  for variable in NONE=1 IPU_COUNT=2; do
    run -3 --separate-stderr engine_run "$ENGINE" job "$variable" -- sh -c 'echo out; echo err >&2; exit 3'
    assert_equal "$output" out
    assert_equal "$(without_engine <<<"$stderr")" err
    wait_until 10 nothing_is_left
  done
}

# ctr itself logs how a container ended.
without_engine() { grep -v '^time=.*exit' || true; }

@test "line 14, docker: standard output and error are the container's" { only_the_container; }
@test "line 14, ctr: standard output and error are the container's" { only_the_container; }
@test "line 14, podman: standard output and error are the container's" { only_the_container; }
@test "line 14, podman-path: standard output and error are the container's" { only_the_container; }
@test "line 14, runc: standard output and error are the container's" { only_the_container; }
@test "line 14, crun: standard output and error are the container's" { only_the_container; }

logs_of() { # NAME
  if [ "$ENGINE" = docker ]; then docker logs "$1"; else podman_by "$(runtime_of "$ENGINE")" logs "$1"; fi
}

has_logged() { logs_of "$1" 2>/dev/null | grep -q end; }

# The log of a container that writes to both streams, without the product, with it, and with IPUs.
same_logs() {
  local command="printf 'no newline'; echo; echo err >&2; echo '{\"level\":\"error\"}'; printf '\\001'; echo end; sleep 3600"
  PLAIN=yes engine_start "$ENGINE" plain -- sh -c "$command"
  engine_start "$ENGINE" without -- sh -c "$command"
  engine_start "$ENGINE" with IPU_COUNT=2 -- sh -c "$command"
  for name in plain without with; do
    wait_until 10 has_logged "$name"
    logs_of "$name" >"$BATS_TEST_TMPDIR/$name.out" 2>"$BATS_TEST_TMPDIR/$name.err"
  done
  for name in without with; do
    cmp "$BATS_TEST_TMPDIR/plain.out" "$BATS_TEST_TMPDIR/$name.out"
    cmp "$BATS_TEST_TMPDIR/plain.err" "$BATS_TEST_TMPDIR/$name.err"
  done
}

@test "line 15, docker: the log is the same, byte for byte" { same_logs; }
@test "line 15, podman: the log is the same, byte for byte" { same_logs; }
@test "line 15, podman-path: the log is the same, byte for byte" { same_logs; }

# Two ends of a container give back once, and not what its successor of the same name has.
two_deletes() {
  local lease
  engine_start "$ENGINE" job IPU_COUNT=2 -- sleep 3600
  lease=$(ipuctl ps -o json | jq -r '.[0].lease')
  engine_end "$ENGINE" job
  engine_start "$ENGINE" job IPU_COUNT=2 -- sleep 3600
  # As a poststop that comes late, and another one.
  in_host ipu-container-hook poststop --lease "$lease" <<<'{"id": "job", "bundle": "/b", "status": "stopped"}'
  in_host ipu-container-hook poststop --lease "$lease" <<<'{"id": "job", "bundle": "/b", "status": "stopped"}'
  assert_contains "$(engine_exec "$ENGINE" job ip link show roce0)" UP
  engine_end "$ENGINE" job
  wait_until 10 nothing_is_left
}

@test "line 18, docker: two ends, and a late poststop beside a successor" { two_deletes; }
@test "line 18, ctr: two ends, and a late poststop beside a successor" { two_deletes; }
@test "line 18, podman: two ends, and a late poststop beside a successor" { two_deletes; }
@test "line 18, podman-path: two ends, and a late poststop beside a successor" { two_deletes; }
@test "line 18, runc: two ends, and a late poststop beside a successor" { two_deletes; }
@test "line 18, crun: two ends, and a late poststop beside a successor" { two_deletes; }

@test "line 19, docker: a restart policy that starts three times leaves nothing" {
  docker run --detach --runtime=ipu --name job --restart=on-failure:3 -e IPU_COUNT=2 busybox sh -c 'exit 1'
  wait_until 30 has_given_up
  wait_until 10 nothing_is_left
}

has_given_up() {
  [ "$(docker inspect -f '{{.RestartCount}} {{.State.Running}} {{.State.Restarting}}' job)" = '3 false false' ]
}

@test "line 19, podman: a restart policy that starts three times leaves nothing" {
  podman_by ipu run --detach --name job --restart=on-failure:3 "--cgroup-parent=/$HOST_CGROUP" --env=IPU_COUNT=2 \
    --rootfs /run/busybox sh -c 'exit 1'
  wait_until 30 has_given_up_too
  wait_until 10 nothing_is_left
}

has_given_up_too() {
  [ "$(podman_by ipu inspect -f '{{.RestartCount}} {{.State.Status}}' job)" = '3 exited' ]
}

refused_on_host_network() {
  run ! engine_run "$ENGINE" job IPU_COUNT=2 NET=host -- true
  assert_contains "$output$stderr" 'network'
  nothing_is_left
  engine_run "$ENGINE" job NET=host -- true
}

@test "line 20, docker: the host's network is refused, without a request it is not" { refused_on_host_network; }
@test "line 20, ctr: the host's network is refused, without a request it is not" { refused_on_host_network; }
@test "line 20, podman: the host's network is refused, without a request it is not" { refused_on_host_network; }
@test "line 20, podman-path: the host's network is refused, without a request it is not" { refused_on_host_network; }
@test "line 20, runc: the host's network is refused, without a request it is not" { refused_on_host_network; }
@test "line 20, crun: the host's network is refused, without a request it is not" { refused_on_host_network; }

# The network of another container: one interface, which stays until both have ended.
shares_network() {
  engine_start "$ENGINE" first IPU_COUNT=2 -- sleep 3600
  engine_start "$ENGINE" second IPU_COUNT=2 "NET=first" -- sleep 3600
  assert_equal "$(engine_exec "$ENGINE" second ip -o link show | grep -c roce0)" 1
  assert_equal "$(leases)" 2
  engine_end "$ENGINE" second
  wait_until 10 has_leases 1
  assert_contains "$(engine_exec "$ENGINE" first ip link show roce0)" UP
}

@test "line 20, docker: a container in another one's network" { shares_network; }
@test "line 20, podman: a container in another one's network" { shares_network; }
@test "line 20, podman-path: a container in another one's network" { shares_network; }

# The same verbs reach a container with IPUs, with nothing said, and change nothing of its lease.
verbs_work() {
  local before
  engine_start "$ENGINE" job IPU_COUNT=2 -- sleep 3600
  before=$(ipuctl ps -o json | jq -c 'map(del(.age, .age_seconds, .seconds))[0] | {lease, state, partition}')
  run -0 --separate-stderr engine_exec "$ENGINE" job sh -c 'echo out; echo err >&2'
  assert_equal "$output $stderr" 'out err'
  run -5 engine_exec "$ENGINE" job sh -c 'exit 5'
  [ "$ENGINE" = crun ] || engine_pause "$ENGINE" job
  [ "$ENGINE" != docker ] || docker update --memory 64m --memory-swap 64m job
  in_host tee "$CONFIG" >/dev/null <<<'no configuration ['
  assert_equal "$(engine_exec "$ENGINE" job echo here)" here
  host_config
  assert_equal "$(ipuctl ps -o json | jq -c '.[0] | {lease, state, partition}')" "$before"
  engine_end "$ENGINE" job
  wait_until 10 nothing_is_left
}

@test "line 24, docker: exec, pause, resume and update are the engine's" { verbs_work; }
@test "line 24, ctr: exec, pause and resume are the engine's" { verbs_work; }
@test "line 24, podman: exec, pause and resume are the engine's" { verbs_work; }
@test "line 24, podman-path: exec, pause and resume are the engine's" { verbs_work; }
@test "line 24, runc: exec, pause and resume are the caller's" { verbs_work; }
@test "line 24, crun: exec is the caller's" { verbs_work; }

# What a spy saw, each call by the process that made it. The two programs that this process became have
# different names.
calls_seen() { # FOLDER
  # shellcheck disable=SC2016
  in_host sh -c 'cd "$1" && cat $(grep -H "^pid " call.* | sort -t " " -k 2n | cut -d : -f 1)' sh "$1" |
    awk '/^cwd / { named = 0 } /^arg / && !named { named = 1; next } { print }'
}

# The engine calls a spy, which becomes the product, which becomes the other spy: in each call of a container
# without IPUs, and with them, what the first one inherited is what the other one inherits.
same_handed_over() {
  local variable
  in_host mkdir -p "$SPY/before"
  in_host cp "$SPY/spy" "$SPY/before/spy"
  for variable in NONE=1 IPU_COUNT=2; do
    use_spy /usr/sbin/runc
    in_host sh -c "rm -f $SPY/before/call.* && ln -sf $RUNTIME $SPY/before/next"
    PLAIN=spy engine_run "$ENGINE" job "$variable" -- true
    calls_seen "$SPY/before" >"$BATS_TEST_TMPDIR/given"
    calls_seen "$SPY" >"$BATS_TEST_TMPDIR/got"
    [ "$(grep -c '^arg create$' "$BATS_TEST_TMPDIR/given")" = 1 ]
    diff "$BATS_TEST_TMPDIR/given" "$BATS_TEST_TMPDIR/got"
  done
}

@test "line 25, ctr: what containerd hands over reaches the low-level runtime as it is" { same_handed_over; }
@test "line 25, podman-path: what conmon and podman hand over reaches the low-level runtime as it is" { same_handed_over; }

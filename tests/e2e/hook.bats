#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipu-container-hook with a state that no runtime should send: one line that names what is wrong, exit
# status 1, nothing left.

load support
load bundle

# The form of a lease's id, of which there is none.
NO_LEASE=0123456789abcdef0123456789abcdef
HOOK=$BINDIR/ipu-container-hook
POSTSTOP=/usr/local/libexec/ipu-container-toolkit/ipu-container-poststop

# A lease whose hook has not been called yet: the low-level runtime does nothing.
setup() {
  host_config
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[runtime]\npaths = ["/usr/bin/true"]'
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  runtime create --bundle "$BUNDLE" job
  LEASE=$(ipuctl ps --output json | jq -er '.[0].lease')
  host_config
  # Calls other than create go to the runtime that was used last.
  docker run --rm --runtime=ipu busybox true
}

teardown() {
  remove_containers
  remove_bundle
  assert_nothing_left
}

hook() { # STAGE LEASE: the state is standard input
  host_run timeout "$LIMIT" ipu-container-hook "$1" --lease "$2"
}

assert_hook_refuses() { # TEXT...: the state is standard input
  assert_hook_refuses_lease "$LEASE" "$@"
}

assert_hook_refuses_lease() { # LEASE TEXT...: the state is standard input
  local text lease=$1
  shift
  run -1 --separate-stderr hook createRuntime "$lease"
  assert_equal "$output" ''
  # shellcheck disable=SC2154
  assert_equal "$(wc -l <<<"$stderr")" 1
  for text in "$@"; do
    assert_contains "$stderr" "$text"
  done
}

@test "an empty state" { assert_hook_refuses 'standard input' </dev/null; }

@test "a truncated state" { assert_hook_refuses 'standard input' <<<'{"ociVersion": "1.0.2", "id": "a", "pi'; }

@test "a state of 2 MB" {
  jq -nc '{id: "a", bundle: "/b", pid: 1, x: ("x" * 2097152)}' >"$BATS_TEST_TMPDIR/state"
  assert_hook_refuses 'standard input' '1048576' <"$BATS_TEST_TMPDIR/state"
}

@test "a state without pid" { assert_hook_refuses "'pid'" <<<'{"id": "a", "bundle": "/b"}'; }

@test "a state with a pid that is no number" { assert_hook_refuses "'pid'" <<<'{"id": "a", "bundle": "/b", "pid": "1"}'; }

@test "a state with a negative pid" { assert_hook_refuses "'pid'" <<<'{"id": "a", "bundle": "/b", "pid": -1}'; }

@test "a state with the pid of a process that has ended" {
  local pid
  pid=$(in_host sh -c 'echo $$')
  assert_hook_refuses "'pid'" "$pid" <<<"{\"id\": \"a\", \"bundle\": \"/b\", \"pid\": $pid}"
}

@test "the host's network namespace" {
  assert_hook_refuses network <<<'{"id": "a", "bundle": "/b", "pid": 1}'
}

@test "a lease that does not exist" {
  ipuctl gc
  assert_hook_refuses_lease "$NO_LEASE" "$NO_LEASE" <<<'{"id": "a", "bundle": "/b", "pid": 1}'
}

@test "an id that has not the form of a lease's" {
  ipuctl gc
  assert_hook_refuses_lease ../../etc '32 hexadecimal digits' <<<'{"id": "a", "bundle": "/b", "pid": 1}'
}

@test "poststop of a lease that is gone is fine, and silent" {
  ipuctl gc
  run -0 hook poststop "$NO_LEASE" <<<'{"id": "a", "bundle": "/b", "status": "stopped"}'
  assert_equal "$output" ''
}

@test "poststop gives the lease back, and twice is fine" {
  run -0 hook poststop "$LEASE" <<<'{"id": "job", "bundle": "/b", "status": "stopped"}'
  assert_equal "$output" ''
  run -0 hook poststop "$LEASE" <<<'{"id": "job", "bundle": "/b", "status": "stopped"}'
  assert_equal "$output" ''
}

# Runs the program that config.json names for poststop, with FILE in the place of the hook.
poststop_without_hook() { # FILE ARGUMENT...
  # shellcheck disable=SC2016
  in_host timeout "$LIMIT" unshare --mount sh -c 'mount --bind "$1" "$2"; shift 2; cd /tmp
    exec env OTHER=1 IPU_DEBUG=1 "$@" 7</dev/null' sh "$1" "$HOOK" "$POSTSTOP" "${@:2}" <<<'{"id": "job"}'
}

@test "config.json's program for poststop starts a release that has nothing of its caller" {
  ipuctl gc
  in_host install -m 0755 /dev/stdin /run/recorder <<'END'
#!/bin/sh
places=$(readlink "/proc/$$/cwd" "/proc/$$/fd/0" "/proc/$$/fd/1" "/proc/$$/fd/2" "/proc/$$/fd/7")
{
  echo "$@"
  tr '\0' '\n' <"/proc/$$/environ"
  echo "$places"
  [ "$(cut -d ' ' -f 6 "/proc/$$/stat")" != $$ ] || echo 'its own session'
} >/run/recording
mv /run/recording /run/recorded
END
  run -0 poststop_without_hook /run/recorder poststop --lease "$NO_LEASE"
  assert_equal "$output" ''
  wait_until 5 in_host test -e /run/recorded
  run -0 in_host sh -c 'cat /run/recorded; rm /run/recorded /run/recorder'
  assert_equal "$output" "release --lease $NO_LEASE
IPU_DEBUG=1
/
/dev/null
/dev/null
/dev/null
its own session"
}

@test "that program becomes the hook in every doubt, and without the hook it says so and does not fail" {
  ipuctl gc
  run -0 --separate-stderr in_host "$POSTSTOP" poststop --lease ../../etc </dev/null
  assert_contains "$stderr" '32 hexadecimal digits'
  assert_equal "$(in_host "$POSTSTOP" --version)" "$(in_host "$HOOK" --version)"
  run -0 --separate-stderr poststop_without_hook /dev/null poststop --lease "$NO_LEASE"
  assert_equal "$output" ''
  assert_equal "$stderr" 'ipu: cannot execute ipu-container-hook; install the IPU container toolkit again'
}

is_in_own_network() { # PID
  # shellcheck disable=SC2016
  in_host sh -c '[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]' sh "$1"
}

@test "prestart attaches as createRuntime does, and createRuntime after it does nothing" {
  local pid state link
  pid=$(in_host sh -c 'unshare --net sleep 60 >/dev/null 2>&1 & echo $!')
  wait_until 5 is_in_own_network "$pid"
  state="{\"id\": \"job\", \"bundle\": \"/b\", \"pid\": $pid}"
  run -0 hook prestart "$LEASE" <<<"$state"
  assert_equal "$output" ''
  link=$(in_host nsenter "--net=/proc/$pid/ns/net" ip -o link show roce0)
  assert_equal "$(ipuctl lease show "$LEASE" --output json | jq -r .state)" RUNNING
  run -0 hook createRuntime "$LEASE" <<<"$state"
  assert_equal "$(in_host nsenter "--net=/proc/$pid/ns/net" ip -o link show roce0)" "$link"
  in_host kill "$pid"
  # No poststop: whoever comes next finds that the process has ended.
  wait_until 5 in_host sh -c "[ ! -e /proc/$pid ]"
  assert_contains "$(ipuctl gc)" "released lease $LEASE"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What reaches the low-level runtime: the same call, from the same process, by one execve. What fails after
# that: everything comes back.

# bats's run sets status, output and stderr; LOW_LEVEL is for remove_all.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load support
load bundle
load conformance

teardown() {
  note_conformance
  remove_all
  give_back
}

# ---- line 21 ----

# The hook that attaches hangs, and has one second.
hanging_hook() { # LOW-LEVEL
  LOW_LEVEL=$1
  bundle_for "$1"
  in_host tee "$SPY/hang" >/dev/null <<<$'#!/bin/busybox sh\nexec sleep 30'
  in_host tee "$SPY/hanging" >/dev/null <<END
#!/bin/sh
jq '.hooks.createRuntime[-1] |= (.path = "$SPY/hang" | .timeout = 1)' $BUNDLE/config.json >$BUNDLE/new
mv $BUNDLE/new $BUNDLE/config.json
exec $(in_host sh -c "command -v $1") "\$@"
END
  in_host chmod 0755 "$SPY/hang" "$SPY/hanging"
  use_spy "$SPY/hanging"
  local before=$SECONDS
  run ! --separate-stderr create_by "$1" job
  [ $((SECONDS - before)) -le 25 ]
  assert_equal "$output" ''
}

@test "line 21, runc: a hook that is killed by its time limit: the start fails, poststop gives all back" {
  hanging_hook runc
  wait_until 10 nothing_is_left
}

@test "line 21, crun: a hook that is killed by its time limit: the start fails, one gc gives all back" {
  hanging_hook crun
  assert_equal "$(leases)" 1
  ipuctl gc
  assert_nothing_left
}

# ---- line 22 ----

fails_after_ours() { # LOW-LEVEL
  LOW_LEVEL=$1
  bundle_for "$1" '.hooks = {createContainer: [{path: "/bin/false"}]}'
  run ! --separate-stderr create_by "$1" job
  assert_equal "$output" ''
}

@test "line 22, runc: createContainer fails after our hook: poststop gives all back" {
  fails_after_ours runc
  wait_until 10 nothing_is_left
}

@test "line 22, crun: createContainer fails after our hook, no poststop: one gc gives all back" {
  fails_after_ours crun
  [ -n "$stderr" ]
  assert_equal "$(leases)" 1
  ipuctl gc
  assert_nothing_left
}

@test "line 22, crun: createContainer fails after our hook: the next start takes what the failed one had" {
  local n
  LOW_LEVEL=crun
  bundle_for crun '.process.env = ["PATH=/bin", "IPU_COUNT=64"] | .hooks = {createContainer: [{path: "/bin/false"}]}'
  run ! create_by crun job
  assert_equal "$(leases)" 1
  bundle_for crun '.process.env = ["PATH=/bin", "IPU_COUNT=64"]'
  create_by crun job2
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | select(.state == "RUNNING").ipus')" 64
}

@test "line 22, crun: a program that does not exist fails after our hook: one gc gives all back" {
  LOW_LEVEL=crun
  bundle_for crun '.process.args = ["/no/such/program"]'
  run ! create_by crun job
  ipuctl gc
  assert_nothing_left
}

# ---- line 23 ----

# Without configuration, driver, ledger and files of a run.
features() { # LOW-LEVEL ARGUMENT...
  local path
  path=$(in_host sh -c "command -v $1")
  LOW_LEVEL=$1
  bundle_for "$1"
  in_host "$RUNTIME" --root / create none >/dev/null 2>&1 || true
  shift
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    path=$1; product=$2; config=$3
    shift 3
    mount -t tmpfs tmpfs "$config" && mount -t tmpfs tmpfs /var/lib && mount -t tmpfs tmpfs /sys/class
    "$path" "$@" >/run/direct.out 2>/run/direct.err; echo $? >>/run/direct.out
    "$product" "$@" >/run/ours.out 2>/run/ours.err; echo $? >>/run/ours.out
    cmp /run/direct.out /run/ours.out && sed -i "s/time=\"[^\"]*\"//" /run/*.err && cmp /run/direct.err /run/ours.err
  ' sh "$path" "$RUNTIME" "$(dirname "$CONFIG")" "$@"
}

@test "line 23, runc: features and --version on a host with nothing of ours: runc's own bytes" {
  features runc features
  in_host jq -es '.[0].ociVersionMin' /run/ours.out
  features runc --version
}

@test "line 23, crun: features and --version on a host with nothing of ours: crun's own bytes" {
  features crun features
  features crun --version
  in_host grep -q crun /run/ours.out
}

# ---- line 24 ----

# Writes the system calls with a path, or to do with processes or sockets, that the product makes before it
# is something else. OURS is how many of its programs do so, one after the other: 1 if it is not set.
trace_call() { # ARGUMENT...
  in_host rm -f /run/strace
  in_host strace -f -qq -o /run/strace -e trace=%file,%process,%network "$RUNTIME" "$@" >/dev/null 2>&1 </dev/null
  # One is strace's.
  assert_equal "$(in_host grep -c ' exec[a-z]*(' /run/strace)" "$((${OURS:-1} + 1))"
  in_host awk -v ours="${OURS:-1}" '/ execve\(/ && n++ == ours { exit } { sub(/^[0-9]+ +/, ""); print }' /run/strace \
    >"$BATS_TEST_TMPDIR/trace"
}

opened() { sed -n 's/^open[a-z0-9]*([^"]*"\([^"]*\)".*/\1/p' "$BATS_TEST_TMPDIR/trace"; }

@test "line 24, runc: no call but create, run and restore opens a file, or starts a process" {
  local words
  use_spy
  for words in 'start job' 'state job' 'kill job KILL' 'delete --force job' 'exec --process p job' 'ps job' 'pause job' \
    'resume job' 'update --resources - job' 'events --stats job' 'list' 'spec' \
    'features' '--version' '--help' 'help create' 'init' 'mounts' 'future job' '--root / --log run --debug state run' ''; do
    # shellcheck disable=SC2086
    trace_call $words
    run ! grep -vE '^(execve|readlink|stat|lstat)\(' "$BATS_TEST_TMPDIR/trace"
    run ! grep -E '/etc/ipu-container-toolkit|/var/lib/|/run/bundle' "$BATS_TEST_TMPDIR/trace"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/trace")" -le 6 ]
  done
}

@test "line 24, runc: checkpoint opens the list of leases, and nothing but that" {
  use_spy
  OURS=2 trace_call checkpoint --image-path create job
  assert_equal "$(opened)" /run/ipu-container-toolkit/leases
}

@test "line 24, runc: create, run and restore without a request open config.json only, and a changed configuration" {
  local word
  use_spy
  make_bundle .
  for word in create run restore; do
    in_host touch "$CONFIG"
    sleep 0.1
    OURS=2 trace_call "$word" --bundle "$BUNDLE" job
    # Without what it takes to replace the link that records the configuration.
    assert_equal "$(opened | grep -vE '^/run/ipu-container-toolkit$|^/proc/[0-9]+/stat$')" \
      "${CONFIG%/*}"$'\n'"$CONFIG"$'\n'"$BUNDLE"$'\n.\nconfig.json'
    run ! grep -vE '^(execve|readlink|newfstatat|stat|lstat|open|openat|access|mkdir|symlink|rename|unlink)\(' "$BATS_TEST_TMPDIR/trace"
    trace_call "$word" --bundle "$BUNDLE" job
    assert_equal "$(opened)" "$BUNDLE/config.json"
    run ! grep -vE '^(execve|readlink|stat|lstat|open|access)\(' "$BATS_TEST_TMPDIR/trace"
  done
}

# ---- line 25 ----

@test "line 25, runc: every call: descriptors, signals, limits, umask, cwd, environment and words are the caller's" {
  local words
  use_spy
  make_bundle .
  for words in 'start job' 'state job' 'kill job' 'delete --force job' 'exec job sh' 'features' \
    "create --bundle $BUNDLE job" "run --bundle $BUNDLE job" "restore --bundle $BUNDLE job" ''; do
    # shellcheck disable=SC2086
    assert_same_call $words
  done
  in_host cmp "$SPY/config.1.json" "$BUNDLE/config.json"
}

@test "line 25, runc: with a request: the same, nothing is left open and no process behind" {
  use_spy
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  assert_same_call --root "$STATE" create --preserve-fds 1 --bundle "$BUNDLE" job
  spy_config 2 | jq -e '.annotations["graphcore.ai/ipu.lease"]'
}

# Calls the spy, and it through the product, with standard streams that are closed.
closed_streams() {
  clear_spy
  # shellcheck disable=SC2016
  in_host sh -c '
    for program in /run/spy/spy "$1"; do
      "$program" create --bundle "$2" job <&- >&- 2>&-
    done
    :' sh "$RUNTIME" "$BUNDLE"
  diff <(spy_call 1) <(spy_call 2)
  assert_equal "$(spy_call 2 | grep -c '^fd [012] ')" 0
}

@test "line 25, runc: closed standard streams stay closed" {
  use_spy
  make_bundle .
  closed_streams
}

@test "line 25, runc: the low-level runtime has the process, not a child" {
  local filter
  use_spy
  for filter in . '.process.env += ["IPU_COUNT=2"]'; do
    clear_spy
    make_bundle "$filter"
    # shellcheck disable=SC2016
    run -0 in_host sh -c 'echo "pid $$"; exec "$1" create --bundle "$2" job' sh "$RUNTIME" "$BUNDLE"
    assert_equal "$(in_host grep '^pid ' "$SPY/call.1")" "$output"
    give_back
  done
}

# ---- config.json is replaced ----

@test "line 07, runc: config.json is another file with the same owner and mode, and nothing lies beside it" {
  local before
  use_spy
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host chown 1234:4321 "$BUNDLE/config.json"
  in_host chmod 0640 "$BUNDLE/config.json"
  before=$(in_host stat -c %i "$BUNDLE/config.json")
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
  assert_equal "$(in_host stat -c '%u %g %a' "$BUNDLE/config.json")" '1234 4321 640'
  [ "$(in_host stat -c %i "$BUNDLE/config.json")" != "$before" ]
  assert_equal "$(in_host ls -A "$BUNDLE")" config.json
}

@test "line 07, runc: a bundle that is used again has each of our entries once, of its new lease" {
  local lease
  use_spy
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
  give_back
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
  lease=$(ipuctl ps -o json | jq -r '.[0].lease')
  spy_config 2 | jq -e --arg lease "$lease" '
    (.hooks | map_values(length)) == {createRuntime: 1, poststop: 1} and
    ([.mounts[].destination] | length == (unique | length)) and
    (.process.env | length == (map(split("=")[0]) | unique | length)) and
    .annotations["graphcore.ai/ipu.lease"] == $lease and ([.hooks[][].args[-1]] | unique) == [$lease]'
}

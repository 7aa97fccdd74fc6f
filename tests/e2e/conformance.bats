#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What engines and low-level runtimes may expect of each other, line by line: command lines and bundles.

# bats's run sets status, output and stderr.
# shellcheck disable=SC2030,SC2031,SC2154

load support
load bundle
load conformance

REQUEST='.process.env += ["IPU_COUNT=2"]'

setup() {
  make_bundle "$REQUEST"
}

teardown() {
  note_conformance
  clear_spy
  forget_runtime
  remove_bundle
  give_back
}

# A create by these words edits the bundle: the spy finds a lease in it, and the words unchanged.
assert_edits() { # WORD...
  clear_spy
  in_host cp "$BUNDLE/config.json" /run/before.json
  in_host "$RUNTIME" "$@"
  spy_config 1 | jq -e '.annotations["graphcore.ai/ipu.lease"]'
  assert_equal "$(spy_call 1 | sed -n 's/^arg //p' | tail -n +2)" "$(printf '%s\n' "$@")"
  in_host cp /run/before.json "$BUNDLE/config.json"
  give_back
}

# A call with these words reads no bundle and changes none.
assert_leaves_alone() { # WORD...
  clear_spy
  in_host cp "$BUNDLE/config.json" /run/before.json
  in_host "$RUNTIME" "$@"
  in_host cmp /run/before.json "$BUNDLE/config.json"
  assert_equal "$(spy_call 1 | sed -n 's/^arg //p' | tail -n +2)" "$(printf '%s\n' "$@")"
  assert_equal "$(leases)" 0
}

@test "line 01, runc: containers named create, run and restore: only a subcommand creates" {
  local name
  use_spy
  for name in create run restore; do
    assert_edits create --bundle "$BUNDLE" "$name"
    assert_leaves_alone --root "$STATE" delete --force "$name"
    assert_leaves_alone --root "$STATE" exec "$name" run --bundle "$BUNDLE"
    assert_leaves_alone --root create state "$name"
    assert_leaves_alone --log run --root=x kill "$name" KILL
  done
}

@test "line 02, runc: --root=R and --root R" {
  local root
  for root in "--root $STATE" "--root=$STATE" "-root $STATE" "-root=$STATE"; do
    # shellcheck disable=SC2086
    in_host sh -c "$RUNTIME $root create --bundle $BUNDLE job >/dev/null 2>&1 </dev/null"
    assert_equal "$(in_host runc --root "$STATE" state job | jq -r .status)" created
    assert_equal "$(ipuctl ps -o json | jq -r '.[0] | .state + .container')" RUNNINGjob
    # shellcheck disable=SC2086
    in_host "$RUNTIME" $root delete --force job
    give_back
    make_bundle "$REQUEST"
  done
}

@test "line 03, runc: the bundle by -b DIR, -b=DIR, --bundle=DIR, relative, and the working directory" {
  use_spy
  assert_edits create -b "$BUNDLE" job
  assert_edits create "-b=$BUNDLE" job
  assert_edits create --bundle="$BUNDLE" --pid-file /run/pid job
  assert_edits create --bundle ../../"$BUNDLE" job
  in_host sh -c "cd $BUNDLE && $RUNTIME create job"
  in_host grep -q ipu.lease "$BUNDLE/config.json"
  make_bundle "$REQUEST"
  in_host sh -c "cd $BUNDLE/.. && $RUNTIME create --bundle ${BUNDLE##*/} job"
  in_host grep -q ipu.lease "$BUNDLE/config.json"
}

@test "line 03, crun: the bundle by -bDIR, behind the container, and another name by -f" {
  use_spy
  assert_edits create "-b$BUNDLE" job
  assert_edits create job --bundle "$BUNDLE"
  in_host cp "$BUNDLE/config.json" "$BUNDLE/other.json"
  in_host env --chdir="$BUNDLE" "$RUNTIME" create -b "$BUNDLE" -f other.json job
  in_host grep -q ipu.lease "$BUNDLE/other.json"
  run ! in_host grep -q ipu.lease "$BUNDLE/config.json"
}

@test "line 04, runc: -no-subreaper with a single dash, of run and restore" {
  use_spy
  assert_edits run -no-subreaper -d --bundle "$BUNDLE" job
  assert_edits restore -no-subreaper --image-path create --bundle "$BUNDLE" job
  use_spy /usr/sbin/runc
  in_host sh -c "$RUNTIME --root $STATE run -no-subreaper -d --bundle $BUNDLE job >/dev/null 2>&1 </dev/null"
  assert_equal "$(ipuctl ps -o json | jq -r '.[0].state')" RUNNING
}

@test "line 05, runc: unknown global options, with a value and without" {
  use_spy
  assert_edits --future create --bundle "$BUNDLE" job
  assert_edits --future=create create --bundle "$BUNDLE" job
  assert_edits --future value create --bundle "$BUNDLE" job
  assert_leaves_alone --future value state create
  assert_leaves_alone --future=create delete create
}

@test "line 05, runc: an unknown option of create is refused by runc, in its own words" {
  local direct
  run -1 in_host runc --root "$STATE" create --bundle "$BUNDLE" --future job
  direct=$(without_time)
  run -1 in_host "$RUNTIME" --root "$STATE" create --bundle "$BUNDLE" --future job
  assert_equal "$(without_time)" "$direct"
}

without_time() { sed -E 's/time="[^"]*"//' <<<"$output"; }

@test "line 06, runc: spaces, UTF-8, bytes that are none, empty words and 128 KB" {
  local long
  # Linux takes no longer one: 32 pages with the final NUL.
  long=$(printf '%131000s' '' | tr ' ' x)
  use_spy
  assert_same_call --root '/run/a  b' exec --cwd '' 'jöb ☃' $'\xff\xfe' "$long" $'new\nline' '*' -- --
  assert_same_call --root "/run/☃ $long" create --console-socket "$long" --bundle "$BUNDLE" ''
  assert_same_call --root "$long" state create
}

# The bundle's text, not by way of jq, which would mend it.
write_config() { # TEXT
  printf '%s' "$1" | in_host tee "$BUNDLE/config.json" >/dev/null
}

# A bundle with a request, and EXTRA, text, as the first members.
with_extra() { # EXTRA
  printf '{%s,"ociVersion":"1.0.2","process":{"env":["IPU_COUNT=2"],"args":["true"],"cwd":"/"},' "$1"
  printf '"root":{"path":"/run/busybox"},"linux":{"namespaces":[{"type":"network"}]}}'
}

create_with() { # CONFIG: what the spy finds
  clear_spy
  write_config "$1"
  in_host "$RUNTIME" create --bundle "$BUNDLE" job
  give_back
}

@test "line 07, runc: values that no parser keeps stay as they were written" {
  local extra
  use_spy
  for extra in '"x":18446744073709551615' '"x":-0' '"x":-0.0' '"x":1.0' '"x":1E+2' \
    '"x":"\ud83d\ude00\u0000\/"' '"x":[]' '"x":{"b":1,"a":{"b":[null,true]}}' '"x" : 0.1e-7'; do
    create_with "$(with_extra "$extra")"
    assert_contains "$(spy_config 1)" "{$extra,"
    spy_config 1 | grep -q ipu.lease
  done
}

@test "line 07, runc: a number that no runtime can hold is refused by its name, and stays" {
  write_config "$(with_extra '"x":1e400')"
  assert_create_refused config.json 1e400
  assert_equal "$(in_host cat "$BUNDLE/config.json")" "$(with_extra '"x":1e400')"
}

@test "line 07, runc: hooks, annotations and mounts that are null become ours" {
  use_spy
  create_with "$(with_extra '"hooks":null,"annotations":null,"mounts":null')"
  spy_config 1 | jq -e '(.hooks.createRuntime | length) == 1 and (.annotations | length) == 1 and
    (.mounts | length) == 2'
}

@test "line 07, runc: a final newline stays, none comes" {
  use_spy
  create_with "$(with_extra '"x":1')"
  assert_equal "$(spy_config 1 | tail -c 1)" '}'
  create_with "$(with_extra '"x":1')"$'\n\n'
  assert_equal "$(in_host tail -c 3 "$SPY/config.1.json" | od -An -c | tr -d ' ')" '}\n\n'
}

@test "line 07, runc: keys of ours twice or in another case are refused" {
  local extra
  for extra in '"hooks":{},"hooks":{}' '"Hooks":{}' '"HOOKS":null' '"Linux":{}' '"process":{}' \
    '"mounts":[],"mounts":[]' '"Annotations":{}' '"annotations":{},"annotations":{}'; do
    write_config "$(with_extra "$extra")"
    in_host rm -f "$LOG"
    assert_create_refused config.json "$(sed -E 's/^"([A-Za-z]*)".*/\1/' <<<"$extra")"
    assert_equal "$(in_host cat "$BUNDLE/config.json")" "$(with_extra "$extra")"
  done
}

@test "line 07, runc: without a request none of this matters, and all bytes stay" {
  local config
  use_spy
  for config in '{"hooks":{},"hooks":{},"Hooks":1e400}' '{"a":-0,"a":null}' 'no JSON' $'\n' '{"process":' \
    '{"env":["COUNT=4"]} garbage' "{\"env\":\"$(printf '%500000s' x)\"}" $'{"x":"\xff"}\n'; do
    clear_spy
    write_config "$config"
    in_host sha256sum "$BUNDLE/config.json" >"$BATS_TEST_TMPDIR/before"
    in_host "$RUNTIME" create --bundle "$BUNDLE" job
    assert_equal "$(in_host sha256sum "$BUNDLE/config.json")" "$(cat "$BATS_TEST_TMPDIR/before")"
    in_host cmp "$SPY/config.1.json" "$BUNDLE/config.json"
  done
}

@test "line 08, runc: a read-only bundle is refused with its path, without a request it is fine" {
  # shellcheck disable=SC2016
  run -1 --separate-stderr in_host unshare --mount sh -c '
    mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1"
    exec ipu-container-runtime --root "$2" create --bundle "$1" job </dev/null' sh "$BUNDLE" "$STATE"
  assert_equal "$output" ''
  assert_equal "$(wc -l <<<"$stderr")" 1
  assert_contains "$stderr" "$BUNDLE"
  wait_until 10 nothing_is_left
  make_bundle .
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1"
    exec ipu-container-runtime --root "$2" create --bundle "$1" job >/dev/null 2>&1 </dev/null' sh "$BUNDLE" "$STATE"
  assert_equal "$(in_host runc --root "$STATE" state job | jq -r .status)" created
}

@test "line 09, runc: a bundle on a full file system: refused, and every byte of it stays" {
  # shellcheck disable=SC2016
  run -1 --separate-stderr in_host unshare --mount sh -c '
    set -e
    cp "$1/config.json" /run/before.json
    mount -t tmpfs -o size=64k tmpfs "$1"
    cp /run/before.json "$1/config.json"
    dd if=/dev/zero of="$1/full" bs=4096 2>/dev/null || true
    status=0
    ipu-container-runtime --root "$2" create --bundle "$1" job </dev/null || status=$?
    cmp "$1/config.json" /run/before.json
    ls -A "$1"
    exit $status' sh "$BUNDLE" "$STATE"
  assert_equal "$output" $'config.json\nfull'
  assert_equal "$(wc -l <<<"$stderr")" 1
  assert_contains "$stderr" "$BUNDLE"
  wait_until 10 nothing_is_left
}

@test "line 10, runc: the low-level runtime is killed as soon as it runs: gc leaves nothing" {
  in_host tee "$SPY/killed" >/dev/null <<<$'#!/bin/sh\nkill -KILL $$'
  in_host chmod 0755 "$SPY/killed"
  use_spy "$SPY/killed"
  run -137 runtime create --bundle "$BUNDLE" job
  assert_equal "$(leases)" 1
  give_back
}

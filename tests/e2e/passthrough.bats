#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever does not make a container with IPUs is runc's: the same output, the same exit status.

load support
load bundle

setup() {
  make_bundle .
  in_host runc --root "$STATE" create --bundle "$BUNDLE" create </dev/null >/dev/null 2>&1
}

teardown() {
  remove_bundle
  assert_nothing_left
}

# runc's own times differ from one call to the next.
without_times() { sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+-]+Z?/TIME/g'; }

# The same arguments, given to runc and to ipu-container-runtime, have the same effect on all that a
# caller sees.
assert_same_as_runc() { # ARGUMENT...
  local program status
  for program in runc ipu-container-runtime; do
    status=0
    in_host "$program" "$@" >"$BATS_TEST_TMPDIR/$program.out" 2>"$BATS_TEST_TMPDIR/$program.err" || status=$?
    echo "$status" >"$BATS_TEST_TMPDIR/$program.status"
  done
  for part in out err status; do
    diff <(without_times <"$BATS_TEST_TMPDIR/runc.$part") \
      <(without_times <"$BATS_TEST_TMPDIR/ipu-container-runtime.$part")
  done
}

@test "--version" { assert_same_as_runc --version; }
@test "--help" { assert_same_as_runc --help; }
@test "no argument" { assert_same_as_runc; }
@test "features" { assert_same_as_runc features; }
@test "spec to a bundle that has one" { assert_same_as_runc spec --bundle "$BUNDLE"; }
@test "an unknown subcommand" { assert_same_as_runc no-such-subcommand; }
@test "an unknown global flag" { assert_same_as_runc --no-such-flag state create; }
@test "--root R state of a container named create" { assert_same_as_runc --root "$STATE" state create; }
@test "--root=R state of a container named create" { assert_same_as_runc "--root=$STATE" state create; }
@test "-root R state of a container named create" { assert_same_as_runc -root "$STATE" state create; }
@test "state of a container that does not exist" { assert_same_as_runc --root "$STATE" state none; }
@test "kill of a container that does not exist" { assert_same_as_runc --root "$STATE" kill none TERM; }
@test "delete of a container that does not exist" { assert_same_as_runc --root "$STATE" delete none; }
@test "ps as JSON" { assert_same_as_runc --root "$STATE" ps --format json create; }
@test "list" { assert_same_as_runc --root "$STATE" list; }

@test "delete of a container named create does not touch its bundle" {
  local before
  before=$(in_host sha256sum "$BUNDLE/config.json")
  runtime kill create KILL
  runtime delete --force create
  assert_equal "$(in_host sha256sum "$BUNDLE/config.json")" "$before"
}

@test "create without a request leaves config.json as it is" {
  local before
  give_own_cgroup plain
  before=$(in_host sha256sum "$BUNDLE/config.json")
  run -0 create plain
  assert_equal "$output" ''
  assert_equal "$(in_host sha256sum "$BUNDLE/config.json")" "$before"
}

@test "after the first create, state is one execve, and neither configuration nor ledger is opened before it" {
  give_own_cgroup plain
  create plain
  in_host strace -f -o /run/strace -e trace=execve,open,openat,openat2 \
    ipu-container-runtime --root "$STATE" state create >/dev/null
  # One is strace's, of ipu-container-runtime.
  assert_equal "$(in_host grep -c 'execve(' /run/strace)" 2
  run ! in_host grep -E '/etc/ipu-container-toolkit|ledger' /run/strace
}

@test "argument vector, environment, descriptors, umask and signal mask are the caller's" {
  # shellcheck disable=SC2016
  in_host tee /run/show >/dev/null <<'END'
#!/bin/busybox sh
printf '<%s>\n' "$0" "$@"
env
umask
pwd
ls -l /proc/self/fd 2>/dev/null | sed 's/.* \([0-9]* ->\)/\1/; /proc/d; s/pipe:.*/pipe/'
grep -E '^Sig(Pnd|Blk|Ign|Cgt)' /proc/$$/status
END
  in_host chmod 0755 /run/show
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    export A="a b" B=
    umask 027
    cd /run
    exec 7</etc/passwd
    mount --bind /run/show /usr/sbin/runc
    /usr/bin/runc --root "x y" state "" >/run/show.runc
    ipu-container-runtime --root "x y" state "" >/run/show.ipu'
  in_host diff /run/show.runc /run/show.ipu
  in_host grep -q '<x y>' /run/show.ipu
}

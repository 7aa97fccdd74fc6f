#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How many instructions the programs of a start execute: the wrapper's until they become another program, the hook's
# until it ends. valgrind counts them, and shows every program the same processor, so that the figures are nearly the same
# everywhere. instructions.txt has them. Who needs more says why in the commit that changes the file.
# The client is not counted: valgrind does not let it limit its descriptors, and without the limit it does nothing.

load support
load bundle
load sliced

COUNTED=$BATS_TEST_DIRNAME/instructions.txt
MARGIN=5 # percent
PROGRAMS=/run/instructions
POSTSTOP=/usr/local/libexec/ipu-container-toolkit/ipu-container-poststop

# The programs are not stripped: valgrind has to find the function `execve`. The ledger is that of another host, so that
# the leases of earlier tests are not in it.
setup() {
  local program
  host_config
  configure_slices "$SLICED"
  in_host mkdir -p "$PROGRAMS"
  for program in ipu-container-runtime ipu-container-start; do
    in_host install -m 0755 /dev/stdin "$PROGRAMS/$program" <"$O/bin/$program"
  done
}

teardown() {
  remove_bundle
  in_host rm -rf "$PROGRAMS"
  wait_until 10 other_host_is_free
  remove_other_host
}

other_host_is_free() { [ "$(on_other_host ipuctl ps --output json)" = '[]' ]; }

# Prints how many instructions a program executes until its first execve, without those of its children.
count() { # PROGRAM ARGUMENT...
  local pid
  # shellcheck disable=SC2016
  on_other_host timeout "$LIMIT" sh -c 'cd "$1"; shift; echo $$ >pid
    exec valgrind --quiet --tool=callgrind --callgrind-out-file=out.%p --dump-before=execve "$@"' \
    sh "$PROGRAMS" "./$1" --root "$STATE" "${@:2}" >/dev/null
  pid=$(in_host cat "$PROGRAMS/pid")
  in_host sed -n 's/^summary: //p' "$PROGRAMS/out.$pid.1"
}

# Compares with the line `NAME: INSTRUCTIONS PROGRAM` of the file, and prints both figures.
assert_counted() { # NAME PROGRAM ARGUMENT...
  assert_figure "$1" "$2" "$(count "${@:2}")"
}

# Fails if there is no figure.
assert_figure() { # NAME PROGRAM INSTRUCTIONS
  local now=$3 before
  before=$(sed -n "s/^$1: *\([0-9]*\) $2\$/\1/p" "$COUNTED")
  echo "$1: ${now:-none} $2 (counted before: ${before:-none})" >&2
  [ "$now" -le $((before + before * MARGIN / 100)) ]
  # One that has ended before its work is no good one.
  [ "$now" -ge $((before / 2)) ]
}

@test "a command on a container, and a container without a request, execute no more instructions than before" {
  make_bundle '.process.args = ["true"]'
  on_other_host ipu-container-runtime --root "$STATE" run --bundle "$BUNDLE" first # the runtime is known from now on
  assert_counted version ipu-container-runtime --version
  assert_counted plain ipu-container-runtime run --bundle "$BUNDLE" plain
  assert_counted unknown ipu-container-start run --bundle "$BUNDLE" unknown
}

@test "a start with IPUs executes no more instructions than before" {
  make_bundle '.process.args = ["true"] | .process.env += ["IPU_COUNT=4", "IPU_POOL=slices"]'
  in_host cp "$BUNDLE/config.json" "$PROGRAMS/config.json"
  on_other_host ipu-container-runtime --root "$STATE" run --bundle "$BUNDLE" first
  wait_until 10 other_host_is_free
  in_host cp "$PROGRAMS/config.json" "$BUNDLE/config.json"
  assert_counted ipus ipu-container-start run --bundle "$BUNDLE" counted
}

@test "the hook executes no more instructions than before" {
  local call program
  make_bundle '.process.args = ["true"] | .process.env += ["IPU_COUNT=4", "IPU_POOL=slices"]'
  for program in ipu-container-hook ipu-container-poststop; do
    in_host install -m 0755 /dev/stdin "$PROGRAMS/$program" <"$O/bin/$program"
  done
  # The hook's filter of system calls forbids those of valgrind: strace has the kernel skip the calls that load it.
  in_host install -m 0755 /dev/stdin "$PROGRAMS/counted" <<END
#!/bin/sh
program=ipu-container-hook
[ "\$1" != poststop ] || program=ipu-container-poststop
exec /usr/bin/strace -qq -o /dev/null -e trace=prctl,seccomp -e inject=prctl,seccomp:retval=0 \\
  /usr/bin/valgrind --quiet --tool=callgrind --callgrind-out-file=$PROGRAMS/out.\$1 "$PROGRAMS/\$program" "\$@"
END
  # shellcheck disable=SC2016
  on_other_host timeout "$LIMIT" sh -c 'mount --bind "$1" "$(command -v ipu-container-hook)"; mount --bind "$1" "$2"
    shift 2; exec "$@"' sh "$PROGRAMS/counted" "$POSTSTOP" ipu-container-runtime --root "$STATE" run --bundle "$BUNDLE" counted
  wait_until 10 other_host_is_free
  for call in probe createRuntime poststop release; do
    wait_until 10 in_host grep -qs '^summary: ' "$PROGRAMS/out.$call"
    assert_figure "$call" "$(sed -n "s/^$call: *[0-9]* //p" "$COUNTED")" "$(in_host sed -n 's/^summary: //p' "$PROGRAMS/out.$call")"
  done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How many system calls the programs of a start make. A time says little on a busy machine; these figures are the same
# everywhere. budget.txt has what each program may make: a tenth more than it does. Who needs more says why in the
# commit that changes the file.

load support
load bundle

BUDGET=$BATS_TEST_DIRNAME/budget.txt
POSTSTOP=/usr/local/libexec/ipu-container-toolkit/ipu-container-poststop

setup() {
  make_bundle '.process.args = ["true"]'
  runtime run --bundle "$BUNDLE" first # from now on the low-level runtime is known
}

teardown() {
  remove_bundle
  in_host rm -f /run/strace
  assert_nothing_left
}

# Prints "CALLS PROGRAM" for each program of ours that COMMAND runs, by itself or in the background; of the hook also its
# argument. A program counts from its own execve to its end, or to the next execve. pread64 and pwrite64 are not counted:
# how long the ledger's log is, and how many of its pages a change touches, depends on what was before.
count_calls() { # COMMAND...
  in_host timeout "$LIMIT" strace -f -qq -o /run/strace "$@" >/dev/null
  # shellcheck disable=SC2016
  in_host awk '
    / <\.\.\. .* resumed>/ || / p(read|write)64\(/ || / (---|\+\+\+) / { next }
    / execve\("/ {
      match($0, /\["[^]]*\]/)
      split(substr($0, RSTART + 1, RLENGTH - 2), words, /[", ]+/)
      path = $0; sub(/.*execve\("/, "", path); sub(/".*/, "", path); sub(/.*\//, "", path)
      name[$1] = path ~ /^ipu/ ? path (path ~ /hook/ ? " " words[3] : "") : ""
    }
    name[$1] != "" { calls[name[$1]]++ }
    END { for (i in calls) print calls[i], i }' /run/strace
}

# Each line of `NAME: CALLS PROGRAM ARGUMENT` in the budget has its measured figure, and none exceeds it.
assert_within() { # NAME, and the figures on standard input
  local figures calls program budget over=0
  figures=$(sort -k 2)
  while read -r calls program; do
    budget=$(sed -n "s/^$1: *\([0-9]*\) $program\$/\1/p" "$BUDGET")
    if [ -z "$budget" ] || [ "$calls" -gt "$budget" ]; then over=1; fi
    echo "$1: $calls $program (budget: ${budget:-none})" >&2
  done <<<"$figures"
  [ "$over" -eq 0 ]
  assert_equal "$(cut -d' ' -f2- <<<"$figures")" "$(sed -n "s/^$1: *[0-9]* //p" "$BUDGET" | sort)"
}

@test "a command on a container, and a container without a request, stay within their budget of system calls" {
  count_calls ipu-container-runtime --version | assert_within version
  count_calls ipu-container-runtime --root "$STATE" run --bundle "$BUNDLE" plain | assert_within plain
}

@test "a start with IPUs stays within its budget of system calls" {
  local start
  make_bundle '.process.args = ["true"] | .process.env += ["IPU_COUNT=4"]'
  # One start in four meets a checkpoint of the ledger's log, in any of its programs. The smallest figures are without it.
  for start in 1 2 3; do
    count_calls ipu-container-runtime --root "$STATE" run --bundle "$BUNDLE" "ipus-$start"
  done | sort -n | awk '{ program = $0; sub(/^[0-9]* /, "", program) } !seen[program]++' | assert_within ipus
}

# Prints how COMMAND begins.
first_calls() { # COMMAND...
  in_host rm -f /run/strace
  # Some of these calls fail, after they have begun.
  in_host timeout "$LIMIT" strace -qq -o /run/strace "$@" >/dev/null 2>&1 </dev/null || true
  in_host head -n 3 /run/strace | grep -o '^execve\|MADV_POPULATE_[A-Z]*) = 0$' | tr -s '\n )=0' ' '
}

@test "a static program maps its data before it does anything else" {
  [ "$(uname -m)" = x86_64 ] || skip 'only programs for x86_64 do so'
  local program
  for program in ipu-container-hook ipuctl gc-docker ipu-agent; do
    assert_equal "$(first_calls "$program" --version)" 'execve MADV_POPULATE_WRITE '
  done
}

@test "the wrapper and poststop start without the C library" {
  [ "$(uname -m)" = x86_64 ] || skip 'only the program for x86_64 does so'
  # A stack protector needs its canary; then comes the work.
  in_host timeout "$LIMIT" strace -qq -o /run/strace ipu-container-runtime --version >/dev/null
  assert_equal "$(in_host head -n 3 /run/strace | grep -o '^[a-z_]*' | xargs)" 'execve arch_prctl readlink'
  in_host timeout "$LIMIT" strace -qq -o /run/strace "$POSTSTOP" poststop --lease 0123456789abcdef0123456789abcdef </dev/null
  assert_equal "$(in_host grep -o '^[a-z_]*' /run/strace | xargs)" 'execve arch_prctl vfork read exit_group'
}

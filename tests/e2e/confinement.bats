#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The confinement of installed programs of root. strace makes one do what it never does: it replaces a
# system call by another. The kernel tests of hook/confinement do this for each phase.

load support

RECORDS=/run/ipu-container-toolkit/forbidden-calls
SAYS='the system call getpgrp'

setup() {
  host_config
  in_host mkdir -p /run/ipu-container-toolkit
  host_spawn syslog busybox syslogd -n -O /run/syslog
  wait_until 5 in_host test -S /dev/log
}

# What a test has put beside comes back, also if the test failed.
bring_back() {
  local directory=/var/lib/ipu-container-toolkit
  in_host test -e /run/kept || return 0
  in_host rm -rf "$directory"
  in_host mv /run/kept "$directory"
}

teardown() {
  bring_back
  host_stop watch
  host_stop syslog
  in_host rm -f /run/syslog /dev/log "$RECORDS"
  assert_nothing_left
}

with_getpgrp_for() { # CALL COMMAND...
  local call=$1
  shift
  in_host timeout "$LIMIT" strace -f -qq -o /dev/null -e "inject=$call:retval=0:syscall=getpgrp" "$@"
}

@test "a forbidden call ends ipuctl border watch; stderr, syslog, the file and doctor say so" {
  run -159 --separate-stderr with_getpgrp_for signalfd4 ipuctl border watch
  # shellcheck disable=SC2154
  assert_contains "$stderr" "$SAYS"
  assert_contains "$stderr" 'in phase watch'
  assert_contains "$(in_host cat "$RECORDS")" "$SAYS"
  host_stop syslog
  assert_contains "$(in_host cat /run/syslog)" "$SAYS"
  assert_contains "$(ipuctl doctor)" "$SAYS"
}

@test "what a release cannot do is in syslog, because nobody waits for it" {
  local lease=0123456789abcdef0123456789abcdef directory=/var/lib/ipu-container-toolkit
  ipuctl gc >/dev/null # makes the ledger
  # shellcheck disable=SC2016
  in_host sh -c 'cp -a "$1" /run/kept && rm -f "$1"/ledger.db-* && echo "no database" >"$1/ledger.db"' sh "$directory"
  in_host ipu-container-hook poststop --lease "$lease" </dev/null
  wait_until 10 in_host grep "lease $lease: " /run/syslog
}

@test "a forbidden call ends the hook's probe" {
  run -159 --separate-stderr with_getpgrp_for readlink \
    ipu-container-hook probe --lease 0123456789abcdef0123456789abcdef
  assert_contains "$stderr" 'in phase probe'
  assert_contains "$(in_host cat "$RECORDS")" 'ipu-container-hook'
}

status_of_watch() { # FIELD
  # shellcheck disable=SC2016
  in_host sh -c 'sed -n "s/^$1:[[:space:]]*//p" "/proc/$(cat /run/service/watch.pid)/status"' sh "$1"
}

is_confined() { [ "$(status_of_watch Seccomp)" = 2 ]; }

# Whether the command that runs loads a filter, in whatever way it ends.
confines() { # COMMAND...
  in_host timeout "$LIMIT" strace -qq -e trace=prctl -o /run/trace "$@" >/dev/null 2>&1 </dev/null || [ $? -ne 159 ]
  in_host grep -q 'PR_SET_SECCOMP, SECCOMP_MODE_FILTER, {' /run/trace
}

@test "all commands confine themselves but those that run programs" {
  local words
  for words in ps 'lease show x' queue 'reservation list' 'audit verify' 'ledger dump' gc 'explain x' 'trace x' \
    'lease refresh' 'ledger check' 'ledger rebuild --dry-run' 'drain --dry-run' 'queue cancel x' 'partition create p0 --size 64000' \
    'partition list' 'partition show p0' 'partition config p0' 'partition wait p0' 'partition ipu-attrs' 'partition adopt p0' \
    'partition reset p0' 'partition remove p0' 'tenant list' 'tenant show x' report 'pool list' 'pool refill' 'reservation extend r --for 1m' 'reservation end r' \
    'health list' 'health taint x --reason y' 'health clear x' 'pool taint x' 'pool untaint x' 'reserve r --ipus 1 --for 1m --pool nowhere' 'border mend' 'border remove'; do
    # shellcheck disable=SC2086
    confines ipuctl $words || fail "ipuctl $words"
  done
  for words in version 'runtime status' 'health check' monitor; do
    # shellcheck disable=SC2086
    ! confines ipuctl $words || fail "ipuctl $words"
  done
  in_host rm -f /run/trace
}

@test "ipuctl events runs without capabilities to change anything" {
  host_spawn watch ipuctl events --follow
  wait_until 10 is_confined
  # CAP_DAC_READ_SEARCH, CAP_SYS_RESOURCE
  assert_equal $((0x$(status_of_watch CapEff) & ~(1 << 2 | 1 << 24))) 0
  assert_equal "$(status_of_watch NoNewPrivs)" 1
}

@test "ipuctl border watch runs without the capabilities that its phase has not" {
  host_spawn watch ipuctl border watch
  wait_until 10 is_confined
  # CAP_NET_ADMIN, CAP_SYS_RESOURCE, CAP_BPF
  local kept=$((1 << 12 | 1 << 24 | 1 << 39)) field
  for field in CapEff CapPrm CapBnd; do
    assert_equal $((0x$(status_of_watch "$field") & ~kept)) 0
  done
  assert_equal "$(status_of_watch NoNewPrivs)" 1
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts that share an etcd: which of them are alive, what is wrong, and that nothing that runs depends on it.

load support
# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"

setup() {
  etcd_start
  configure_fleet
}

teardown() {
  etcd_stop
  unconfigure_fleet
  remove_containers
  ipuctl fleet leave >/dev/null # etcd may have been away when they ended
  ! in_host test -d /run/other-host || in_host rm -r /run/other-host
  wait_until 10 gc_leaves_nothing || assert_nothing_left
}

# Prints "NAME=STATE" of this host and of the other one, by their places in the list of tags.
states() { ipuctl fleet status -o json | jq -r '[.hosts[].state] | sort | join(" ")'; }

all_are_suspect() { [ "$(states)" = 'SUSPECT SUSPECT' ]; }

@test "hosts that beat are alive, and one whose key is gone is suspect and not absent" {
  run -1 ipuctl fleet status
  assert_contains "$output" "no host has joined"
  run -0 ipuctl fleet beat
  [ -z "$output" ]
  on_other_host ipuctl fleet beat
  run -0 ipuctl fleet status
  assert_contains "$output" "$ENDPOINT"
  assert_contains "$output" leader
  assert_contains "$(states)" 'LIVE LIVE'
  [ "$(ipuctl host list -o json | jq -r '[.[].fleet] | join(" ")')" = 'LIVE LIVE' ]
  run -0 ipuctl fleet check
  assert_contains "$output" '2 hosts, no trouble'
  # The host is cut off: its lease ends.
  revoke_all
  all_are_suspect || fail "$(states)"
  run -3 ipuctl fleet check
  assert_contains "$output" 'start ipu-agent'
  run -0 ipuctl fleet beat
  assert_contains "$(states)" 'LIVE SUSPECT'
}

is_live() { [ "$(states)" = LIVE ]; }

@test "ipu-agent keeps the host alive, and says so again after etcd was away" {
  in_host sh -e -c 'groupadd --system ipu; useradd --system ipu-agent'
  host_spawn agent ipu-agent
  wait_until 20 is_live || fail "$(in_host cat /run/service/agent.log)"
  etcd_stop
  sleep 1
  etcd_start
  revoke_all
  wait_until 40 is_live || fail "$(in_host cat /run/service/agent.log)"
  host_stop agent
  in_host sh -e -c 'userdel ipu-agent; ! getent group ipu >/dev/null || groupdel ipu'
}

@test "while etcd is away, what runs goes on, and starts and the fleet's commands fail in one line" {
  ipuctl fleet beat
  start first -e IPU_COUNT=2
  etcd_stop
  for words in 'fleet beat' 'fleet status' 'fleet check'; do
    # shellcheck disable=SC2086
    run -3 ipuctl $words
    assert_contains "$output" "$ENDPOINT"
  done
  run -3 ipuctl host list
  assert_contains "$output" 'this host'
  run ! start second -e IPU_COUNT=2
  assert_contains "$output" "$ENDPOINT"
  inside first true
  etcd_start
  start third -e IPU_COUNT=2
  inside third true
}

# An endpoint that takes connections, and says nothing.
SILENT=127.0.0.1:23791

is_silent() { [ -n "$(clients_of_silent)" ]; }
clients_of_silent() { in_host ss -Hltn "src $SILENT" | awk '{ print $2 }'; }

@test "a member that is silent costs a command its time once, and not for each call to etcd" {
  in_host sed -i "s|^endpoints = .*|endpoints = [\"$SILENT\", \"$ENDPOINT\"]|" "$CONFIG"
  host_spawn silent python3 -c "
import socket, time
listener = socket.create_server(('${SILENT%:*}', ${SILENT#*:}), backlog=64)
time.sleep(120)"
  wait_until 10 is_silent
  run -0 ipuctl fleet beat
  assert_equal "$(clients_of_silent)" 1
  # The start, and one more process that it leaves behind.
  start first -e IPU_COUNT=2
  inside first true
  [ "$(clients_of_silent)" -le 3 ] || fail "$(clients_of_silent) connections"
  host_stop silent
}

@test "a store of a newer release, and a prefix of others, are one clear error" {
  etcd_control put /ipu-container-toolkit/meta '{"version":2,"id":"00"}' >/dev/null
  run -1 ipuctl fleet beat
  assert_contains "$output" 'install a newer release'
  etcd_control put /ipu-container-toolkit/meta 'something' >/dev/null
  run -2 ipuctl fleet beat
  assert_contains "$output" "choose another 'prefix'"
  etcd_control del --prefix /ipu-container-toolkit/ >/dev/null
}

@test "a malformed [fleet] is refused with the key" {
  in_host sed -i 's|^endpoints = .*|endpoints = ["etcd.example:2379"]|' "$CONFIG"
  run -2 ipuctl fleet status
  assert_contains "$output" 'fleet.endpoints must be'
}

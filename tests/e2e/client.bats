#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What may ipu-vipu-client, which speaks to the controller, do? It is looked at while a create is slow.

load support

setup() {
  SIM_CREATE_DELAY=3s restart_sim
}

teardown() {
  restart_sim
  remove_partitions
  ipuctl gc >/dev/null
  remove_users
  assert_nothing_left
}

# Sets CLIENT, its pid, while `ipuctl partition create p0` runs in the background as CREATE. The client is
# stopped, so that a slow host has the time to look at it.
look_for_client() {
  ipuctl partition create p0 --size 4 >/dev/null 3>&- &
  CREATE=$!
  wait_until 5 client_is_confined
  CLIENT=$(client_pid)
  in_host kill -STOP "$CLIENT"
}

let_client_end() {
  in_host kill -CONT "$CLIENT"
  wait "$CREATE"
}

client_pid() { in_host pgrep -x ipu-vipu-client; }

# It has read its request, and its partition is being made.
client_is_confined() { [ "$(sim_log 'any(.event == "hold")')" = true ]; }

# The value of a line of the client's /proc/PID/status.
status_of_client() { # KEY
  in_host sed -n "s/^$1:[[:space:]]*//p" "/proc/$CLIENT/status"
}

assert_confined() {
  local set open
  assert_equal "$(status_of_client Seccomp)" 2
  assert_equal "$(status_of_client NoNewPrivs)" 1
  for set in CapInh CapPrm CapEff CapBnd CapAmb; do
    assert_equal "$set $(status_of_client "$set")" "$set 0000000000000000"
  done
  assert_equal "$(status_of_client Groups)" ''
  # Its standard streams and what gRPC opens: nothing of its caller's.
  open=$(in_host find "/proc/$CLIENT/fd" -type l -printf '%l\n')
  assert_contains "$open" socket:
  assert_equal "$(grep -v '^pipe:\|^socket:\|^anon_inode:\|^/dev/null$' <<<"$open")" ''
  assert_equal "$(in_host cat "/proc/$CLIENT/environ" | wc -c)" 0
}

@test "the client runs as nobody, without any privilege" {
  look_for_client
  assert_equal "$(status_of_client Uid | xargs)" '65534 65534 65534 65534'
  assert_confined
  let_client_end
}

@test "where the host has the user ipu-vipu-client it runs as that" {
  local uid
  in_host sh <packaging/make_user.sh
  uid=$(in_host id -u ipu-vipu-client)
  look_for_client
  assert_equal "$(status_of_client Uid | xargs)" "$uid $uid $uid $uid"
  assert_confined
  let_client_end
}

@test "a controller is also reached by its name" {
  # shellcheck disable=SC2016
  in_host sh -c 'cp /etc/hosts /run/hosts && echo "$1 vipu.test" >>/etc/hosts' sh "${CONTROLLER%:*}"
  in_host sed -i "s/^controller = .*/controller = \"vipu.test:${CONTROLLER#*:}\"/" /etc/ipu-container-toolkit/config.toml
  start job -e IPU_COUNT=4
  # shellcheck disable=SC2046
  assert_contains "$(inside job nc -w 2 $(first_endpoint job))" "$(lease_of job .partition)"
  # shellcheck disable=SC2086
  assert_unreachable job ${CONTROLLER/:/ }
  docker rm --force job
  wait_until 10 has_leases 0
  in_host sh -c 'cat /run/hosts >/etc/hosts'
  host_config
}

# What the toolkit knows of the controller's name: the mode of the file, and its lines.
known_addresses() {
  in_host sh -c 'cd /run/ipu-container-toolkit/controllers && stat -c %a pod64 && cat pod64' | xargs
}

@test "all addresses of a name are known, gc looks them up, and keeps them while it cannot" {
  in_host sh -c 'cp /etc/hosts /run/hosts'
  in_host sed -i 's/^controller = .*/controller = "vipu.test:8090"/' /etc/ipu-container-toolkit/config.toml
  in_host sh -c "printf '%s vipu.test\n' ${CONTROLLER%:*} fd00:7::1 10.1.3.102 >>/etc/hosts"
  start job -e IPU_COUNT=4
  assert_equal "$(known_addresses)" '600 vipu.test:8090 10.1.3.101 10.1.3.102 fd00:7::1'
  docker rm --force job
  wait_until 10 has_leases 0
  in_host sh -c "cat /run/hosts >/etc/hosts; printf '%s vipu.test\n' ${CONTROLLER%:*} 10.1.3.103 >>/etc/hosts"
  ipuctl gc
  assert_equal "$(known_addresses)" '600 vipu.test:8090 10.1.3.101 10.1.3.103'
  in_host sh -c 'cat /run/hosts >/etc/hosts'
  run -3 ipuctl gc
  assert_contains "$output" "pool 'pod64' keeps the addresses of its controller that were found before: V-IPU controller vipu.test:8090: resolve: DNS resolution failed"
  assert_equal "$(known_addresses)" '600 vipu.test:8090 10.1.3.101 10.1.3.103'
  in_host sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do echo 10.1.4.\$i vipu.test; done >>/etc/hosts"
  assert_refused -e IPU_COUNT=4 -- 'vipu.test has more than 16 addresses' "'controller' in [pool]"
  in_host sh -c 'cat /run/hosts >/etc/hosts'
  host_config
  ipuctl gc
  run ! in_host test -e /run/ipu-container-toolkit/controllers/pod64
}

watch_says() { in_host grep -q "$1" /run/service/watch.log; }

@test "a damaged file of addresses: border watch goes on and says so, and gc makes the file anew" {
  in_host sh -c 'cp /etc/hosts /run/hosts'
  in_host sed -i 's/^controller = .*/controller = "vipu.test:8090"/' /etc/ipu-container-toolkit/config.toml
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nguard_forwarding = true'
  in_host sh -c "printf '%s vipu.test\n' ${CONTROLLER%:*} 10.1.3.102 >>/etc/hosts"
  ipuctl gc
  in_host sh -c 'echo nonsense >/run/ipu-container-toolkit/controllers/pod64'
  host_spawn watch ipuctl border watch
  wait_until 10 watch_says "'/run/ipu-container-toolkit/controllers/pod64' cannot be read"
  in_host /run/attack/raw flush 1 ipu-guard
  wait_until 5 watch_says 'mended the table inet ipu-guard'
  assert_equal "$(in_host grep -c 'cannot be read' /run/service/watch.log)" 1
  run -0 ipuctl gc
  host_stop watch
  assert_equal "$(known_addresses)" '600 vipu.test:8090 10.1.3.101 10.1.3.102'
  in_host sh -c 'cat /run/hosts >/etc/hosts'
  host_config
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nguard_forwarding = false'
  ipuctl gc
  host_config
}

@test "the client ends with who started it" {
  look_for_client
  in_host kill -KILL "$(in_host ps -o ppid= -p "$CLIENT" | tr -d ' ')"
  ! wait "$CREATE" || fail "$CREATE was to fail"
  wait_until 5 client_is_gone
  # Nobody knows whether the controller made it for this host.
  run ipuctl gc
  [ "$status" -eq 0 ] || assert_contains "$output" "'ipuctl partition remove p0' removes it"
  ipuctl partition remove p0 --force
  ipuctl gc
}

client_is_gone() { ! in_host test -e "/proc/$CLIENT"; }

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Users of the host without root, who may ask ipu-agent.

load attack

SOCKET=/run/ipu-container-toolkit/agent.sock

setup_file() {
  in_host groupadd --system ipu
  in_host useradd --system ipu-agent
  for user in victim mallory; do in_host useradd --groups ipu "$user"; done
  host_spawn agent ipu-agent
  wait_until 20 as mallory ipuctl queue
}

teardown_file() {
  host_stop agent
  for user in victim mallory ipu-agent; do in_host userdel "$user"; done
  in_host groupdel ipu
}

teardown() {
  host_config
  remove_containers
  remove_partitions
  assert_nothing_left
}

as() { # USER COMMAND...
  in_host setpriv --reuid "$1" --regid "$1" --init-groups --inh-caps=-all --bounding-set=-all timeout "$LIMIT" "${@:2}"
}

sees_victim() {
  local id
  id=$(docker inspect -f '{{.Id}}' victim)
  answer named hidden grep -E "$id|victim|10\.5\.200|c-[0-9a-f]{8}-[0-9a-f]{12}" <<<"$(as mallory ipuctl ps -o json)"
}

@test "attack: the names of other tenants, asked of ipu-agent" {
  row - 'a user of the host'
  start victim -e IPU_COUNT=4
  printf '[agent]\nshow_others = true\n' | in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
  undefended named sees_victim
  host_config
  defended hidden sees_victim
}

# Ends a reservation, by bytes of the attacker's own.
end_by() { # USER
  # shellcheck disable=SC2016
  as "$1" perl -MIO::Socket::UNIX -e '
    my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
    print $socket "{\"command\": \"reservation end\", \"name\": \"night\", \"force\": \"true\"}\n";
    exit(readline($socket) =~ /"exit":0/ ? 0 : 1);' "$SOCKET"
}

@test "attack: the end of another user's reservation, asked of ipu-agent" {
  row - 'a user of the host'
  as victim ipuctl reserve night --ipus 4
  # root may.
  undefended ended answer ended refused end_by root
  as victim ipuctl reserve night --ipus 4
  defended refused answer ended refused end_by mallory
  as victim ipuctl reservation end night
}

cancel_by() { as "$1" ipuctl queue cancel night; } # USER

has_waiter() { [ "$(ipuctl queue -o json | jq length)" = 1 ]; }

wait_for_all() {
  as victim ipuctl reserve night --ipus 64 --wait 50s >/dev/null 2>&1 3>&- &
  WAITING=$!
  wait_until 10 has_waiter
}

@test "attack: the place of another user in the queue, asked of ipu-agent" {
  row - 'a user of the host'
  start all -e IPU_COUNT=64
  wait_for_all
  # root may.
  undefended cancelled answer cancelled refused cancel_by root
  wait "$WAITING" || true
  wait_for_all
  defended refused answer cancelled refused cancel_by mallory
  cancel_by victim
  wait "$WAITING" || true
}

@test "attack: the lease of another user, asked of ipu-agent" {
  row - 'a user of the host'
  as victim ipuctl reserve night --ipus 4
  start victim -e IPU_RESERVATION=night
  undefended shown answer shown refused as root ipuctl lease show victim
  defended refused answer shown refused as mallory ipuctl lease show victim
  docker rm --force victim
  as victim ipuctl reservation end night
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two hosts of a fleet, each with its agent, and an etcd of three members, whose leader stalls for longer than the hosts'
# keys live, and ends the leases of all when it goes on (etcd#15247).

load support
load bundle
# shellcheck source=tests/e2e/fleet_hosts.bash
source "$BATS_TEST_DIRNAME/fleet_hosts.bash"
# shellcheck source=tests/e2e/fleet_life.bash
source "$BATS_TEST_DIRNAME/fleet_life.bash"
MEMBERS=(1 2 3)
STALL_SECONDS=35

setup_file() {
  local member
  two_hosts_up
  for member in "${MEMBERS[@]}"; do in_host ip -n pod address add "10.1.3.11$member/24" dev brctl; done
  make_agent_users
}

teardown_file() {
  remove_users
  two_hosts_down
}

setup() { fleet_up; }

teardown() {
  local member
  for member in "${MEMBERS[@]}"; do member_signal "$member" CONT; done
  etcd_answers && on a ipuctl queue cancel --all >/dev/null
  all_down
  etcd_stop
  unconfigure_fleet
}

# ---- an etcd of three members; those of etcd.bash are of one

url_of() { echo "http://10.1.3.11$1:$2"; } # MEMBER PORT

configure_fleet() {
  in_host sh -c "printf '[fleet]\nendpoints = [\"10.1.3.111:2379\", \"10.1.3.112:2379\", \"10.1.3.113:2379\"]\n' >>$CONFIG"
}

etcd_start() {
  local member
  for member in "${MEMBERS[@]}"; do
    # shellcheck disable=SC2016
    in_host sh -e -c '
      mkdir -p /run/etcd
      setsid nsenter --net=/run/netns/pod etcd --name "m$1" --data-dir "/run/etcd/data$1" --listen-client-urls "$2" \
        --advertise-client-urls "$2" --listen-peer-urls "$3" --initial-advertise-peer-urls "$3" \
        --heartbeat-interval 300 --election-timeout 3000 \
        --initial-cluster m1=http://10.1.3.111:2380,m2=http://10.1.3.112:2380,m3=http://10.1.3.113:2380 \
        >>"/run/etcd/log$1" 2>&1 &
      echo $! >"/run/etcd/pid$1"' sh "$member" "$(url_of "$member" 2379)" "$(url_of "$member" 2380)"
  done
  wait_until 20 etcd_answers || fail "$(in_host tail -n 5 /run/etcd/log1)"
}

etcd_stop() {
  local member
  for member in "${MEMBERS[@]}"; do member_signal "$member" KILL; done
  in_host sh -c 'rm -f /run/etcd/pid?'
}

# Asks the members that do not stall.
etcd_control() {
  local member urls=
  for member in "${MEMBERS[@]}"; do
    [ "$member" = "${stalled:-}" ] || urls+=${urls:+,}$(url_of "$member" 2379)
  done
  in_host env ETCDCTL_API=3 etcdctl --command-timeout 5s --endpoints "$urls" "$@"
}

member_signal() { # MEMBER SIGNAL
  # shellcheck disable=SC2016
  in_host sh -c '[ ! -e "/run/etcd/pid$1" ] || kill "-$2" "$(cat "/run/etcd/pid$1")"' sh "$1" "$2"
}

leader() {
  etcd_control endpoint status -w json |
    jq -r '.[] | select(.Status.leader == .Status.header.member_id).Endpoint' | sed 's/.*10\.1\.3\.11\([0-9]\):.*/\1/'
}
has_other_leader() { [[ $(leader) =~ ^[1-3]$ ]]; }

# ---- the test

# A start without a wait, while another one waits: etcd says so, or it fails in one line because etcd is silent.
is_told_of_the_queue() {
  refused_in_one_line a none IPU_COUNT=4
  [[ $output == *'others wait for'* ]]
}

# The request that waits first has one as well, for as long as it asks the controller.
has_grants() { [ "$(etcd_keys grants | wc -l)" = "$1" ]; }

@test "a leader that stalls and goes on: nothing is killed or fenced, starts are served by another one, places are kept" {
  local first second before went until
  take a one IPU_COUNT=32
  take b two IPU_COUNT=32
  agents_up
  LIMIT=250 take b first IPU_COUNT=64 IPU_WAIT=200s 3>&- &
  first=$!
  wait_until 20 has_keys queue 1
  wait_until 20 has_other_leader
  stalled=$(leader)
  [[ $stalled =~ ^[1-3]$ ]]
  member_signal "$stalled" STOP
  until=$((SECONDS + STALL_SECONDS))
  wait_until 20 has_other_leader
  wait_until 30 is_told_of_the_queue
  LIMIT=250 take a second IPU_COUNT=4 IPU_WAIT=200s 3>&- &
  second=$!
  wait_until 30 has_keys queue 2 || fail "$(etcd_keys queue)"
  while [ "$SECONDS" -lt "$until" ]; do
    works a one
    works b two
    on a ipuctl gc
    on b ipuctl gc
    sleep 2
  done
  sees a "$(tag_of a)" LIVE
  sees a "$(tag_of b)" LIVE
  before=$(etcd_control get / -w json | jq .header.revision)
  member_signal "$stalled" CONT
  # It may end what it believes to be over. It does so by chance, and so all leases end for certain.
  revoke_all
  until=$((SECONDS + 15))
  while [ "$SECONDS" -lt "$until" ]; do
    works a one
    works b two
    assert_equal "$(count_keys fences)" 0
    wait_until 20 has_grants 2 || fail "$(etcd_keys grants)"
    sleep 1
  done
  stalled=
  # Both hosts' keys, and a place at least.
  went=$(deletions_since "$before")
  [ "$went" -ge 3 ] || fail "only $went keys of hosts and places went when it went on"
  wait_until 40 sees a "$(tag_of a)" LIVE
  wait_until 40 sees a "$(tag_of b)" LIVE
  wait_until 40 has_keys queue 2 || fail "$(etcd_keys queue)"
  on a ipuctl gc
  on b ipuctl gc
  on a ipuctl fleet check
  on b ipuctl fleet check
  ends a one
  ends b two
  wait "$first"
  works b first
  run ! has a second
  ends b first
  wait "$second"
  works a second
  wait_until 20 has_grants 1
}

deletions_since() { # REVISION
  in_host env ETCDCTL_API=3 timeout 10 etcdctl --endpoints "$(url_of 1 2379)" watch --prefix --rev "$(($1 + 1))" -w json /ipu-container-toolkit/ |
    jq -s '[.[].Events[]? | select(.type != null) | .kv.key | @base64d | select(test("/alive/|/queue/"))] | length'
}

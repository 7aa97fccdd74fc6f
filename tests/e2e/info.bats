#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page for a report of a bug: it comes whatever is away, and in a bounded time.

load support

LEDGER=/var/lib/ipu-container-toolkit/ledger.db

teardown() {
  remove_containers
  in_host sh -c "! [ -d $LEDGER.aside ] || { rm $LEDGER* 2>/dev/null; mv $LEDGER.aside/* /var/lib/ipu-container-toolkit && rmdir $LEDGER.aside; }"
  host_config
  assert_nothing_left
}

# The value of FILTER in the item NAME of a part.
item() { # PART NAME FILTER
  jq -er --arg part "$1" --arg name "$2" ".[\$part][] | select(.name == \$name) | $3" <<<"$page"
}

take_page() {
  page=$(ipuctl info -o json)
}

assert_row() { # TEXT PART NAME STATE
  grep -qE "^$2 +$3 +$4( |\$)" <<<"$1" || fail "no row '$2 $3 $4' in:" "$1"
}

@test "it says which versions there are, who has the runtime, and what answers" {
  start job -e IPU_COUNT=4
  take_page
  assert_equal "$(jq -r .format <<<"$page")" 1
  assert_equal "$(item toolkit version .state)" "$(ipuctl --version | cut -d ' ' -f 2)"
  assert_equal "$(item toolkit ledger '"\(.state) \(.schema) \(.leases)"')" \
    "ok $(ipuctl ledger dump -o json | jq -r .schema) 1"
  assert_equal "$(item toolkit fleet .state)" none
  assert_equal "$(item host kernel .state)" "$(in_host uname -r)"
  assert_equal "$(item programs runc .detail)" "$(in_host runc --version | head -n 1)"
  assert_equal "$(item programs docker .path)" /usr/bin/docker
  assert_equal "$(item engines docker '"\(.state) \(.in_use)"')" 'configured yes'
  assert_equal "$(item pools pod64 '"\(.state) \(.provider) \(.source)"')" 'reachable vipu 10.1.3.101:8090'
  assert_equal "$(item kernel 'filter of a container' .state)" yes
  assert_equal "$(item kernel 'macvlan of rnic0' .state)" yes
  assert_equal "$(item kernel seccomp .state)" yes
  run -0 ipuctl info
  assert_row "$output" toolkit version '[0-9.]+'
  assert_row "$output" pools pod64 reachable
  assert_row "$output" engines docker configured
}

@test "every item of every part has a name, a state and a detail, and no more than one line" {
  take_page
  assert_equal "$(jq -r 'keys_unsorted | join(" ")' <<<"$page")" 'format time toolkit host kernel pools programs engines'
  jq -e '[.[] | arrays | .[] | .name, .state, .detail] |
    all(type == "string" and (contains("\n") | not)) and length > 60' <<<"$page"
}

@test "nothing of it is a secret, or of a container" {
  start hidden-job -e IPU_COUNT=4 -e TOKEN=hunter2
  take_page
  for text in hunter2 hidden-job "$(container_id hidden-job)"; do
    [[ $page != *"$text"* ]] || fail "the page has '$text'"
  done
  remove_containers
  wait_until 10 has_leases 0
  in_host sh -c 'mkdir -p /root/secrets && echo "authorization: hunter3" >/root/secrets/words && chmod 0600 /root/secrets/words'
  in_host sed -i '/^controller/a credentials = "/root/secrets/words"\ninsecure_credentials = true' /etc/ipu-container-toolkit/config.toml
  take_page
  in_host rm -r /root/secrets
  assert_equal "$(item toolkit configuration .state)" ok
  [[ $page != *hunter3* ]] || fail "the page has a secret"
}

@test "without a controller, a dockerd or a configuration it says so, and exits with 0" {
  sim_stop
  take_page
  assert_equal "$(item pools pod64 .state)" unreachable
  assert_contains "$(item pools pod64 .detail)" refused
  sim_start
  docker_stop
  take_page
  docker_start
  assert_equal "$(item engines docker .in_use)" unknown
  assert_equal "$(item pools pod64 .state)" reachable
  in_host sh -c 'echo "this is no TOML" >/etc/ipu-container-toolkit/config.toml'
  take_page
  assert_equal "$(item toolkit configuration .state)" wrong
  assert_equal "$(item pools - .state)" unknown
  assert_equal "$(item toolkit ledger .state)" ok
}

@test "without a ledger that can be read, the controller is asked all the same" {
  ipuctl ps >/dev/null
  in_host sh -c "mkdir $LEDGER.aside && mv $LEDGER $LEDGER-wal $LEDGER-shm $LEDGER.aside && head -c 8192 /dev/urandom >$LEDGER"
  take_page
  assert_equal "$(item toolkit ledger .state)" unreadable
  assert_equal "$(item pools pod64 .state)" reachable
}

@test "what never answers costs seconds" {
  local began=$SECONDS
  host_spawn mute busybox nc -ll -p 8091 -e sleep 60
  in_host sed -i 's/10.1.3.101:8090/127.0.0.1:8091/' /etc/ipu-container-toolkit/config.toml
  take_page
  host_stop mute
  assert_equal "$(item pools pod64 .state)" unreachable
  [ $((SECONDS - began)) -lt 25 ] || fail "it took $((SECONDS - began)) s"
}

@test "without root it has all but what only root can ask" {
  page=$(in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl info -o json)
  assert_equal "$(item toolkit version .state)" "$(ipuctl --version | cut -d ' ' -f 2)"
  assert_equal "$(item toolkit ledger .state)" unreadable
  assert_equal "$(item pools pod64 .state)" unknown
  assert_contains "$(item pools pod64 .detail)" 'only root can ask it'
  assert_equal "$(item programs runc .state)" ok
  assert_equal "$(item host kernel .state)" "$(in_host uname -r)"
}

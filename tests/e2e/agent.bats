#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipu-agent: what users without root see and may do, and what happens in time.

load support
load bundle
load agent

SOCKET=/run/ipu-container-toolkit/agent.sock

# Sends bytes to the agent, and prints its answer.
send() { # USER < BYTES
  # shellcheck disable=SC2016
  as "$1" timeout 10 perl -MIO::Socket::UNIX -e '
    my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "connect: $!\n";
    $SIG{PIPE} = "IGNORE";
    local $/;
    $socket->syswrite(<STDIN>);
    $/ = "\n";
    print readline($socket) // "";' "$SOCKET"
}

is_served() { [ "$(ask "$1" queue -o json 2>/dev/null)" = '[]' ]; }
is_kept_out() { [[ $(ask "$1" ps 2>&1) == *'too many connections'* ]]; } # USER
reservations() { ipuctl reservation list -o json | jq -c "[.[] | $1]"; }
is_unused() { [ "$(reservations '.containers | length')" = '[0]' ]; }
has_reservations() { [ "$(reservations .reservation)" = "$1" ]; }
has_begun() { [ "$(reservations .state)" != '[]' ]; }
agent_is_gone() { [ -z "$(agent_pids)" ]; }
signal_agent() { # SIGNAL
  local pid
  for pid in $(agent_pids); do in_host kill "-$1" "$pid"; done
}
agent_pids() { in_host sh -c 'grep -lxF ipu-agent /proc/[0-9]*/comm' | cut -d / -f 3; }

@test "a user of the group ipu sees sizes and states, and no names of others" {
  local id
  start job -e IPU_COUNT=4
  id=$(docker inspect -f '{{.Id}}' job)
  for user in alice bob; do
    for format in table json; do
      run -0 ask "$user" ps -o "$format"
      assert_contains "$output" RUNNING
      assert_contains "$output" other-1
      [[ $output != *"${id:0:12}"* && $output != *job* && $output != *10.5.200* ]]
    done
  done
  assert_equal "$(ask alice ps -o json | jq -c '.[0] | [.lease, .tenant, .partition, .ipus, .pid, .bundle, .rails]')" \
    '["","","",4,0,"",[]]'
  assert_equal "$(ask alice pool list -o json)" "$(ipuctl pool list -o json)"
  assert_equal "$(ask alice queue)" "$(ipuctl queue)"
  run -1 ask alice explain job
  assert_equal "$output" "ipuctl: no lease or container of yours is called 'job'; containers of docker are yours only with a reservation of yours"
  run -1 ask alice explain "$id"
  run -2 ask alice ps --pool nosuch
  assert_contains "$output" "there is no pool 'nosuch'"
}

@test "root sees all through the agent too, and a policy may show it to users" {
  start job -e IPU_COUNT=4
  # shellcheck disable=SC2016
  assert_contains "$(send root <<<'{"command": "ps", "output": "table"}')" "$(container_id job)"
  printf '[agent]\nshow_others = true\n' | in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
  assert_equal "$(ask bob ps -o json)" "$(ipuctl ps -o json)"
  assert_contains "$(ask bob explain job)" RUNNING
}

@test "who is not in the group is told what to do, and so is everybody without the agent" {
  run -1 ask carol ps
  assert_contains "$output" "add you to the group 'ipu'"
  run -1 ask alice gc
  assert_contains "$output" 'run ipuctl as root'
  run -1 ask alice reserve night --ipus 4 --owner bob
  assert_contains "$output" 'run ipuctl as root'
  host_stop agent
  run -1 ask alice ps
  assert_contains "$output" 'systemctl enable --now ipu-agent.socket'
  assert_equal "${#lines[@]}" 1
  agent_start
}

@test "a user reserves, extends, uses and ends; another user can do none of it" {
  local uid event
  run -0 ask alice reserve night --ipus 4 --for 1h
  assert_contains "$output" 'use it with IPU_RESERVATION=night'
  assert_equal "$(reservations '[.reservation, .owner, .ipus]')" '[["night","alice",4]]'
  assert_contains "$(ask alice ps)" night
  [[ $(ask bob ps) != *night* ]]
  assert_equal "$(ask bob reservation list -o json)" '[]'
  for words in 'extend night --for 1h' 'end night' 'end night --force'; do
    # shellcheck disable=SC2086
    run -1 ask bob reservation $words
    assert_contains "$output" "there is no reservation 'night'"
  done
  start job -e IPU_RESERVATION=night
  assert_contains "$(ask alice explain job)" RUNNING
  assert_contains "$(ask alice ps)" job
  assert_contains "$(ask bob ps)" other-1
  run -1 ask bob explain job
  docker rm --force job
  ask alice reservation extend night --for 2h
  wait_until 10 is_unused
  assert_contains "$(ask alice reservation end night)" 'its 4 IPUs are free'
  uid=$(in_host id -u alice)
  for event in "READY, reservation night" ", user $uid" "user $uid extends reservation night" \
    "user $uid ends reservation night"; do
    assert_contains "$(ipuctl events)" "$event"
  done
  has_reservations '[]'
}

@test "a container of an engine that was started in a user's session is the user's" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  # shellcheck disable=SC2016
  create_by "$(in_host id -u alice)" session || skip 'the kernel does not record who logged in'
  assert_contains "$(ask alice explain session)" ALLOCATED
  assert_contains "$(ask alice ps)" session
  run -1 ask bob explain session
  [[ $(ask bob ps) != *session* ]]
  remove_bundle
}

# Creates a container by the runtime, as an engine in the login session of a user does.
create_by() { # UID ID
  # shellcheck disable=SC2016
  in_host timeout "$LIMIT" sh -c '
    echo "$1" >/proc/self/loginuid || exit
    ipu-container-runtime --root "$2" create --bundle "$3" "$4" >/dev/null 2>&1 </dev/null' sh "$1" "$STATE" "$BUNDLE" "$2"
}

@test "a user's reservations have an end and a limit" {
  printf '[agent]\nmax_ipus = 8\nmax_wait = "5m"\nmax_time = "2h"\n' |
    in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
  run -1 ask alice reserve night --ipus 4 --for 3h
  assert_contains "$output" 'agent.max_time allows'
  run -1 ask alice reserve night --ipus 4 --wait 6m
  assert_contains "$output" '--wait 6m is longer than 5m, which agent.max_wait allows'
  ask alice reserve night --ipus 4 --gcds 2
  assert_equal "$(reservations '.until != null')" '[true]'
  assert_equal "$(ipuctl partition list --holders -o json | jq '[.[].gcds]' -c)" '[2]'
  run -1 ask alice reserve more --ipus 8
  assert_contains "$output" 'a user may reserve 8 IPUs'
  run -1 ask alice reservation extend night --for 3h
  ask bob reserve other --ipus 8
  ask alice reservation end night
  ask bob reservation end other
}

@test "a reservation waits, shows its place without names, and Ctrl-C gives the place back" {
  local waiting
  start job -e IPU_COUNT=64
  run -3 ask alice reserve night --ipus 64
  assert_contains "$output" 'no free block of 64 IPUs'
  [[ $output != *"$(container_id job)"* ]]
  ask alice reserve night --ipus 64 --wait 60s >"$BATS_TEST_TMPDIR/alice" 2>&1 3>&- &
  waiting=$!
  wait_until 10 has_waiters 1
  assert_contains "$(ask alice queue)" night
  [[ $(ask bob queue) != *night* ]]
  assert_contains "$(ask alice explain night)" 'WAITING for 64 IPUs'
  run -3 ask bob reserve small --ipus 1
  assert_contains "$output" '1 request is ahead, the first for 64 IPUs'
  [[ $output != *night* ]]
  in_host pkill -INT -u alice ipuctl
  wait "$waiting" || true
  wait_until 5 has_waiters 0
  assert_contains "$(cat "$BATS_TEST_TMPDIR/alice")" "WAITING for 64 IPUs of 'pod64', 1st of 1"
  assert_contains "$(cat "$BATS_TEST_TMPDIR/alice")" 'largest free: 0, held by 1 container; there would be a block without 1 partition'
  [[ $(cat "$BATS_TEST_TMPDIR/alice") != *"$(container_id job)"* ]]
  ask alice reserve night --ipus 64 --wait 60s >"$BATS_TEST_TMPDIR/alice" 2>&1 3>&- &
  waiting=$!
  wait_until 10 has_waiters 1
  docker rm --force job
  wait "$waiting"
  assert_contains "$(cat "$BATS_TEST_TMPDIR/alice")" 'use it with IPU_RESERVATION=night'
  ask alice reservation end night
}

@test "the agent, killed while a user reserves, leaves nothing; it starts anew" {
  local waiting status
  start job -e IPU_COUNT=64
  ask alice reserve night --ipus 64 --wait 60s >"$BATS_TEST_TMPDIR/alice" 2>&1 3>&- &
  waiting=$!
  wait_until 10 has_waiters 1
  host_signal agent KILL
  status=0
  wait "$waiting" || status=$?
  assert_equal "$status" 3
  assert_contains "$(cat "$BATS_TEST_TMPDIR/alice")" 'the place in the queue is given back'
  wait_until 5 has_waiters 0
  wait_until 5 agent_is_gone
  agent_start
  docker rm --force job
  restart_sim_slowly 3s
  ask alice reserve night --ipus 4 >/dev/null 2>&1 3>&- &
  waiting=$!
  wait_until 10 has_begun
  host_signal agent KILL
  wait "$waiting" || true
  agent_start
  wait_until 20 partition_is_settled
  restart_sim_slowly 50ms
  for name in $(ipuctl reservation list -o json | jq -r '.[].reservation'); do ipuctl reservation end "$name"; done
}

restart_sim_slowly() { # DELAY
  SIM_CREATE_DELAY=$1 restart_sim
}

partition_is_settled() {
  [[ $(reservations .state) == '[]' || $(reservations .state) == '["RESERVED"]' ]]
}

# The places that the ledger has: `ipuctl queue` would take those of dead processes away itself.
places() { ipuctl ledger dump -o json | jq -c "[.waiters[] | $1]"; }
has_places() { [ "$(places .ipus)" = "$1" ]; }

@test "who waits first and is killed leaves its place to the next, by the agent alone" {
  local first second pids before after
  start half1 -e IPU_COUNT=32
  start half2 -e IPU_COUNT=32
  start large -e IPU_COUNT=64 -e IPU_WAIT=60s >/dev/null 2>&1 3>&- &
  first=$!
  wait_until 10 has_places '[64]'
  start small -e IPU_COUNT=4 -e IPU_WAIT=60s >/dev/null 2>&1 3>&- &
  second=$!
  wait_until 10 has_places '[64,4]'
  mapfile -t pids < <(ipuctl queue -o json | jq '.[].pid')
  # Those that wait look for dead ones too.
  in_host kill -STOP "${pids[1]}"
  signal_agent STOP
  in_host kill -KILL "${pids[0]}"
  wait "$first" && fail 'it got IPUs'
  before=$(places .ipus)
  signal_agent CONT
  wait_until 10 has_places '[4]' || true
  after=$(places .ipus)
  in_host kill -CONT "${pids[1]}"
  assert_equal "$before $after" '[64,4] [4]'
  docker rm --force half1
  wait "$second"
  assert_equal "$(lease_of small .ipus)" 4
}

@test "a reservation whose time is over ends within seconds" {
  ask alice reserve short --ipus 4 --for 2s
  sleep 2
  wait_until 5 has_reservations '[]'
  assert_equal "$(ipuctl partition list -o json)" '[]'
}

@test "a flush of the host's packet filter: the border is there again within 5 s" {
  start job -e IPU_COUNT=4
  flush_border
  # A flush fails where there is no border.
  for _ in 1 2 3; do wait_until 5 flush_border; done
}

@test "a border by tc, removed by hand, is there again within 5 s" {
  printf '[network]\nfilter = "tc"\n' | in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
  start job -e IPU_COUNT=4
  for _ in 1 2; do
    in_host tc qdisc del dev rnic0 clsact
    wait_until 5 has_border_by_tc
  done
}

has_border_by_tc() { in_host tc filter show dev rnic0 egress | grep -q ipu-border; }

flush_border() { in_host /run/attack/raw flush 5 ipu-border; }

@test "no start waits for the agent: absent, stopped, or dead" {
  local pid
  for pid in $(agent_pids); do in_host kill -STOP "$pid"; done
  start job -e IPU_COUNT=4
  docker rm --force job
  for pid in $(agent_pids); do in_host kill -CONT "$pid"; done
  host_signal agent KILL
  start job -e IPU_COUNT=4
  docker rm --force job
  in_host rm -f "$SOCKET"
  start job -e IPU_COUNT=4
  docker rm --force job
  agent_start
}

agent_row() { ipuctl doctor -o json | jq -r '.[] | select(.check == "agent") | .result'; }

@test "doctor says whether the agent answers" {
  local pid
  assert_equal "$(agent_row)" ok
  for pid in $(agent_pids); do in_host kill -STOP "$pid"; done
  assert_equal "$(agent_row)" warning
  for pid in $(agent_pids); do in_host kill -CONT "$pid"; done
  host_signal agent KILL
  wait_until 5 agent_is_gone
  assert_equal "$(agent_row)" warning
  in_host rm "$SOCKET"
  assert_equal "$(agent_row)" ''
  agent_start
}

@test "hostile clients are refused, and nobody waits for them" {
  local text
  while IFS= read -r text; do
    run -0 send bob <<<"$text"
    assert_contains "$output" '"exit":'
    assert_equal "$(jq '.exit != 0 and (.errors | length) == 1' <<<"$output")" true
  done <<'END'

nonsense
[]
{}
"ps"
{"command": "ps", "command": "ps"}
{"command": "gc"}
{"command": "explain", "bundle": "/etc"}
{"command": "explain", "lease": "--bundle=/etc"}
{"command": "ps", "pool": "a b"}
{"command": "ps", "output": 3}
{"command": "ps", "output": ["json"]}
{"command": "reserve", "name": "x", "ipus": "4", "owner": "root"}
{"command": "reserve", "name": "x", "ipus": "99999999999999999999"}
{"command": "reservation end", "name": "x", "force": "no"}
{"command": "ps", "pool": "\u0000"}
{"command": "ps", "pool": "\u001b[31m"}
{"command": "ps --for-user 0"}
END
  assert_contains "$(printf '{"command": "ps", "pool": "\xff\xfe"}\n' | send bob)" '"exit":'
  assert_contains "$(printf '{"command": "ps"}\n{"command": "ps"}\n' | send bob)" 'one request'
  assert_contains "$(head -c 1000000 /dev/zero | tr '\0' '[' | send bob)" 'longer than 4096 bytes'
  is_served alice
}

@test "many connections, and connections that say nothing, keep nobody else out" {
  # shellcheck disable=SC2016
  as bob timeout 200 perl -MIO::Socket::UNIX -e '
    my @open = grep { $_ } map { IO::Socket::UNIX->new(Peer => $ARGV[0]) } 1 .. 500;
    IO::Socket::UNIX->new(Peer => $ARGV[0]) for 1 .. 2500;
    $open[0]->syswrite("{");
    $| = 1, print "ready\n";
    until (-e "/run/enough") {  # the agent ends a connection that says nothing after 5 s
      push @open, grep { $_ } map { IO::Socket::UNIX->new(Peer => $ARGV[0]) } 1 .. 20;
      splice(@open, 0, 20), select undef, undef, undef, 0.2;
    }' "$SOCKET" >"$BATS_TEST_TMPDIR/ready" 3>&- &
  local crowd=$!
  wait_until 20 grep -q ready "$BATS_TEST_TMPDIR/ready"
  for _ in 1 2 3; do is_served alice; done
  wait_until 20 is_kept_out bob
  in_host touch /run/enough
  wait "$crowd"
  in_host rm /run/enough
  wait_until 10 is_served bob
}

@test "a user who does not read the answer loses it, and nobody waits" {
  # shellcheck disable=SC2016
  as bob timeout 60 perl -MIO::Socket::UNIX -e '
    my @open;
    for (1 .. 12) {
      push @open, IO::Socket::UNIX->new(Peer => $ARGV[0]) || die;
      $open[-1]->syswrite("{\"command\": \"pool list\"}\n");
    }
    sleep 5;' "$SOCKET" 3>&- &
  local silent=$!
  for _ in 1 2 3; do is_served alice; done
  wait "$silent" || true
  is_served bob
}

@test "it needs little memory, has no capability at its door, and takes a socket of systemd" {
  local pid memory total=0 uids=
  for pid in $(agent_pids); do
    # shellcheck disable=SC2016
    memory=$(in_host awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
    # shellcheck disable=SC2016
    uids+=$(in_host awk '/^Uid/ { printf "%s ", $2 } /^CapEff/ { printf "%s,", $2 }' "/proc/$pid/status")
    total=$((total + memory))
  done
  echo "# ipu-agent: $total KiB at most, both processes" >&3
  [ "$total" -le 8192 ]
  assert_contains "$uids" "$(in_host id -u ipu-agent) 0000000000000000"
  host_stop agent
  # shellcheck disable=SC2016
  host_spawn agent perl -MSocket -MPOSIX -e '
    unlink $ARGV[0];
    $^F = 9;  # what is opened stays open
    my $listener;
    socket($listener, AF_UNIX, SOCK_STREAM, 0) && bind($listener, sockaddr_un($ARGV[0])) && listen($listener, 8) or die;
    chmod 0666, $ARGV[0];
    POSIX::dup2(fileno($listener), 3);
    ($ENV{LISTEN_PID}, $ENV{LISTEN_FDS}) = ($$, 1);
    exec "ipu-agent";' "$SOCKET"
  wait_until 5 is_served carol
  host_stop agent
  in_host rm "$SOCKET"
  agent_start
}

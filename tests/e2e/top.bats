#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page that stays up to date, as terminals of 80 and 120 columns show it.

load support

teardown() {
  tmux kill-server >/dev/null 2>&1 || true
  remove_containers
  assert_nothing_left
}

# A terminal in the host.
tmux() { in_host /usr/bin/tmux -L ipu -f /dev/null "$@"; }
screen() { tmux capture-pane -p -t top; }
terminal() { # COLUMNS ROWS [COMMAND]
  tmux new-session -d -s top -x "$1" -y "$2" "${3:-ipuctl top}; echo \"status \$?\"; stty -a; sleep 600"
}
shows() { [[ $(screen) == *"$1"* ]]; }
key() { tmux send-keys -t top "$1"; }
row_of() { screen | grep -n " $1 " | cut -d : -f 1; }
stands_before() { [ "$(row_of "$1")" -lt "$(row_of "$2")" ]; }
widest() { screen | awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'; }

# The terminal says so after the end of top.
is_restored() { screen | grep -qE '(^| )icanon' && screen | grep -qE '(^|[ ])echo '; }

@test "at 80 columns it has the pools and the containers, follows them, and sorts by keys" {
  start big -e IPU_COUNT=8
  start small -e IPU_COUNT=2
  terminal 80 24
  wait_until 10 shows small
  assert_contains "$(screen)" '10 of 64 IPUs used (15%), 2 have some, 0 wait'
  assert_contains "$(screen)" 'pod64      10/64  ['
  assert_contains "$(screen | grep ' big ')" "$(container_id big)  big"
  [ "$(widest)" -le 80 ]
  [[ $(screen) != *10.5.200.* ]] || fail 'the address has no room'
  key i
  wait_until 5 stands_before big small
  key r
  wait_until 5 stands_before small big
  docker rm -f small >/dev/null
  wait_until 15 shows '8 of 64 IPUs used (12%), 1 have some'
  [[ $(screen) != *small* ]]
  assert_equal "$(tmux display-message -p -t top '#{history_size} #{cursor_flag} #{alternate_on}')" '0 0 1'
  key q
  wait_until 5 shows 'status 0'
  assert_equal "$(tmux display-message -p -t top '#{cursor_flag} #{alternate_on}')" '1 0'
  wait_until 5 is_restored
}

@test "at 120 columns it has the partition and the address, and a container that waits" {
  start big -e IPU_COUNT=64
  host_spawn later docker run --rm --runtime=ipu --name later -e IPU_COUNT=4 -e IPU_WAIT=60s busybox true
  wait_until 10 has_waiters 1
  terminal 120 24
  wait_until 10 shows 'WAITING 1 of 1'
  assert_contains "$(screen)" '64 of 64 IPUs used (100%), 1 have some, 1 waits'
  assert_contains "$(screen)" "$(address_in big)"
  assert_contains "$(screen | grep RUNNING)" " $(lease_of big .partition) "
  [ "$(widest)" -le 120 ]
  remove_containers
  wait_until 15 shows '0 wait'
  key C-c
  wait_until 5 shows 'status 0'
  host_stop later
}

@test "colours are for terminals that want them" {
  local escapes
  terminal 80 24
  wait_until 10 shows POOL
  escapes=$(tmux capture-pane -e -p -t top)
  assert_contains "$escapes" $'\033[7m'
  key q
  wait_until 5 shows 'status 0'
  tmux kill-server
  terminal 80 24 'NO_COLOR=1 ipuctl top'
  wait_until 10 shows POOL
  escapes=$(tmux capture-pane -e -p -t top)
  [[ $escapes != *$'\033['* ]] || fail "$escapes"
}

@test "a hostile name is text" {
  start job -e IPU_COUNT=1
  # The name that the engine's file has, which the page reads.
  local file
  file=/var/lib/docker/containers/$(docker inspect -f '{{.Id}}' job)/config.v2.json
  in_host cp "$file" /run/config.v2.json
  in_host sed -i 's|"Name":"/job"|"Name":"/\\u001b]2;owned\\u0007\\u001b[2J\\u001b[31mred\\n\\r"|' "$file"
  terminal 120 24
  wait_until 10 shows RUNNING
  assert_contains "$(screen | grep RUNNING)" '[2J'
  assert_contains "$(screen)" pod64
  [[ $(tmux display-message -p -t top '#{pane_title}') != *owned* ]]
  [[ $(tmux capture-pane -e -p -t top) != *$'\033[31mred'* ]]
  key q
  wait_until 5 shows 'status 0'
  in_host cp /run/config.v2.json "$file"
  in_host rm /run/config.v2.json
}

@test "without a controller the page says so, and keys go on" {
  start job -e IPU_COUNT=1
  sim_stop
  terminal 80 24
  wait_until 10 shows 'does not answer'
  assert_contains "$(screen)" job
  key n
  wait_until 10 shows 'by name;'
  sim_start
  wait_until 15 shows '1 of 64'
  key q
  wait_until 5 shows 'status 0'
}

@test "what is no terminal gets the page once; what is wrong from the beginning is an error" {
  start job -e IPU_COUNT=1
  run -0 ipuctl top
  assert_contains "$output" '1 of 64 IPUs used (1%)'
  assert_contains "$output" "$(address_in job)"
  [[ $output != *$'\033'* ]]
  run -1 in_host setpriv --reuid 65534 --regid 65534 --clear-groups ipuctl top
  assert_contains "$output" 'run ipuctl as root'
  in_host sh -c 'echo "this is no TOML" >/etc/ipu-container-toolkit/config.toml'
  run -2 ipuctl top
  host_config
}

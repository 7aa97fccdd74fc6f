#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --watch: lists that are shown again and again, on a terminal and elsewhere.

load support

setup_file() {
  in_host mkdir -p /run/screen
}

teardown() {
  tmux kill-server >/dev/null 2>&1 || true
  host_stop watcher || true
  in_host rm -rf /run/screen/out
  remove_containers
  assert_nothing_left
}

# A terminal in the host.
tmux() { in_host /usr/bin/tmux -L ipu -f /dev/null "$@"; }
screen() { tmux capture-pane -p -t watch; }
terminal() { # COLUMNS ROWS COMMAND
  tmux new-session -d -s watch -x "$1" -y "$2" "$3; echo \"status \$?\"; sleep 600"
}
shows() { [[ $(screen) == *"$1"* ]]; }
lines_of() { in_host grep -c "$1" /run/screen/out; }
has_snapshots() { [ "$(lines_of "$1" || true)" -ge "$2" ]; }

@test "each list prints one snapshot after the other where nobody draws, and Ctrl-C ends it with 0" {
  local command
  for command in ps queue 'pool list' 'partition list' 'reservation list' 'device list' 'network list'; do
    host_spawn watcher sh -c "exec ipuctl $command --watch=1 >/run/screen/out 2>&1"
    wait_until 20 has_snapshots '^==== 20.*Z$' 2 || fail "$command: $(in_host cat /run/screen/out)"
    host_signal watcher INT
    host_stop watcher
    in_host rm /run/screen/out
  done
  run -0 in_host sh -c 'timeout --signal=INT --preserve-status 2 ipuctl ps --watch=1'
  run -0 in_host sh -c 'timeout --signal=TERM --preserve-status 2 ipuctl ps --watch'
}

@test "what it prints follows what happens, and JSON stays JSON" {
  host_spawn watcher sh -c 'exec ipuctl ps -o json --watch=1 >/run/screen/out'
  wait_until 10 has_snapshots '^\[\]' 1
  start job -e IPU_COUNT=1
  wait_until 10 has_snapshots '"name": "job"' 2
  host_stop watcher
  assert_equal "$(in_host cat /run/screen/out | jq -c type | sort -u)" '"array"'
}

@test "a reader that has gone ends it with 0" {
  # shellcheck disable=SC2016
  run -0 in_host timeout 20 bash -c 'ipuctl ps --watch=1 | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"'
  assert_equal "$output" 0
}

@test "a terminal is redrawn in place, no wider and no longer than it is, and Ctrl-C ends it with 0" {
  start job -e IPU_COUNT=1
  terminal 60 12 'ipuctl device list --watch=1'
  wait_until 10 shows 'pod64/0/3'
  screen >"$BATS_TEST_TMPDIR/first"
  assert_contains "$(head -n 1 "$BATS_TEST_TMPDIR/first")" 'every 1 s; Ctrl-C ends it'
  assert_equal "$(sed -n 3p "$BATS_TEST_TMPDIR/first" | cut -c 1-6)" DEVICE
  remove_containers
  wait_until 10 has_leases 0
  wait_until 10 no_holder
  assert_equal "$(screen | sed -n 3p | cut -c 1-6)" DEVICE
  assert_equal "$(tmux display-message -p -t watch '#{history_size}')" 0
  tmux resize-window -t watch -x 30 -y 8
  wait_until 10 is_narrow
  tmux send-keys -t watch C-c
  wait_until 5 shows 'status 0'
}

no_holder() { [[ $(screen) != *' job'* ]]; }
is_narrow() { [ "$(screen | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 30 ] && shows DEVICE; }

@test "a controller that is away is said above the list, and the list comes back" {
  terminal 200 30 'ipuctl pool list --watch=1'
  wait_until 10 shows ' 64 '
  sim_stop
  wait_until 20 shows refused
  assert_equal "$(screen | grep -n refused | head -n 1 | cut -d : -f 1)" 3
  sim_start
  wait_until 20 is_back
  assert_contains "$(screen)" pod64
}

is_back() { [[ $(screen) != *refused* ]] && shows ' 64 '; }

@test "a wrong value, or a command that fails at once, is refused as without it" {
  run -2 ipuctl ps --watch=0
  assert_contains "$output" 'from 1 to 3600'
  run -2 ipuctl ps --watch=x
  run -2 ipuctl ps --watch --pool other
  assert_contains "$output" "there is no pool 'other'"
  run -2 ipuctl queue --watch cancel --all
  assert_contains "$output" "--watch: has no effect before 'cancel'"
  run -2 ipuctl gc --watch
  run -2 ipuctl fleet status --watch
  assert_contains "$output" fleet
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the user of each engine sees of a refusal: one line, ours, and the engine's own exit status. Engines
# read it in different places, and search it for words.

# bats's run sets status, output and stderr.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load support
load bundle
load conformance
load engines

REASON="ipu: IPU_COUNT='3' is not accepted: give a power of two from 1 to 64"
# What dockerd, containerd and podman make another exit status or text of.
WORDS='no such file or directory|executable file not found|permission denied|operation not permitted|container not running|no such process|does not exist|process already finished'

setup_file() {
  engines_up
}

teardown() {
  engines_clean
  in_host rm -rf /run/conmon /run/tty.sh
  give_back
}

# Runs a command of the host on a terminal.
on_terminal() { # COMMAND...
  local text result=0
  printf '%q ' "$@" | in_host tee /run/tty.sh >/dev/null
  text=$(in_host env CONTAINERS_CONF="$PODMAN/containers.conf" timeout "$LIMIT" script --quiet --return \
    --command 'sh /run/tty.sh' /dev/null </dev/null) || result=$?
  tr -d '\r' <<<"$text"
  return "$result"
}

# The reason stands in the output once, in one line, without a word that an engine would take for another.
assert_shown() { # STATUS LINE
  assert_equal "$status" "$1"
  assert_equal "$(grep -c 'ipu: ' <<<"$output")" 1
  assert_equal "$(in_common "$(grep 'ipu: ' <<<"$output")")" "$(in_common "$2")"
  run ! grep -iE "$WORDS" <<<"$output"
}

# Leaves out what only some versions of docker and ctr put around the reason.
in_common() { # LINE
  sed 's/failed to create task for container: //; s/\.$//; s/: unknown$//' <<<"$1"
}

DOCKER_LINE="docker: Error response from daemon: failed to create shim task: OCI runtime create failed: $REASON: unknown."

@test "docker" {
  run docker run --rm --runtime=ipu -e IPU_COUNT=3 busybox true
  assert_shown 125 "$DOCKER_LINE"
}

@test "docker -t" {
  run on_terminal docker run --rm --tty --runtime=ipu -e IPU_COUNT=3 busybox true
  assert_shown 125 "$DOCKER_LINE"
}

@test "docker --detach, and docker start of what was created" {
  run docker run --detach --runtime=ipu -e IPU_COUNT=3 --name job busybox true
  assert_shown 125 "$DOCKER_LINE"
  run docker start job
  assert_equal "$status" 1
  assert_contains "$output" "$REASON"
  assert_contains "$(docker inspect -f '{{.State.Error}}' job)" "$REASON"
}

@test "ctr" {
  run engine_run ctr job IPU_COUNT=3 -- true
  assert_shown 1 "ctr: failed to create shim task: OCI runtime create failed: $REASON: unknown"
}

@test "ctr --tty" {
  run on_terminal ctr --address /run/docker/containerd/containerd.sock run --rm --tty --rootfs --runc-binary "$RUNTIME" \
    --cgroup "/$HOST_CGROUP/job" --env IPU_COUNT=3 /run/busybox job true
  assert_shown 1 "ctr: failed to create shim task: OCI runtime create failed: $REASON: unknown"
}

@test "podman, by name: it reads the log" {
  run engine_run podman job IPU_COUNT=3 -- true
  assert_shown 126 "Error: OCI runtime error: ipu: $REASON"
}

@test "podman, by path: it reads standard error" {
  run engine_run podman-path job IPU_COUNT=3 -- true
  assert_shown 126 "Error: OCI runtime error: $RUNTIME: $REASON"
}

podman_on_terminal() { # RUNTIME
  on_terminal podman --root "$PODMAN/storage" --runroot "$PODMAN/run" --tmpdir "$PODMAN/tmp" --storage-driver vfs \
    --runtime "$1" run --rm --tty "--cgroup-parent=/$HOST_CGROUP" --env=IPU_COUNT=3 --rootfs /run/busybox true
}

@test "podman -t, by name and by path" {
  run podman_on_terminal ipu
  assert_shown 126 "Error: OCI runtime error: ipu: $REASON"
  run podman_on_terminal "$RUNTIME"
  assert_shown 126 "Error: OCI runtime error: $RUNTIME: $REASON"
}

# As CRI-O does: the runtime has no --log, and conmon sends what stands on standard error as one message.
conmon_says() { # [OPTION...]
  local BUNDLE=/run/conmon
  bundle_for runc '.process.env = ["IPU_COUNT=3"]'
  # shellcheck disable=SC2016
  in_host timeout "$LIMIT" sh -c '
    cd /run/conmon
    mkdir exit sockets
    _OCI_SYNCPIPE=3 conmon "$@" 3>message >/dev/null 2>&1 </dev/null
    for _ in $(seq 200); do grep -q message message && break; sleep 0.05; done
    cat message' sh --cid job --name job --cuuid job --runtime "$RUNTIME" --bundle /run/conmon --container-pidfile /run/conmon/pid \
    --exit-dir /run/conmon/exit --log-path /run/conmon/log --socket-dir-path /run/conmon/sockets \
    --runtime-arg=--root=/run/conmon/state "$@"
}

@test "conmon, as CRI-O calls it" {
  run -0 conmon_says
  jq -e --arg reason "$REASON"$'\n' '.message == $reason and .pid < 0' <<<"$output"
}

@test "conmon with a terminal" {
  run -0 conmon_says --terminal
  jq -e --arg reason "$REASON"$'\n' '.message == $reason and .pid < 0' <<<"$output"
}

# ---- the words of other errors ----

# The one line of a create that fails has none of the words.
assert_good_words() { # TEXT...
  assert_create_refused "$@"
  run ! grep -iE "$WORDS" <<<"$stderr"
  [ "${#stderr}" -le 1000 ]
}

@test "no word of an engine's: configuration missing, broken, a folder" {
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host rm "$CONFIG"
  assert_good_words "$CONFIG"
  in_host rm "$LOG"
  in_host mkdir "$CONFIG"
  assert_good_words "$CONFIG"
  in_host rmdir "$CONFIG"
  in_host rm "$LOG"
  in_host tee "$CONFIG" >/dev/null <<<'pool = ['
  assert_good_words "$CONFIG"
}

@test "no word of an engine's: no interface of the rail, no capacity" {
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host sed -i 's/^parent = .*/parent = "rnic7"/' "$CONFIG"
  assert_good_words rnic7
  host_config
  docker run --detach --runtime=ipu -e IPU_COUNT=64 busybox sleep 3600
  in_host rm "$LOG"
  assert_good_words 'no free block of 2 IPUs'
}

@test "no word of an engine's: low-level runtime missing, not root's, the product itself" {
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  configure_runtime /no/such/runtime
  assert_good_words /no/such/runtime
  configure_runtime "$RUNTIME"
  in_host rm "$LOG"
  assert_good_words "$RUNTIME"
  in_host cp /bin/true /run/others
  in_host chown 1234 /run/others
  configure_runtime /run/others
  in_host rm "$LOG"
  assert_good_words /run/others
  in_host rm /run/others
}

@test "no word of an engine's: a network namespace that is gone, one that is no namespace" {
  make_bundle '.process.env += ["IPU_COUNT=2"] |
    .linux.namespaces |= map(if .type == "network" then .path = "/run/netns/gone" else . end)'
  assert_good_words /run/netns/gone
  in_host sed -i 's|/run/netns/gone|/etc/passwd|' "$BUNDLE/config.json"
  in_host rm "$LOG"
  assert_good_words /etc/passwd
}

# Runs `create` where PATH cannot be written.
create_without() { # PATH
  # shellcheck disable=SC2016
  in_host timeout "$LIMIT" unshare --mount sh -c '
    mount -t tmpfs -o ro tmpfs "$1"
    exec ipu-container-runtime --root "$2" --log "$3" create --bundle "$4" job </dev/null' sh "$1" "$STATE" "$LOG" "$BUNDLE"
}

@test "no word of an engine's: the ledger's folder, the run folder cannot be written" {
  local folder
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  for folder in /var/lib/ipu-container-toolkit /run/ipu-container-toolkit; do
    run -1 --separate-stderr create_without "$folder"
    assert_equal "$(wc -l <<<"$stderr")" 1
    assert_contains "$stderr" "$folder"
    run ! grep -iE "$WORDS" <<<"$stderr"
    give_back
  done
}

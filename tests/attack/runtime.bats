#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the programs of the product show to a container, and what an image makes of that: their files, descriptors and
# environment. See also filesystem.bats.

load attack
load ../e2e/bundle

IPUS='.process.env += ["IPU_COUNT=4"]'
ATTACK='.mounts += [{destination: "/run/attack", type: "bind", source: "/run/attack", options: ["bind", "ro"]}]'
PROGRAMS="/usr/local/bin/ipu-container-runtime /usr/local/bin/ipu-container-hook /usr/local/bin/ipuctl
  /usr/local/libexec/ipu-container-toolkit/ipu-container-start
  /usr/local/libexec/ipu-container-toolkit/ipu-container-poststop
  /usr/local/libexec/ipu-container-toolkit/ipu-vipu-client /usr/local/libexec/ipu-container-toolkit/ipu-vipu-client-plain
  /usr/sbin/runc"

teardown() {
  remove_containers
  remove_bundle
  in_host sh -c 'rm -rf /run/entering /run/secret /run/trace.*'
  assert_nothing_left
}

# ---- programs -------------------------------------------------------------------------------------------

# Lets the attacker look while COMMAND runs on the host, and prints what it did.
attacked_while() { # COMMAND...
  inside web rm -f /tmp/stop /tmp/result
  in_host docker exec --detach web sh -c '/run/attack/intruder overwrite /tmp/stop >/tmp/result 2>/tmp/found'
  wait_until 20 inside web test -e /tmp/found
  "$@" >/dev/null 2>&1
  inside web touch /tmp/stop
  wait_until 20 inside web test -s /tmp/result
  inside web cat /tmp/found >&2
  inside web cat /tmp/result
}

# A program of the host that enters the container, as runc did before 1.0-rc7.
enter() {
  local pid
  pid=$(docker inspect -f '{{.State.Pid}}' web)
  # shellcheck disable=SC2016
  in_host sh -c 'exec nsenter --target "$1" --mount --pid /proc/self/fd/9 wait 0.5 9</run/entering' sh "$pid"
}

use_product() {
  docker exec web true
  docker run --rm --runtime=ipu -e IPU_COUNT=4 --pid=container:web busybox true
  docker exec web true
}

@test "attack: an overwrite of a program of the host through /proc/PID/exe" {
  local before
  row CVE-2019-5736 'a container with SYS_PTRACE, while others join it'
  start web -e IPU_COUNT=4 --cap-add SYS_PTRACE --security-opt seccomp=unconfined -v /run/attack:/run/attack:ro
  in_host cp /run/attack/intruder /run/entering
  undefended overwritten attacked_while enter
  assert_equal "$(in_host head -c 11 /run/entering)" overwritten
  # shellcheck disable=SC2086
  before=$(in_host sha256sum $PROGRAMS)
  defended intact attacked_while use_product
  # shellcheck disable=SC2086
  assert_equal "$(in_host sha256sum $PROGRAMS)" "$before"
}

# ---- descriptors ----------------------------------------------------------------------------------------

# Runs the container of the bundle by PROGRAM, whose caller has the host's root open by many numbers.
run_leaking() { # PROGRAM [OPTION...]
  # shellcheck disable=SC2016
  in_host timeout "$LIMIT" sh -c '
    "$@" 3</ 4</ 5</ 6</ 7</ 8</ 9</ 2>/dev/null || echo refused' sh "$1" --root "$STATE" run "${@:2}" --bundle "$BUNDLE" leak
}

reader() { # FILTER: a container that looks for a file of the host
  in_host touch /run/secret
  make_bundle ".process.args = [\"/run/attack/intruder\", \"read\", \"run/secret\"] | $ATTACK | $1"
}

@test "attack: the use of a descriptor of the host that stays open in the container" {
  row CVE-2024-21626 "the container's program"
  reader .
  undefended 'reads the host' run_leaking runc --preserve-fds 1
  reader "$IPUS"
  defended 'stays inside' run_leaking ipu-container-runtime
}

each_workdir() {
  local number
  for number in 3 4 5 6 7 8 9 10 11 200; do
    reader "$IPUS | .process.cwd = \"/proc/self/fd/$number\""
    run_leaking ipu-container-runtime
  done | sort -u
}

@test "attack: a working directory that leads to a descriptor of the host" {
  row CVE-2024-21626 "WORKDIR of the image"
  defended refused each_workdir
}

exec_in_workdir() {
  local number said
  for number in 3 7 9 200; do
    # docker prints its error where the output would be.
    said=$(docker exec --workdir "/proc/self/fd/$number" web /run/attack/intruder read run/secret 2>&1) || said=refused
    echo "$said"
  done | sort -u
}

@test "attack: a working directory of an exec that leads to a descriptor of the host" {
  row CVE-2024-21626 'docker exec'
  in_host touch /run/secret
  start web -e IPU_COUNT=4 -v /run/attack:/run/attack:ro
  defended refused exec_in_workdir
}

# ---- environment ----------------------------------------------------------------------------------------

# The dynamic loader leaves a trace where these variables reach a program that uses it.
LOADER='.process.env += ["LD_DEBUG=libs", "LD_DEBUG_OUTPUT=/run/trace", "LD_PRELOAD=/tmp/theirs.so"]'

loaded() { # FILTER
  in_host sh -c 'rm -f /run/trace.*'
  make_bundle ".process.args = [\"/bin/true\"] | $LOADER | $1"
  in_host timeout "$LIMIT" ipu-container-runtime --root "$STATE" run --bundle "$BUNDLE" env >/dev/null 2>&1 || echo failed
  answer loaded 'not loaded' in_host sh -c 'ls /run/trace.*'
}

@test "attack: variables of the image that change what a hook does" {
  row CVE-2025-23266 'ENV of the image'
  local hook='{path: "/usr/bin/true"}'
  # runc 1.3 gives a hook none of the container's variables, unless config.json does.
  [ "$(loaded ".hooks.createContainer = [$hook]")" = loaded ] || hook='{path: "/usr/bin/true", env: .process.env}'
  undefended loaded loaded ".hooks.createContainer = [$hook]"
  defended 'not loaded' loaded "$IPUS"
}

# ---- config.json ----------------------------------------------------------------------------------------

NET_ADMIN='{"bounding": ["CAP_NET_ADMIN"], "effective": ["CAP_NET_ADMIN"], "permitted": ["CAP_NET_ADMIN"]}'

# Starts PROGRAM with a config.json in which the sed EXPRESSION has changed the key of capabilities.
with_key() { # PROGRAM EXPRESSION FILTER
  make_bundle ".process.args = [\"/run/attack/raw\", \"flush\"] | $ATTACK | $3 | .process.capabilities = {} |
    .process.theirs = $NET_ADMIN"
  in_host sed -i "$2" "$BUNDLE/config.json"
  in_host timeout "$LIMIT" sh -c '"$@" 2>/dev/null || echo refused' sh "$1" --root "$STATE" run --bundle "$BUNDLE" key
}

# Go's decoder takes "ſ" for "s".
@test "attack: CAP_NET_ADMIN by a key in another spelling, which Go accepts" {
  row - config.json
  undefended flushed with_key runc 's/"theirs"/"capabilitie\\u017f"/' .
  defended refused with_key ipu-container-runtime 's/"theirs"/"capabilitie\\u017f"/' "$IPUS"
}

@test "attack: CAP_NET_ADMIN by a key that occurs twice" {
  row - config.json
  undefended flushed with_key runc 's/"theirs"/"capabilities"/' .
  defended refused with_key ipu-container-runtime 's/"theirs"/"capabilities"/' "$IPUS"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an image and whoever shares its file system do to the places at which the product's files appear. tests/hostile
# does the same at random, a thousand times.

load attack
load ../e2e/bundle

HOOK=$BINDIR/ipu-container-hook
ROOT=/run/theirs
COUNT='.annotations = {"graphcore.ai/ipu.count": "4"}'
ALONE="$COUNT | .process.capabilities |= map_values([\"CAP_KILL\"]) |
  .hooks.createRuntime = [{path: \"$HOOK\", args: [\"ipu-container-hook\", \"createRuntime\"]}] |
  .hooks.poststop = [{path: \"$HOOK\", args: [\"ipu-container-hook\", \"poststop\"]}]"

teardown() {
  remove_bundle
  host_stop swap
  in_host rm -rf "$ROOT" "$OUTSIDE"
  wait_until 10 gc_leaves_nothing || assert_nothing_left
}

# A new root file system, and a bundle with it.
make_theirs() { # FILTER
  in_host rm -rf "$ROOT"
  in_host mkdir "$ROOT"
  in_host cp -a /run/busybox/bin /run/busybox/lib /run/busybox/lib64 /run/busybox/tmp "$ROOT"
  make_bundle ".root = {path: \"$ROOT\"} | $1"
}

# Runs the container by PROGRAM; prints what it prints, or "refused".
run_by() { # PROGRAM
  in_host timeout "$LIMIT" sh -c '"$@" 2>/run/theirs.log || echo refused' sh "$1" --root "$STATE" run --bundle "$BUNDLE" theirs
}

# ---- links that lead to what is masked -----------------------------------------------------------------

# The container tries to change a value that is its own (of its UTS namespace), and read-only.
WRITES='.process.args = ["sh", "-c", "mount -o remount,rw /proc/sys 2>/dev/null; echo theirs >/proc/sys/kernel/domainname; cat /proc/sys/kernel/domainname"]'

written() { # PROGRAM FILTER [PLACE TARGET]
  make_theirs "$WRITES | $2"
  [ -z "${3:-}" ] || in_host sh -c "mkdir -p $ROOT/etc $ROOT/run && ln -s $4 $ROOT/$3"
  answer written 'not written' grep -q theirs <<<"$(run_by "$1")"
}

# All ways, and their results without repetition.
each_link() {
  local place target
  for place in etc/ipuof.conf.d run/ipu; do
    for target in /proc /proc/sys /proc/self/attr /sys /dev; do
      written ipu-container-runtime "$COUNT" "$place" "$target"
    done
    written runc "$ALONE" "$place" /proc/sys
  done | sort -u
}

@test "attack: links in the image that lead the toolkit's mounts to /proc, /sys and /dev" {
  row 'CVE-2025-31133, CVE-2025-52565, CVE-2025-52881' 'links in the image'
  undefended written written runc 'del(.linux.readonlyPaths, .linux.maskedPaths)'
  defended 'not written' each_link
}

# ---- links that change while the toolkit mounts --------------------------------------------------------

OUTSIDE=/run/outside
PLACES='run/ipu etc/ipuof.conf.d'
# What the toolkits of these CVEs did: look at a path, and use it by its name a moment later. It does so until the
# intruder was in between.
NAIVE="for i in \$(seq 100000); do for place in $PLACES; do
  [ -L $ROOT/\$place ] || echo theirs >$ROOT/\$place/lease.json; done
  read -r line <$OUTSIDE/lease.json; [ \"\$line\" = 'the host' ] || break; done 2>/dev/null; true"

of_outside() { in_host find "$OUTSIDE" -printf '%p %i %m %s %C@\n'; }

# Starts containers, each while somebody exchanges one of the places for a link to a directory of the host.
swapped_during() { # STARTS FILTER
  local i place before result='host intact'
  make_theirs ".process.args = [\"true\"] | $2"
  # shellcheck disable=SC2016
  in_host sh -c '
    set -e
    rm -rf "$1"
    mkdir "$1"
    for file in lease.json ipuof.conf; do echo "the host" >"$1/$file"; done
    for place in $3; do mkdir -p "$2/$place"; ln -s "$1" "$2/$place.other"; done' sh "$OUTSIDE" "$ROOT" "$PLACES"
  before=$(of_outside)
  for place in $PLACES; do
    host_spawn swap /run/attack/intruder swap "$LIMIT" "$ROOT/$place" "$ROOT/$place.other"
    for ((i = 0; i < $1; ++i)); do run_by runc >/dev/null; done
    host_stop swap
  done
  [ "$(of_outside)" = "$before" ] || result='host changed'
  echo "$result"
}

@test "attack: links that are swapped while the toolkit mounts its files" {
  row 'CVE-2024-0132, CVE-2025-23359' 'a process that shares the file system'
  undefended 'host changed' swapped_during 1 ".hooks.createRuntime = [{path: \"/bin/sh\", args: [\"sh\", \"-c\", $(jq -n --arg script "$NAIVE" '$script')]}]"
  defended 'host intact' swapped_during 8 "$ALONE"
}

kept_of_config() { in_host jq -S '[.linux.maskedPaths, .linux.readonlyPaths, .linux.seccomp, .process.noNewPrivileges, .root]' "$BUNDLE/config.json"; }

@test "the edit of config.json keeps what is masked and read-only" {
  local before
  make_theirs "$COUNT"
  before=$(kept_of_config)
  create kept
  assert_contains "$(in_host cat "$BUNDLE/config.json")" /run/ipu
  assert_equal "$(kept_of_config)" "$before"
}

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
  in_host rm -rf "$ROOT"
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

kept_of_config() { in_host jq -S '[.linux.maskedPaths, .linux.readonlyPaths, .linux.seccomp, .process.noNewPrivileges, .root]' "$BUNDLE/config.json"; }

@test "the edit of config.json keeps what is masked and read-only" {
  local before
  make_theirs "$COUNT"
  before=$(kept_of_config)
  create kept
  assert_contains "$(in_host cat "$BUNDLE/config.json")" /run/ipu
  assert_equal "$(kept_of_config)" "$before"
}

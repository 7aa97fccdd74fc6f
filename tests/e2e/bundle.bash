# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests that call the runtime as an engine does, with a bundle that no engine would write.

BUNDLE=/run/bundle
LOG=/run/bundle.log
STATE=/run/oci

# A bundle in the host that runs `sleep 3600` in busybox; the jq FILTER changes its config.json.
make_bundle() { # FILTER
  local config
  in_host rm -rf "$BUNDLE" "$LOG"
  in_host mkdir -p "$BUNDLE"
  in_host runc spec --bundle "$BUNDLE"
  config=$(in_host cat "$BUNDLE/config.json")
  jq "
    .process.terminal = false | .process.args = [\"sleep\", \"3600\"] | .process.env = [\"PATH=/bin\"] |
    .root = {path: \"/run/busybox\", readonly: true} | .linux.cgroupsPath = \"/$HOST_CGROUP/direct\" |
    $1" <<<"$config" | in_host tee "$BUNDLE/config.json" >/dev/null
}

# For a second container of the bundle: runc 1.3 refuses a cgroup that has processes.
give_own_cgroup() { # ID
  in_host sed -i "s|/direct[^/\"]*\"|/direct-$1\"|" "$BUNDLE/config.json"
}

runtime() { # ARGUMENT...
  host_run timeout "$LIMIT" ipu-container-runtime --root "$STATE" --log "$LOG" --log-format json "$@"
}

create() { # ID
  # The container keeps the standard streams, which must not be bats's.
  # shellcheck disable=SC2016
  host_run timeout "$LIMIT" sh -c '
    ipu-container-runtime "$@" >/run/create.out 2>/run/create.err </dev/null
    status=$?
    cat /run/create.out
    cat /run/create.err >&2
    exit $status' sh --root "$STATE" --log "$LOG" --log-format json create --bundle "$BUNDLE" "$1"
}

remove_bundle() {
  local id
  for id in $(in_host runc --root "$STATE" list --quiet 2>/dev/null); do
    in_host ipu-container-runtime --root "$STATE" delete --force "$id"
  done
  in_host rm -rf "$BUNDLE" "$LOG" "$STATE"
}

# `create` fails as an engine can show it: one line on standard error and the same in one JSON line in
# the log, nothing on standard output, exit status 1. Each TEXT is in the line.
assert_create_refused() { # TEXT...
  local text log
  run -1 --separate-stderr create refused
  # shellcheck disable=SC2154
  assert_equal "$output" ''
  # shellcheck disable=SC2154
  assert_equal "$(wc -l <<<"$stderr")" 1
  for text in "$@"; do
    assert_contains "$stderr" "$text"
  done
  log=$(in_host cat "$LOG")
  assert_equal "$(wc -l <<<"$log")" 1
  assert_equal "$(jq -r .level <<<"$log")" error
  assert_contains "$stderr" "$(jq -r .msg <<<"$log")"
  run ! in_host runc --root "$STATE" state refused
}

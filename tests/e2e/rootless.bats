#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Engines of a user other than root: a container without IPUs is none of our business, one with IPUs is refused.

# bats's run sets status and output; ./conformance.bash sets CONFIG.
# shellcheck disable=SC2153,SC2154

load support
load bundle
load conformance

HOME_OF_USER=/run/rootless
REFUSED='ipu: rootless engines cannot start containers with IPUs, and this one runs as user 1000; start the container'

setup() {
  in_host mkdir -p "$HOME_OF_USER/run"
  in_host cp -a /run/busybox "$HOME_OF_USER/rootfs"
  in_host sh -c 'grep -q "^rootless:" /etc/passwd || echo "rootless:x:1000:1000::/run/rootless:/bin/sh" >>/etc/passwd'
  in_host chown -R 1000:1000 "$HOME_OF_USER"
  in_host chmod 0700 "$HOME_OF_USER/run"
  configure_runtime /usr/sbin/runc
}

teardown() {
  in_host pkill -KILL --uid 1000 || true
  in_host rm -rf "$HOME_OF_USER"
  in_host sed -i '/^rootless:/d' /etc/passwd
  forget_runtime
  assert_nothing_left
}

as_user() { # COMMAND...
  in_host timeout "$LIMIT" setpriv --reuid 1000 --regid 1000 --clear-groups \
    env HOME="$HOME_OF_USER" USER=rootless XDG_RUNTIME_DIR="$HOME_OF_USER/run" "$@"
}

# What stands before the runtime.
INSIDE=()

# Runs a bundle with VARIABLE... that prints its user.
run_bundle() { # RUNTIME [VARIABLE...]
  local config
  as_user rm -rf "$HOME_OF_USER/bundle"
  as_user mkdir "$HOME_OF_USER/bundle"
  as_user runc spec --rootless --bundle "$HOME_OF_USER/bundle"
  config=$(in_host cat "$HOME_OF_USER/bundle/config.json")
  jq --arg root "$HOME_OF_USER/rootfs" '.process.terminal = false | .process.args = ["id", "-u"] |
    .process.env = (["PATH=/bin"] + $ARGS.positional) | .root.path = $root' --args -- "${@:2}" <<<"$config" |
    as_user tee "$HOME_OF_USER/bundle/config.json" >/dev/null
  as_user "${INSIDE[@]}" "$1" --root "$HOME_OF_USER/state" run --bundle "$HOME_OF_USER/bundle" job
}

@test "rootless runc: a container without IPUs runs, one with IPUs is refused in one line" {
  assert_equal "$(run_bundle runc)" 0
  assert_equal "$(run_bundle "$RUNTIME")" 0
  run -1 run_bundle "$RUNTIME" IPU_COUNT=2
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "$REFUSED"
  # Also where the user cannot read the configuration.
  in_host chmod 0600 "$CONFIG"
  run -1 run_bundle "$RUNTIME" IPU_COUNT=2
  assert_equal "$output" "$REFUSED with root's engine, for example by sudo"
  assert_equal "$(run_bundle "$RUNTIME" IPU_VISIBLE_DEVICES=none)" 0
}

# The inner namespace maps root to the root of the outer one, who is user 1000 of the host.
@test "a user namespace in a user namespace: a container with IPUs is refused in one line" {
  INSIDE=(unshare --user --map-root-user unshare --user --map-root-user)
  assert_equal "$(as_user "${INSIDE[@]}" cat /proc/self/uid_map | xargs)" '0 0 1'
  run -1 run_bundle "$RUNTIME" IPU_COUNT=2
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "the root of this one's user namespace is perhaps not the host's"
}

# Without cgroups, which podman lets only runtimes of a list have. crun wants version 2 of cgroups alone: see bundle_for
# in conformance.bash.
podman_of_user() { # VARIABLE
  in_host tee "$HOME_OF_USER/containers.conf" >/dev/null <<<$'[engine]\nruntime_supports_nocgroup = ["ipu-container-runtime"]'
  # shellcheck disable=SC2016
  with_cgroup2 timeout "$LIMIT" setpriv --reuid 1000 --regid 1000 --clear-groups \
    env HOME="$HOME_OF_USER" USER=rootless XDG_RUNTIME_DIR="$HOME_OF_USER/run" PATH="$HOST_PATH" \
    CONTAINERS_CONF="$HOME_OF_USER/containers.conf" \
    podman --log-level fatal --storage-driver vfs --runtime "$RUNTIME" --events-backend none --cgroup-manager cgroupfs \
    run --rm --cgroups disabled --network none --env "$1" --rootfs "$HOME_OF_USER/rootfs" /bin/busybox id -u
}

@test "rootless podman: a container without IPUs runs, one with IPUs is refused in one line" {
  configure_runtime /usr/bin/crun
  assert_equal "$(podman_of_user A=1)" 0
  run -126 podman_of_user IPU_COUNT=2
  assert_equal "${#lines[@]}" 1
  assert_contains "$output" "$REFUSED"
}

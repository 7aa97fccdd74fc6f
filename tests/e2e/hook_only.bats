#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Containers that come past the wrapper: the hook alone, as hooks.d has it called, in plain runc bundles.

load support
load bundle
load conformance
load engines

HOOK=$BINDIR/ipu-container-hook
COUNT='.annotations = {"graphcore.ai/ipu.count": "4"}'
# The capabilities that podman gives, which are fewer than those of `runc spec`.
CAPABILITIES='.process.capabilities |= map_values(["CAP_KILL", "CAP_MKNOD"])'

teardown() {
  local id
  crun_alone delete --force job >/dev/null 2>&1 || true
  host_stop syslog
  podman_by /usr/sbin/runc rm --all --force --time 0 >/dev/null 2>&1 || true
  for id in $(in_host runc --root "$STATE" list --quiet 2>/dev/null); do
    in_host runc --root "$STATE" delete --force "$id"
  done
  remove_bundle
  in_host rm -rf "$ROOT"
  host_config
  assert_nothing_left
}

# A root of its own, which is written to; the jq FILTER changes config.json.
ROOT=/run/alone
make_root() {
  in_host rm -rf "$ROOT"
  # Without what runc has made there for other bundles.
  in_host mkdir "$ROOT"
  in_host cp -a /run/busybox/bin /run/busybox/lib /run/busybox/lib64 /run/busybox/tmp "$ROOT"
}

make_alone() { # FILTER
  make_root
  make_bundle "
    .root = {path: \"$ROOT\"} | $CAPABILITIES |
    .hooks.createRuntime = [{path: \"$HOOK\", args: [\"ipu-container-hook\", \"createRuntime\"], env: [\"A=b\"]}] |
    .hooks.poststop = [{path: \"$HOOK\", args: [\"ipu-container-hook\", \"poststop\"], env: [\"A=b\"]}] | $1"
}

# With a state of its own: crun would remove what runc has of a container without ending it.
crun_alone() { STATE=/run/oci-crun PROGRAM=/usr/bin/crun call crun "$@"; }

# What the host can give at most, as ulimit -l says it.
memlock_kib() {
  local most
  most=$(highest_memlock)
  [ "$most" = unlimited ] && echo unlimited || echo $((most / 1024))
}

alone() { # ID: created by runc itself
  give_own_cgroup "$1"
  # shellcheck disable=SC2016
  host_run timeout "$LIMIT" sh -c '
    runc "$@" >/run/create.out 2>/run/create.err </dev/null
    status=$?
    cat /run/create.out
    cat /run/create.err >&2
    exit $status' sh --root "$STATE" create --bundle "$BUNDLE" "$1"
}

within() { # ID COMMAND...
  in_host runc --root "$STATE" exec "$@"
}

assert_alone_refused() { # TEXT...
  local text
  run -1 alone refused
  for text in "$@"; do
    assert_contains "$output" "$text"
  done
}

@test "a plain runc bundle gets all that a hook can give, and gives it back" {
  make_alone "$COUNT"
  alone job
  in_host runc --root "$STATE" start job
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 4'
  assert_equal "$(within job cat /run/ipu/lease.json | jq -r .lease)" "$(ipuctl ps -o json | jq -r '.[].lease')"
  assert_equal "$(within job cat /etc/ipuof.conf.d/ipuof.conf | jq '.devices | length')" 4
  assert_contains "$(within job ip address show roce0)" "$(within job cat /run/ipu/lease.json | jq -r '.rails[0].address')"
  run ! within job sh -c 'echo x >/run/ipu/lease.json'
  assert_equal "$(within job sh -c 'ulimit -l')" "$(memlock_kib)"
  within job grep -q ' /run/ipu .*ro,nosuid,nodev,noexec' /proc/self/mounts
  in_host runc --root "$STATE" delete --force job
  wait_until 10 has_leases 0
}

@test "a plain runc bundle gets all GCDs of a partition, and a V-IPU endpoint" {
  ipuctl partition create p0 --size 8 --gcds 2
  make_alone '.annotations = {"graphcore.ai/ipu.partition": "p0", "graphcore.ai/ipu.gcd": "all",
    "graphcore.ai/ipu.vipu-endpoint": "1"}'
  alone job
  in_host runc --root "$STATE" start job
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.gcds) \(.ipus)"')" 'RUNNING 2 8'
  assert_equal "$(within job ls /etc/ipuof.conf.d)" $'p0_gcd0_ipuof.conf\np0_gcd1_ipuof.conf'
  # gRPC is the first to speak on a connection.
  [ -n "$(within job sh -c 'nc -w 2 127.0.0.1 8090 </dev/null' | tr -d '\0')" ]
  in_host runc --root "$STATE" delete --force job
  wait_until 10 has_leases 0
  run ! in_host pgrep -x ipu-vipu-endpoi
  ipuctl partition remove p0
}

@test "one GCD's file contradicts all GCDs, where the hook cannot take the variable away" {
  ipuctl partition create p0 --size 8 --gcds 2
  make_alone '.annotations = {"graphcore.ai/ipu.partition": "p0", "graphcore.ai/ipu.gcd": "all"} |
    .process.env += ["IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf"]'
  assert_alone_refused "the variable 'IPUOF_CONFIG_PATH' contradicts the IPUs"
  ipuctl partition remove p0
}

@test "a bundle without our annotation: nothing is opened, nothing changes" {
  make_alone '.process.env += ["IPU_COUNT=4"]'
  in_host mv /etc/ipu-container-toolkit/config.toml /etc/ipu-container-toolkit/away
  alone plain
  in_host mv /etc/ipu-container-toolkit/away /etc/ipu-container-toolkit/config.toml
  assert_equal "$(ipuctl ps -o json)" '[]'
  run ! in_host test -e "$ROOT/run/ipu"
}

@test "beside the wrapper the hook of hooks.d leaves the container to it" {
  make_alone "$COUNT"
  create both
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 4'
  run ! in_host test -e "$ROOT/dev/infiniband"
}

@test "two containers at a time, and the end of one leaves the other alone" {
  make_alone "$COUNT"
  alone first
  alone second
  in_host runc --root "$STATE" delete --force first
  wait_until 10 has_leases 1
  assert_equal "$(ipuctl ps -o json | jq -r '.[].container')" second
  within second ip link show roce0
}

@test "a poststop that comes late leaves the next container of that name alone" {
  make_alone "$COUNT"
  alone job
  before=$(in_host runc --root "$STATE" state job)
  in_host runc --root "$STATE" delete --force job
  alone job
  wait_until 10 has_leases 1
  jq -c 'del(.pid) | .status = "stopped"' <<<"$before" | host_run ipu-container-hook poststop
  assert_equal "$(ipuctl ps -o json | jq -r '.[].state')" RUNNING
}

# With runc and with our files of hooks.d.
podman() { # ARGUMENT...
  in_host env CONTAINERS_CONF="$PODMAN/containers.conf" timeout "$LIMIT" podman --root "$PODMAN/storage" \
    --runroot "$PODMAN/run" --tmpdir "$PODMAN/tmp" --storage-driver vfs --runtime /usr/sbin/runc \
    --hooks-dir "${PREFIX:-/usr/local}/share/ipu-container-toolkit/hooks.d" "$@"
}

@test "podman by hooks.d: a container with our annotation, restarted, and one without" {
  engines_up
  make_root
  podman run --detach --name job "--cgroup-parent=/$HOST_CGROUP" --cap-drop NET_RAW --annotation graphcore.ai/ipu.count=4 --rootfs "$ROOT:O" \
    /bin/sleep 3600 </dev/null >/dev/null
  assert_equal "$(podman exec job /bin/cat /run/ipu/lease.json | jq .ipus)" 4
  podman exec job /bin/ip link show roce0
  first=$(ipuctl ps -o json | jq -r '.[].lease')
  podman restart --time 0 job >/dev/null
  second=$(podman exec job /bin/cat /run/ipu/lease.json | jq -r .lease)
  [ "$first" != "$second" ]
  wait_until 10 has_leases 1
  run podman run --name bad "--cgroup-parent=/$HOST_CGROUP" --cap-drop NET_RAW --annotation graphcore.ai/ipu.count=3 --rootfs "$ROOT:O" /bin/true
  [ "$status" -ne 0 ]
  assert_contains "$output" "graphcore.ai/ipu.count='3' is not accepted"
  podman run --rm "--cgroup-parent=/$HOST_CGROUP" --rootfs "$ROOT:O" /bin/sh -c '! [ -e /run/ipu ]'
  podman rm --force --time 0 job >/dev/null
  wait_until 10 has_leases 0
}

# crun sees version 2 of cgroups alone: see bundle_for in conformance.bash.
@test "crun: the same, and why it was refused is in the system's log" {
  local hooks='.hooks = {createRuntime: [{path: "'"$HOOK"'", args: ["hook", "createRuntime"], env: ["A=b"]}],
    poststop: [{path: "'"$HOOK"'", args: ["hook", "poststop"], env: ["A=b"]}]}'
  make_root
  host_spawn syslog busybox syslogd -n -O /run/syslog
  wait_until 5 in_host test -S /dev/log
  PLAIN=yes bundle_for crun ".root.path = \"$ROOT\" | $CAPABILITIES | $COUNT | $hooks"
  crun_alone create --bundle "$BUNDLE" job
  assert_equal "$(ipuctl ps -o json | jq -r '.[] | "\(.state) \(.ipus)"')" 'RUNNING 4'
  in_host test -d "$ROOT/run/ipu"
  crun_alone delete --force job
  wait_until 10 has_leases 0
  PLAIN=yes bundle_for crun ".root.path = \"$ROOT\" | $CAPABILITIES | .annotations = {\"graphcore.ai/ipu.count\": \"3\"} | $hooks"
  run ! crun_alone create --bundle "$BUNDLE" job
  host_stop syslog
  assert_contains "$(in_host cat /run/syslog)" "container job: graphcore.ai/ipu.count='3' is not accepted"
  in_host rm -f /run/syslog /dev/log
}

@test "as prestart and as createRuntime: one lease" {
  make_alone "$COUNT"' | .hooks.prestart = [{path: .hooks.createRuntime[0].path, args: ["hook", "prestart"], env: ["A=b"]}]'
  alone job
  assert_equal "$(ipuctl ps -o json | jq -r '[.[].state] | join(" ")')" RUNNING
}

@test "the runtime is killed while its hook waits: nobody waits any longer" {
  make_alone '.annotations = {"graphcore.ai/ipu.count": "64"}'
  alone big
  make_alone '.annotations = {"graphcore.ai/ipu.count": "4", "graphcore.ai/ipu.wait": "60s"}'
  give_own_cgroup waiting
  host_spawn waiting runc --root "$STATE" create --bundle "$BUNDLE" waiting
  wait_until 10 has_waiters 1
  host_signal waiting KILL
  in_host pkill -KILL --newest -x -f '.*runc init'
  wait_until 10 has_waiters 0
  in_host runc --root "$STATE" delete --force waiting
}

@test "a limit of locked memory that runc would set again" {
  make_alone "$COUNT"' | .process.rlimits += [{type: "RLIMIT_MEMLOCK", hard: 65536, soft: 65536}]'
  assert_alone_refused '65536 bytes' '--ulimit memlock=-1:-1'
}

@test "what only the wrapper could change is refused" {
  make_alone "$COUNT"' | .process.capabilities.bounding += ["CAP_NET_RAW"]'
  assert_alone_refused 'CAP_NET_RAW' '--cap-drop NET_RAW' 'runtime wrapper'
  make_alone "$COUNT"' | .process.env += ["IPUOF_VIPU_API_HOST=10.1.3.101"]'
  assert_alone_refused "'IPUOF_VIPU_API_HOST'"
  make_alone "$COUNT"' | .process.env += ["IPUOF_CONFIG_PATH=/elsewhere"]'
  assert_alone_refused "'IPUOF_CONFIG_PATH'"
  make_alone "$COUNT"' | .process.env += ["IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf"]'
  alone good
}

@test "the host's network, also where the wrapper would isolate" {
  in_host sh -c 'printf "[network]\nhost_network = \"isolate\"\n" | cat - /etc/ipu-container-toolkit/config.toml >/etc/both &&
    mv /etc/both /etc/ipu-container-toolkit/config.toml'
  make_alone "$COUNT"' | .linux.namespaces |= map(select(.type != "network"))'
  assert_alone_refused '--net=host'
}

@test "a wait that is longer than an engine waits" {
  make_alone '.annotations = {"graphcore.ai/ipu.count": "4", "graphcore.ai/ipu.wait": "10m"}'
  assert_alone_refused 'graphcore.ai/ipu.wait=180s'
}

@test "a refused request, a broken configuration and a full pool say why, and leave nothing" {
  make_alone '.annotations = {"graphcore.ai/ipu.count": "3"}'
  assert_alone_refused "graphcore.ai/ipu.count='3'" 'power of two'
  make_alone '.annotations = {"graphcore.ai/ipu.count": "64"}'
  alone big
  make_alone "$COUNT"
  assert_alone_refused 'no free block'
  in_host sh -c 'echo nonsense >/etc/ipu-container-toolkit/config.toml'
  assert_alone_refused 'config.toml'
}

@test "links in the image where files are to be: refused, and nothing is made behind them" {
  local place
  in_host mkdir -p /run/behind
  for place in run/ipu etc/ipuof.conf.d; do
    make_alone "$COUNT"
    in_host sh -c "mkdir -p $ROOT/${place%/*} && ln -s /run/behind $ROOT/$place"
    assert_alone_refused "$(basename "$place")"
    in_host rm -r "$ROOT"
  done
  assert_equal "$(in_host ls -A /run/behind)" ''
  in_host rmdir /run/behind
}

@test "a directory of the host that is mounted there is not written to" {
  in_host mkdir -p /run/theirs
  make_alone "$COUNT"' | .mounts += [{destination: "/etc/ipuof.conf.d", type: "bind", source: "/run/theirs", options: ["bind"]}]'
  assert_alone_refused "'/etc/ipuof.conf.d'" 'leave the mount out'
  assert_equal "$(in_host ls -A /run/theirs)" ''
  in_host rmdir /run/theirs
}

# How many partitions the controller has made.
creations() { sim_log 'map(select(.event == "hold")) | length'; }

@test "a place where nothing can be mounted: refused before a partition is made" {
  local made
  in_host mkdir -p /run/theirs
  made=$(creations)
  make_alone "$COUNT"' | .mounts += [{destination: "/run", type: "bind", source: "/run/theirs", options: ["bind", "ro"]}]'
  assert_alone_refused "'/run'" 'leave the mount out'
  make_alone "$COUNT"
  in_host mkdir "$ROOT/proc" "$ROOT/dev" "$ROOT/sys" # where runc mounts
  in_host mount --bind "$ROOT" "$ROOT"
  in_host mount -o remount,bind,ro "$ROOT"
  run alone refused
  in_host umount "$ROOT"
  assert_contains "$output" "in the container: the directory above is read-only; create"
  make_alone "$COUNT"
  in_host sh -c "echo x >$ROOT/etc"
  assert_alone_refused "'/etc'" 'replace it with a directory'
  make_alone "$COUNT"' | .linux.namespaces += [{type: "user"}] |
    .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
  in_host chown -R 100000:100000 "$ROOT"
  assert_alone_refused 'user namespace'
  assert_equal "$(creations)" "$made"
  in_host rm -r /run/theirs
}

@test "a user namespace" {
  make_alone "$COUNT"' | .linux.namespaces += [{type: "user"}] |
    .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
  in_host chown -R 100000:100000 "$ROOT"
  assert_alone_refused 'user namespace'
}

@test "a later hook fails, and poststop is never called: the next gc gives all back" {
  make_alone "$COUNT"' | .hooks.createRuntime += [{path: "/bin/false"}] | .hooks.poststop = []'
  run -1 alone lost
  assert_equal "$(ipuctl ps -o json | jq length)" 1
  ipuctl gc
  assert_equal "$(ipuctl ps -o json)" '[]'
}

# As crun calls it, which does not wait for the end of what it has killed.
@test "poststop waits for a container that is about to end" {
  make_alone "$COUNT"
  alone job
  host_spawn poststop sh -c "echo '{\"id\": \"job\", \"bundle\": \"$BUNDLE\", \"status\": \"stopped\"}' | $HOOK poststop"
  wait_until 5 in_host pgrep -f "^$HOOK poststop" >/dev/null
  in_host kill -KILL "$(in_host runc --root "$STATE" state job | jq .pid)"
  wait_until 10 has_leases 0
}

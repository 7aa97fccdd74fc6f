#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container without a request is none of our business, whatever state the host is in, and whatever became of its bundle.
# One with a request leaves nothing in its image, or in directories of the host, that looks like a configuration.

# bats's run sets status and output; LOW_LEVEL is for remove_all.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load support
load bundle
load conformance

setup() {
  in_host rm -f /run/ipu-container-toolkit/runtime
}

teardown() {
  remove_containers
  LOW_LEVEL=${LOW_LEVEL:-crun} remove_all
  in_host rm -rf /tmp/oci /tmp/rootfs
  give_back
}

# Runs a command where /run is read-only, for crun.
with_run_read_only() { # COMMAND...
  # shellcheck disable=SC2016
  with_cgroup2 unshare --mount sh -c 'mount --bind /run /run && mount -o remount,bind,ro /run && exec "$@"' sh "$@"
}

# crun, by the product, without a place for a record of this choice.
crun_unrecorded() { # ARGUMENT...
  # A container keeps the standard streams, which must not be bats's.
  # shellcheck disable=SC2016
  with_run_read_only timeout "$LIMIT" sh -c '"$@" >/tmp/call.out 2>&1 </dev/null; status=$?; cat /tmp/call.out; exit $status' \
    sh "$RUNTIME" --root /tmp/oci --cgroup-manager=disabled "$@"
}

@test "runtime.paths selects crun, and /run is read-only: a container without IPUs lives and ends" {
  make_bundle '.root.path = "/tmp/rootfs" | del(.linux.resources, .linux.cgroupsPath)'
  in_host cp -a /run/busybox /tmp/rootfs
  configure_runtime /usr/bin/crun
  crun_unrecorded create --bundle "$BUNDLE" job
  crun_unrecorded start job
  assert_equal "$(crun_unrecorded state job | jq -r .status)" running
  crun_unrecorded delete --force job
  run -1 crun_unrecorded state job
}

@test "runtime.paths selects crun: a user who can record nothing gets crun's own words" {
  make_bundle .
  configure_runtime /usr/bin/crun
  local words expected
  # shellcheck disable=SC2086
  for words in --version "create --bundle $BUNDLE job" 'state job' 'delete job'; do
    run in_host setpriv --reuid 1000 --regid 1000 --clear-groups crun --root /tmp/none $words
    # shellcheck disable=SC2154
    expected="$status $(without_times "$output")"
    run in_host setpriv --reuid 1000 --regid 1000 --clear-groups "$RUNTIME" --root /tmp/none $words
    assert_equal "$status $(without_times "$output")" "$expected"
  done
  run ! in_host test -e /run/ipu-container-toolkit/runtime
}

without_times() { sed -E 's/[0-9-]{10}T[0-9:.]+Z?/TIME/g' <<<"$1"; }

@test "runtime.paths selects crun: all commands go there before the first create, and after a broken configuration" {
  make_bundle 'del(.linux.resources, .linux.cgroupsPath)'
  configure_runtime /usr/bin/crun
  assert_contains "$(runtime --version)" crun
  create_by crun job
  in_host tee "$CONFIG" >/dev/null <<<'no configuration ['
  assert_contains "$(runtime --version)" crun
  call crun delete --force job
}

# A bundle that has run with IPUs, and now has the jq FILTER in place of its request.
used_bundle() { # LOW-LEVEL FILTER
  bundle_for "$1"
  create_by "$1" first
  call "$1" delete --force first
  wait_until 10 nothing_is_left
  change_bundle "$2"
}

starts_again() { # LOW-LEVEL FILTER
  LOW_LEVEL=$1
  used_bundle "$@"
  create_by "$1" second
  call "$1" start second
  assert_equal "$(ipuctl ps -o json)" '[]'
  run ! in_host grep -E 'ipu\.lease|ipu\.added|leases|IPUOF|ipu-container-(hook|poststop)' "$BUNDLE/config.json"
  call "$1" delete --force second
}

@test "runc: a bundle that has run with IPUs starts without a request" {
  starts_again runc '.process.env |= map(select(startswith("IPU_") | not))'
}

@test "crun: a bundle that has run with IPUs starts without a request" {
  starts_again crun '.process.env |= map(select(startswith("IPU_") | not)) | del(.annotations)'
}

@test "runc: a bundle that has run with IPUs starts where it declines them" {
  starts_again runc '.process.env += ["IPU_VISIBLE_DEVICES=none"]'
}

# A place where nothing can be mounted is named in one line, before anything is taken, and nothing is made there.
assert_no_place() { # FILTER TEXT...
  make_bundle '.process.env += ["IPU_COUNT=2"] | .root = {path: "/run/rootfs"}'" | $1"
  shift
  assert_create_refused 'cannot mount on' "$@"
  assert_equal "$(sim_log 'map(select(.event == "hold")) | length')" "$created"
  in_host rm -f "$LOG"
}

@test "a container with IPUs whose /run or /etc has no place for our folders is refused before anything is taken" {
  local created
  created=$(sim_log 'map(select(.event == "hold")) | length')
  in_host cp -a /run/busybox /run/rootfs
  in_host sh -c 'rm -rf /run/rootfs/run /run/rootfs/etc; mkdir -p /run/theirs'
  assert_no_place '.mounts += [{destination: "/run", type: "bind", source: "/run/theirs", options: ["rbind", "ro"]}]' "'/run' is read-only"
  assert_no_place '.mounts += [{destination: "/etc", type: "bind", source: "/run/theirs", options: ["bind", "ro"]}]' "'/etc' is read-only"
  assert_no_place '.linux.namespaces += [{type: "user"}] | .linux.gidMappings = [{containerID: 0, hostID: 100000, size: 65536}] |
    .linux.uidMappings = .linux.gidMappings' 'belongs to user 0'
  in_host touch /run/rootfs/run
  assert_no_place . "'/run' is not a directory"
  run -1 ipuctl explain --bundle "$BUNDLE"
  assert_contains "$output" "'/run' is not a directory"
  assert_equal "$(in_host ls -A /run/theirs)" ''
  in_host rm -r /run/rootfs /run/theirs
}

@test "a container with IPUs on a read-only root file system is refused, unless it has the folders" {
  local created
  created=$(sim_log 'map(select(.event == "hold")) | length')
  in_host cp -a /run/busybox /run/rootfs
  in_host sh -c 'cd /run/rootfs && rm -rf run etc && mkdir -p proc dev sys && mount --bind /run/rootfs /run/rootfs &&
    mount -o remount,bind,ro /run/rootfs'
  assert_no_place . 'is read-only'
  in_host umount /run/rootfs
  in_host sh -c 'cd /run/rootfs && mkdir -p run/ipu etc/ipuof.conf.d && mount --bind . . && mount -o remount,bind,ro /run/rootfs'
  create job
  in_host umount /run/rootfs
  in_host rm -r /run/rootfs
}

# What is left of a container with IPUs in the directory DIR of the host: no file, and only folders without any.
assert_only_folders() { # DIR
  assert_equal "$(in_host find "$1" ! -type d)" ''
}

@test "docker commit of a running container with IPUs: no file of ours is in the image" {
  start job -e IPU_COUNT=1
  docker commit job committed
  docker rm --force job
  docker run --rm committed sh -c 'ls -A /etc/ipuof.conf.d /run/ipu' >"$BATS_TEST_TMPDIR/left"
  docker image rm committed
  assert_equal "$(grep -v ':$' "$BATS_TEST_TMPDIR/left" | grep .)" ''
}

@test "a directory of the host on /run, and one on /etc: no file of ours stays there" {
  in_host mkdir -p /run/theirs/etc /run/theirs/run
  docker run --rm --runtime=ipu -e IPU_COUNT=1 -v /run/theirs/run:/run -v /run/theirs/etc:/etc busybox \
    cat /run/ipu/lease.json /etc/ipuof.conf.d/ipuof.conf
  in_host rm -f /run/theirs/etc/hosts /run/theirs/etc/hostname /run/theirs/etc/resolv.conf
  assert_only_folders /run/theirs
  in_host rm -r /run/theirs
}

@test "crun: --config by a path, with a request" {
  LOW_LEVEL=crun
  bundle_for crun
  in_host sh -c "mkdir $BUNDLE/sub && mv $BUNDLE/config.json $BUNDLE/sub/other.json"
  call crun create --bundle "$BUNDLE" --config "$BUNDLE/sub/other.json" job
  assert_equal "$(ipuctl ps -o json | jq '.[].ipus')" 2
  in_host grep -q ipu.lease "$BUNDLE/sub/other.json"
  call crun delete --force job
}

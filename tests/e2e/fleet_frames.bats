#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The messages between a host and its fleet's etcd, cut one after the other while a container starts or ends.
# STRIDE=1 cuts at each frame of HTTP/2, and not only at some.

load support
load bundle
# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"
ENDPOINT=10.1.3.101:2379
ETCD_NETNS=/run/netns/pod

setup() {
  host_config
  etcd_start
  ENDPOINT=10.1.3.101:2381 configure_fleet
  install_cutter
  cut 0 close
  ipuctl partition create p0 --size 4 >/dev/null
  make_bundle '.process.env += ["IPU_PARTITION=p0"]'
  in_host cp "$BUNDLE/config.json" /run/job.json
}

teardown() {
  cut 0 close
  remove_bundle
  ipuctl gc >/dev/null
  ipuctl partition remove p0 --force >/dev/null
  host_stop cutter
  etcd_stop
  unconfigure_fleet
  in_host rm -f /run/job.json /run/frames /run/spy/frame_cutter
  host_config
  assert_nothing_left
}

install_cutter() { in_host install -m 0755 /dev/stdin /run/spy/frame_cutter <"$O/bin/frame_cutter"; }

# From now on, the frame of this number is cut.
cut() { # FRAME WAY
  host_stop cutter
  host_spawn cutter ip netns exec pod /run/spy/frame_cutter 10.1.3.101 2381 2379 "$1" "$2" /run/frames
  wait_until 10 cutter_listens
}
cutter_listens() { in_host ip netns exec pod ss -Hltn 'sport = 2381' | grep -q .; }
frames() { in_host cat /run/frames | tr -d ' '; }

no_hook_works() { ! in_host sh -c 'grep -qsxE "ipu-container-.*|ipu-fleet-clien" /proc/[0-9]*/comm'; }

start_job() {
  in_host cp /run/job.json "$BUNDLE/config.json"
  create job
}

# What must be true after a cut and one gc: no lease, no claim, and the partition can be used.
gives_all_back() { # WHERE
  wait_until 30 no_hook_works
  cut 0 close
  ipuctl gc >/dev/null || fail "$1: gc failed"
  assert_equal "$1: $(ipuctl ps -o json) $(claims)" "$1: [] 0"
  assert_equal "$1: $(ipuctl partition list -o json | jq -r '.[] | "\(.partition) \(.state)"')" "$1: p0 ACTIVE"
}

# Cuts at each frame in turn, until there are no more.
cut_starts() { # WAY STRIDE
  local frame status
  for ((frame = 1; ; frame += $2)); do
    cut "$frame" "$1"
    status=0
    start_job >"$BATS_TEST_TMPDIR/start" 2>&1 || status=$?
    last=$(frames)
    if [ "$status" -eq 0 ]; then
      assert_equal "$1 $frame: $(claims)" "$1 $frame: 1"
    else
      assert_equal "$1 $frame: $(grep -c '' "$BATS_TEST_TMPDIR/start") $(cut_words "$BATS_TEST_TMPDIR/start")" "$1 $frame: 1 ipu: fleet:"
    fi
    cut 0 close
    runtime delete --force job
    gives_all_back "start, $1 at frame $frame"
    [ "$last" -ge "$frame" ] || break
    count=$((count + 1))
  done
}
# Does so while the container ends.
cut_ends() { # WAY STRIDE
  local frame
  for ((frame = 1; ; frame += $2)); do
    start_job
    cut "$frame" "$1"
    runtime delete --force job
    wait_until 60 no_hook_works
    last=$(frames)
    gives_all_back "end, $1 at frame $frame"
    assert_equal "end, $1 $frame: $(count_keys grants)" "end, $1 $frame: 0"
    [ "$last" -ge "$frame" ] || break
    count=$((count + 1))
  done
}

cut_words() { command cut -d ' ' -f 1-2 "$1"; }

@test "a start whose messages to etcd are cut runs, or fails in one line; nothing is left after one gc" {
  local count=0 last
  cut_starts close "${STRIDE:-19}"
  cut_starts truncate "${STRIDE:-23}"
  cut_starts stall "${STRIDE:-47}"
  echo "$count cuts, in a start of $last frames"
  [ "$count" -ge 6 ]
}

@test "an end whose messages to etcd are cut gives the GCD back by one gc" {
  local count=0 last
  cut_ends close "${STRIDE:-7}"
  cut_ends truncate "${STRIDE:-11}"
  cut_ends stall "${STRIDE:-19}"
  echo "$count cuts, in an end of $last frames"
  [ "$count" -ge 2 ]
}

@test "an end whose messages to etcd are cut gives IPUs of its own back by one gc" {
  local count=0 last
  remove_bundle
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host cp "$BUNDLE/config.json" /run/job.json
  cut_ends close "${STRIDE:-7}"
  cut_ends truncate "${STRIDE:-11}"
  cut_ends stall "${STRIDE:-19}"
  echo "$count cuts, in an end of $last frames"
  [ "$count" -ge 2 ]
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A fleet whose hosts reach etcd by way of frame_cutter, which cuts one message. For sourcing after support.

# shellcheck source=tests/e2e/etcd.bash
source "$BATS_TEST_DIRNAME/etcd.bash"
# shellcheck disable=SC2034 # etcd.bash reads them
ENDPOINT=10.1.3.101:2379 ETCD_NETNS=/run/netns/pod

cutter_up() {
  host_config
  etcd_start
  ENDPOINT=10.1.3.101:2381 configure_fleet
  install_cutter
  cut 0 close
}

cutter_down() {
  host_stop cutter
  etcd_stop
  unconfigure_fleet
  in_host rm -f /run/frames /run/spy/frame_cutter
  host_config
}

remove_named() {
  local name
  for name in $(ipuctl reservation list -o json | jq -r '.[].reservation'); do
    ipuctl reservation end "$name" >/dev/null
  done
  for name in $(ipuctl partition list -o json | jq -r '.[] | select(.kind == "NAMED").partition'); do
    ipuctl partition remove "$name" --force >/dev/null
  done
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

no_hook_works() { ! in_host sh -c 'grep -qsxE "ipu-container-.*|ipu-fleet-clien|ipuctl" /proc/[0-9]*/comm'; }

# Calls TRY with each WAY and the number of each frame that is cut. It sets "met" to how many frames there were.
cut_each() { # STRIDE TRY WAY...
  local frame way
  for way in "${@:3}"; do
    for ((frame = 1; ; frame += $1)); do
      cut "$frame" "$way"
      "$2" "$way" "$frame"
      # shellcheck disable=SC2154 # TRY sets it
      [ "$met" -ge "$frame" ] || break
      count=$((count + 1))
    done
  done
}

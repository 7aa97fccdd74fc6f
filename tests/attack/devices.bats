#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Device nodes that a container makes itself, which docker's default capabilities allow. The host has two IPU cards; no
# driver is behind them, and the kernel says so where the device rules of the cgroup let an open through.

load attack

MAJOR=60

setup_file() {
  # shellcheck disable=SC2016
  in_host sh -c '
    set -e
    mount -t tmpfs tmpfs /sys/bus
    for card in 0 1; do
      device=/sys/bus/pci/devices/0000:8$card:00.0
      mkdir -p "$device"
      echo "$card" >"$device/file_name"
      echo 0 >"$device/numa_node"
      echo 0x1d95 >"$device/vendor"
      mknod "/dev/ipu$card" c "$1" "$card"
    done' sh "$MAJOR"
  in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null <<'END'
[pool]
name = "cards"
provider = "pcie"
groups = [[0], [1]]
END
}

teardown_file() {
  remove_containers
  assert_nothing_left
  in_host umount /sys/bus
  in_host find /dev -name 'ipu*' -delete
  host_config
}

# Makes a node for CARD in a container, and opens it.
opens() { # CARD [DOCKER-OPTION...]
  docker run --rm -v /run/attack:/run/attack:ro "${@:2}" busybox /run/attack/intruder open /tmp/node "$MAJOR" "$1"
}

@test "attack: the card of another tenant, opened by a device node that the container made" {
  row - 'a container with a card'
  undefended opened opens 1 --runtime=runc --device-cgroup-rule "c $MAJOR:* rwm"
  assert_equal "$(opens 0 --runtime=ipu -e IPU_VISIBLE_DEVICES=0)" opened
  defended 'not permitted' opens 1 --runtime=ipu -e IPU_VISIBLE_DEVICES=0
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Device nodes that a container makes itself, which docker's default capabilities allow.

load attack

setup_file() {
  make_cards
  in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null <<'END'
[pool]
name = "cards"
provider = "pcie"
groups = [[0, 1], [2, 3]]
END
}

teardown_file() {
  remove_containers
  assert_nothing_left
  remove_cards
  host_config
}

# Makes a node with MINOR in a container, and opens it. No driver is behind the cards, and the kernel says so where the
# rules of the cgroup let an open through.
opens() { # MINOR [DOCKER-OPTION...]
  docker run --rm -v /run/attack:/run/attack:ro "${@:2}" busybox /run/attack/intruder open /tmp/node "$CARD_MAJOR" "$1"
}

# Card 0 has minor 0, and card 2, which is not linked with it, has minor 6.
@test "attack: the card of another tenant, opened by a device node that the container made" {
  row - 'a container with a card'
  undefended opened opens 6 --runtime=runc --device-cgroup-rule "c $CARD_MAJOR:* rwm"
  assert_equal "$(opens 0 --runtime=ipu -e IPU_VISIBLE_DEVICES=0)" opened
  defended 'not permitted' opens 6 --runtime=ipu -e IPU_VISIBLE_DEVICES=0
}

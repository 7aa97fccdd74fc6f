# SPDX-License-Identifier: Apache-2.0
# A partition that was made ahead, and its IPUoF file, for tests of a pool that shares it out: for each file of tests.
# shellcheck shell=bash

SLICED=/etc/ipuof.conf.d/p16.conf

setup_file() {
  ipuctl partition create whole --size 16 --reconfigurable
  in_host mkdir -p "${SLICED%/*}"
  ipuctl partition config whole --gcd 0 | in_host tee "$SLICED" >/dev/null
}

teardown_file() {
  host_config
  ipuctl partition remove whole
  in_host rm "$SLICED"
  assert_nothing_left
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# packaging/examples/ansible: the role, run twice on a throw-away host from the packages that `make deb` makes.
# shellcheck disable=SC2154 # bats sets output

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/deb.bash"
export PREFIX=/usr BINDIR=/usr/bin
# shellcheck source=tests/support/host.sh
source "$BATS_TEST_DIRNAME/../support/host.sh"

setup() {
  DEBS=$BATS_TEST_TMPDIR/debs
  make_debs "$DEBS"
  cp -r "$PROJECT/packaging/examples/ansible" "$DEBS"
  cd "$PROJECT" || return
  HOST_TREE=$DEBS host_up
  host_run install -D -m 0755 /dev/stdin /run/lab/vipu-simulator <"${O:-build/${FLAVOR:-release}}/bin/vipu-simulator"
  HOST_PATH=$HOST_PATH:/run/lab sim_start
  # shellcheck disable=SC2034 # docker_start reads it
  DOCKER_RUNTIME=()
  docker_start
}

teardown() { host_down; }

# Runs the role on this host as the first of the inventory. Its sudo is not needed: this is root.
play() { # OPTION...
  host_run env HOME=/root LC_ALL=C.UTF-8 timeout 120 ansible-playbook --inventory /srv/tree/ansible/hosts.ini --connection local \
    --limit ipu-host-1 --extra-vars '{"ansible_become": false, "ipu_packages": "/srv/tree"}' "$@" /srv/tree/ansible/site.yaml
}

@test "the role installs, configures and checks a host, and changes nothing the second time" {
  run play
  assert_contains "$output" 'it has the runtime and knows it' 'unreachable=0' 'failed=0'
  run host_run docker run --rm --network none --runtime=ipu -e IPU_COUNT=4 busybox ip -o -f inet address show dev roce0
  assert_contains "$output" 'inet 10.5.200.10/'

  run play
  assert_contains "$output" 'changed=0' 'failed=0'

  # A wrong value never takes the place of what works.
  run play --extra-vars ipu_range=10.6.0.1-10.6.0.9
  assert_contains "$output" 'failed=1' 'range'
  host_run ipuctl config check
}

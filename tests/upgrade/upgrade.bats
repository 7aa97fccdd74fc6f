#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Upgrades a host whose containers run: check.sh built the earlier release in $OLD_TREE. Each test has a host of its own, on
# which that release is installed, and has
#   own       a container with a partition of its own, c-<12 hex>
#   gcd       a container with a GCD of the named partition p0
#   lost      a container that has ended, and whose release failed, because the controller did not answer
#   warm      a partition of the warm pool, w-<12 hex>
#   other     a partition c-<12 hex> that another host of that release made for a container

load ../e2e/support
load ../e2e/bundle

install_old() {
  env MAKEFLAGS='' make --no-print-directory -s -C "$OLD_TREE" O=build/release DESTDIR="/proc/$HOST_PID/root" \
    BINDIR="$BINDIR" PREFIX=/usr/local install >/dev/null
}

# The names of the partitions that the controller has.
partitions() { ipuctl partition list -o json | jq -r '[.[].partition] | sort | join(" ")'; }
has_partition() { [[ " $(partitions) " == *" $1 "* ]]; }
has_no_partition() { ! has_partition "$1"; }
has_state() { ipuctl ps -o json | jq -e --arg state "$1" 'any(.[]; .state == $state)' >/dev/null; }

assert_old_name() { # NAME KIND
  [[ $1 =~ ^$2-[0-9a-f]{12}$ ]] || fail "'$1' is no name of the earlier release"
}

setup() {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  host_up
  install_old
  # The simulator is of this release throughout, in front of the earlier one in PATH.
  host_run install -m 0755 /dev/stdin /usr/bin/vipu-simulator <"$O/bin/vipu-simulator"
  host_run mkdir -p /run/spy
  host_run install -m 0755 /dev/stdin /run/dial <"$O/bin/dial"
  host_config
  in_host sed -i '/^timeout/a warm = { "2" = 1 }' /etc/ipu-container-toolkit/config.toml
  sim_start
  docker_start
  start own -e IPU_COUNT=4
  ipuctl partition create p0 --size 8 --gcds 2 >/dev/null
  start gcd -e IPU_PARTITION=p0 -e IPU_GCD=1
  start_elsewhere
  ipuctl pool refill >/dev/null
  start lost -e IPU_COUNT=4
  OWN=$(lease_of own .partition) LOST=$(lease_of lost .partition)
  OTHER=$(on_other_host ipuctl ps -o json | jq -r '.[0].partition')
  WARM=$(ipuctl partition list -o json | jq -r '.[].partition | select(startswith("w-"))')
  assert_old_name "$OWN" c
  assert_old_name "$LOST" c
  assert_old_name "$OTHER" c
  assert_old_name "$WARM" w
  in_host sed -i 's/^timeout.*/timeout = "1s"/' /etc/ipu-container-toolkit/config.toml
  sim_stop
  docker rm --force lost >/dev/null
  wait_until 20 has_state RELEASING || fail "$(ipuctl ps -o json)"
  sim_start
}

teardown() { host_down; }

# A container of another host, which has a ledger and addresses of its own.
start_elsewhere() {
  make_bundle '.process.env += ["IPU_COUNT=2"]'
  in_host mkdir -p /run/other-host
  in_host sed '/^warm/d; s/^range.*/range = "10.5.201.10-10.5.201.20"/' /etc/ipu-container-toolkit/config.toml |
    in_host tee /run/other-host/config.toml >/dev/null
  # shellcheck disable=SC2016
  on_other_host sh -c '"$@" >/dev/null 2>/run/elsewhere </dev/null || { cat /run/elsewhere; exit 1; }' \
    sh ipu-container-runtime --root /run/other-host/oci create --bundle "$BUNDLE" elsewhere
}

# The container NAME reaches its own IPUs.
reaches_its_ipus() { # NAME
  local target
  target=$(first_endpoint "$1")
  # shellcheck disable=SC2086
  [ -n "$(inside "$1" dial $target "$(address_in "$1")")" ] || fail "$1 does not reach $target"
}

# The container NAME does not reach the IPUs of the other one.
assert_not_reached() { # NAME OTHER
  local target
  target=$(first_endpoint "$2")
  # shellcheck disable=SC2086
  assert_unreachable "$1" $target
}

@test "what runs goes on, what is left over is released, and what others have stays" {
  host_install
  ipuctl gc
  assert_equal "$(ipuctl ps -o json | jq -c '[.[] | [.name, .state]] | sort')" '[["gcd","RUNNING"],["own","RUNNING"]]'
  reaches_its_ipus own
  reaches_its_ipus gcd
  assert_equal "$(lease_of own .partition)" "$OWN"
  has_no_partition "$LOST"
  for name in "$OWN" "$OTHER" "$WARM" p0; do has_partition "$name" || fail "$name is gone"; done
  run ! ipuctl partition remove "$OTHER"
  run -0 ipuctl ledger check

  start new -e IPU_COUNT=4
  assert_contains "$(lease_of new .partition)" "c-$(ipuctl host list -o json | jq -r '.[] | select(.state == "this host").host')-"
  start small -e IPU_COUNT=2
  assert_equal "$(lease_of small .partition)" "$WARM"
  assert_not_reached new own
  assert_not_reached own new

  docker rm --force own gcd small >/dev/null
  wait_until 10 has_no_partition "$OWN" || fail "$(partitions)"
  start gcd -e IPU_PARTITION=p0 -e IPU_GCD=1
  reaches_its_ipus gcd
  ipuctl gc
  has_partition "$OTHER"
  docker rm --force gcd new >/dev/null
  wait_until 10 has_leases 0
  ipuctl partition remove p0
  run -0 ipuctl audit verify
}

@test "who waits while the programs change fails in one line, leaves nothing, and starts again" {
  local waiting
  start most -e IPU_COUNT=32
  start waiter -e IPU_COUNT=32 -e IPU_WAIT=60s >"$BATS_TEST_TMPDIR/waiter" 2>&1 3>&- &
  waiting=$!
  wait_until 10 has_waiters 1
  host_install
  ! wait "$waiting" || fail 'it started'
  assert_equal "$(grep -c 'ipu: ' "$BATS_TEST_TMPDIR/waiter")" 1
  docker rm --force most waiter >/dev/null
  ipuctl gc >/dev/null
  wait_until 10 has_leases 2
  start waiter -e IPU_COUNT=32
  reaches_its_ipus waiter
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that need a real RDMA device, in a virtual machine with software RoCE. Makes the machine's image if
# it is missing, boots it, installs the built product in it and runs the tests there by ssh. Cuts the power and boots it
# again for the tests of what a host does then, and once more for those of exclusive mode, which is a parameter of the
# kernel. TEST=PATTERN selects tests by name. The last line is "N passed, N failed". Only the image, build/rdma, stays.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

export FLAVOR=${FLAVOR:-release}
export O=${O:-build/$FLAVOR}
TEST=${TEST:-}
IMAGES=$PWD/build/rdma
EXCLUSIVE=tests/rdma/exclusive.bats
REBOOT=tests/rdma/reboot.bats
# The place of the project's tests in the machine.
CHECKOUT=/srv/check
passed=0
failed=0

# shellcheck source=tests/support/host.sh
source tests/support/host.sh
# shellcheck source=tests/rdma/vm.sh
source tests/rdma/vm.sh

clean_up() {
  vm_stop
  rm -rf "$run"
}

# Runs a command, shows its output and writes it to FILE. The command runs in the background, because bash acts on a
# signal only while it waits.
shown() { # FILE COMMAND...
  "${@:2}" </dev/null | tee "$1" &
  wait $!
}

# Packs what the machine gets after each boot: the product, the tests, and a tenant's program.
pack() { # FOLDER
  local root=$1/root compiler
  mkdir -p "$root$CHECKOUT" "$root/usr/local/libexec"
  make --no-print-directory -s O="$O" DESTDIR="$root" install >/dev/null || return 1
  read -ra compiler <<<"${CXX:-g++}"
  "${compiler[@]}" -std=c++20 -O1 -o "$root/usr/local/libexec/resolve" tests/rdma/resolve.cc -lrdmacm || return 1
  cp -r --parents README.md tests/rdma tests/support tests/e2e/support.bash "$root$CHECKOUT" || return 1
  tar -C "$root" -c --owner root --group root -f "$1/payload.tar" .
}

run_tests() { # FILE...
  local status filter=
  [ -z "$TEST" ] || filter="--filter $(printf %q "$TEST")"
  # This limit only ends a test that hangs. Each wait in a test has its own, shorter limit.
  shown "$run/tap" vm_run "cd $CHECKOUT && BATS_TEST_TIMEOUT=900 BINDIR=/usr/local/bin bats --tap --timing $filter $*"
  status=$?
  passed=$((passed + $(grep -c '^ok ' "$run/tap")))
  failed=$((failed + $(grep -c '^not ok ' "$run/tap")))
  if [ "$status" -ne 0 ] && ! grep -q '^not ok ' "$run/tap"; then
    echo "bats ended with exit status $status"
    failed=$((failed + 1))
  fi
}

boot_and_test() { # TITLE KERNEL-PARAMETERS FILE...
  echo "== rdma: $1"
  if vm_start "$IMAGES/$image" "$2" && vm_run tar -C / -x --no-overwrite-dir --keep-directory-symlink <"$run/payload.tar"; then
    run_tests "${@:3}"
  else
    failed=$((failed + 1))
  fi
}

reboot_and_test() { # TITLE FILE...
  echo "== rdma: $1"
  if vm_run "cd $CHECKOUT && BINDIR=/usr/local/bin bash -ec '. tests/support/host.sh; . tests/rdma/guest.bash; guest_before_reboot'" \
    >"$run/before_reboot" 2>&1 && vm_lose_power "$IMAGES/$image"; then
    run_tests "${@:2}"
  else
    cat "$run/before_reboot"
    failed=$((failed + 1))
  fi
}

run=$(mktemp -d) || exit 1
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

shown "$run/image" tests/rdma/image.sh "$IMAGES" || exit 1
image=$(tail -n 1 "$run/image")
pack "$run" || exit 1
vm_init "$run" || exit 1

mapfile -t shared < <(find tests/rdma -name '*.bats' ! -path "$EXCLUSIVE" ! -path "$REBOOT" | sort)
boot_and_test 'shared mode' '' "${shared[@]}"
reboot_and_test 'after a power cut' "$REBOOT"
vm_stop
boot_and_test 'exclusive mode' ib_core.netns_mode=0 "$EXCLUSIVE"
vm_stop

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

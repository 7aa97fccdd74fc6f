#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the end-to-end tests with the engines of other releases of Debian: tests/engines/check.sh [SUITE]...
# By default these are trixie and sid, after the tests of the Debian packages in clean roots (deb_roots.bats). TEST=PATTERN selects tests by name.
#
# The packages of a suite lie over this machine's root file system in the throw-away hosts of the tests, and nowhere
# else; they come from the mirror that this machine's apt uses. The last line is "N passed, N failed", for all suites.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

PACKAGES=base-files,docker.io,docker-cli,docker-buildx,containerd,runc,crun,podman,conmon,netavark,aardvark-dns,containernetworking-plugins,passt,nftables
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints where this machine's apt gets Debian from.
site() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }'
}

# Runs the tests on the engines of SUITE. It runs in a mount namespace of its own, which ends with it.
check_suite() { # SUITE
  mount -t tmpfs -o mode=0755 ipu-engines "$LAYER" || return
  # The maintainer scripts would start services. The programs alone are wanted.
  # The mirror may be a snapshot of an earlier day.
  mmdebstrap --quiet --mode=root --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' --include="$PACKAGES" "$1" "$LAYER" \
    "deb [signed-by=$KEYRING] $(site) $1 main" || return
  # Those of base-files would also make these links. The programs of the layer look for sockets there.
  rm -r "$LAYER/var/run" "$LAYER/var/lock" && ln -s /run "$LAYER/var/run" && ln -s /run/lock "$LAYER/var/lock" || return
  mount -t proc proc "$LAYER/proc" || return  # crun reads there what it was called
  for program in dockerd containerd runc crun podman; do
    chroot "$LAYER" "$program" --version | head -n 1
  done
  HOST_LAYER=$LAYER tests/run.sh --built e2e
}

if [ "${1:-}" = --inside ]; then
  check_suite "$2"
  exit
fi
LAYER=$(mktemp -d) || exit 1
export LAYER
trap 'rmdir "$LAYER"' EXIT
passed=0
failed=0
if [ $# -eq 0 ]; then
  set -- trixie sid
  tap=$(BATS_TEST_TIMEOUT=300 bats --tap --timing ${TEST:+--filter "$TEST"} tests/engines/deb_roots.bats | tee >(cat >&2))
  passed=$(grep -c '^ok ' <<<"$tap")
  failed=$(grep -c '^not ok ' <<<"$tap")
fi
for suite in "$@"; do
  echo "== engines of $suite"
  last=$(unshare --mount --propagation private "$0" --inside "$suite" | tee >(cat >&2) | tail -n 1)
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
  else
    echo "$suite: the tests did not run"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

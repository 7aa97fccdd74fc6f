# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests of the packages: makes them.

bats_require_minimum_version 1.5.0

PROJECT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
# shellcheck disable=SC2034
PACKAGES=(ipu-container-toolkit ipuctl ipu-container-toolkit-gc-docker ipu-vipu-simulator)

# Makes the packages, with the objects of the build that is there. What the build changes goes to memory: others use these
# programs, which are built for /usr/local.
make_packages() { # deb|rpm FOLDER [VERSION]
  # shellcheck disable=SC2016
  O=${O:-build/${FLAVOR:-release}} unshare --mount --propagation private bash -euc '
    mount -t tmpfs tmpfs /mnt
    mkdir -p /mnt/upper /mnt/work "$3"
    mount -t overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" overlay "$1"
    cd "$1"
    make --no-print-directory "$2" ${4:+DEB_VERSION="$4"} >"$3/log" 2>&1 || { tail -n 30 "$3/log" >&2; exit 1; }
    rm -f build/"$2"/build.log
    cp build/"$2"/* "$3"' bash "$PROJECT" "$@"
}
make_debs() { make_packages deb "$@"; }
make_rpms() { make_packages rpm "$@"; }

# A throw-away host with a controller, which is not of the host, and dockerd; FOLDER is its /srv/tree. Needs
# tests/support/host.sh.
lab_up() { # FOLDER
  cd "$PROJECT" || return
  HOST_TREE=$1 host_up
  host_run install -D -m 0755 /dev/stdin /run/lab/vipu-simulator <"${O:-build/${FLAVOR:-release}}/bin/vipu-simulator"
  HOST_PATH=$HOST_PATH:/run/lab sim_start
  # shellcheck disable=SC2034 # docker_start reads it
  DOCKER_RUNTIME=()
  docker_start
}

# The file of a package.
deb_of() { # PACKAGE
  echo "$DEBS/$1"_*_amd64.deb
}

# "MODE PATH" of what a package has, but for folders.
contents() { # PACKAGE
  dpkg-deb --contents "$(deb_of "$1")" | awk '$1 !~ /^d/ { print $1, substr($6, 2) }'
}

fail() {
  printf '%s\n' "$@" >&2
  return 1
}

assert_equal() { # ACTUAL EXPECTED
  [ "$1" = "$2" ] || fail "got:      $1" "expected: $2"
}

assert_contains() { # TEXT PART...
  local part
  for part in "${@:2}"; do
    [[ $1 == *"$part"* ]] || fail "text: $1" "does not contain: $part" || return
  done
}

assert_lacks() { # TEXT PART
  [[ $1 != *"$2"* ]] || fail "text: $1" "contains: $2"
}

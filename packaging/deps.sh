#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing for: build, e2e (tests on a real engine), rdma (tests in a
# virtual machine), lint.
# Says what it installs; does nothing when all are there. As a user it prints the command to run.
set -euo pipefail

declare -A packages=(
  [build]='g++ make pkg-config nlohmann-json3-dev libtomlplusplus-dev libsqlite3-dev nettle-dev libnl-3-dev
    libnl-route-3-dev libcap-dev libseccomp-dev libcli11-dev libgtest-dev libgmock-dev
    libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc openssl'
  [e2e]='docker.io containerd runc crun podman conmon containernetworking-plugins iptables iproute2 util-linux
    procps busybox-static bats jq strace logrotate python3-jsonschema'
  [rdma]='mmdebstrap debian-archive-keyring qemu-system-x86 qemu-utils e2fsprogs xz-utils busybox-static
    openssh-client iproute2 util-linux librdmacm-dev'
  [lint]='clang-format clang-tidy shellcheck git man-db systemd'
)

missing=()
for group in "$@"; do
  [ -n "${packages[$group]:-}" ] || { echo "deps.sh: unknown group '$group': use build, e2e, rdma or lint" >&2; exit 2; }
  for package in ${packages[$group]}; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "missing packages; as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# A package that is started when installed would touch the host's network: docker.io must not be.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 0755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get -qq update
apt-get -qq -y --no-install-recommends install "${missing[@]}" >/dev/null

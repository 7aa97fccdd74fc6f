#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the image that the virtual machine of `make check-rdma` boots: tests/rdma/image.sh FOLDER. Afterwards
# FOLDER/KEY holds vmlinuz, initrd.img and disk.img, and the folders of older KEYs are gone. The last line is KEY, a
# hash of all that decides the contents, so that nothing is made a second time. All packages come from the mirror
# that this machine's apt uses.
set -euo pipefail
shopt -s inherit_errexit
HERE=$(cd "$(dirname "$0")" && pwd)

RELEASE=bookworm
# The first kernel whose software RoCE works in each network namespace.
KERNEL_RELEASE=trixie-backports
KERNEL_OLDEST=7.0
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
PACKAGES=(systemd-sysv udev kmod openssh-server
  apparmor docker.io containerd runc iptables iproute2 procps
  rdma-core ibverbs-utils ibverbs-providers perftest rdmacm-utils infiniband-diags
  busybox-static nftables tcpdump bats jq
  # ipu-vipu-client and vipu-simulator are linked with these.
  libgrpc++1.51 libprotobuf32 libseccomp2)
# The modules, in this order, that the initrd needs to reach the disk and the network.
MODULES=(virtio_blk ext4 virtio_net)
DISK_SIZE=6G

say() { echo "# $*"; }
fail() {
  echo "image.sh: $*" >&2
  exit 1
}

# Prints "SITE SUITE COMPONENT" for each of Debian's package sources that this machine has.
sources() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$RELEASE" '$2 ~ "^" release "(-updates|-security)?$" && $3 == "main"' | sort -u
}

site() { sources | awk -v release="$RELEASE" '$2 == release { print $1; exit }'; }

source_lines() { sed "s|^|deb [signed-by=$KEYRING] |"; }

# Makes a configuration of apt that sees only KERNEL_RELEASE, and does not touch this machine's apt.
make_apt_config() { # FOLDER
  mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
  echo "$(site) $KERNEL_RELEASE main" | source_lines >"$1/sources.list"
  cat >"$1/apt.conf" <<END
Dir::Etc::SourceList "$1/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$1/lists";
Dir::State::Status "/dev/null";
Dir::Cache "$1/cache";
APT::Sandbox::User "root";
END
}

# Unpacks the newest kernel, without the programs around it, into ROOT. Prints its version.
unpack_kernel() { # APT-FOLDER ROOT
  local image version package packages
  export APT_CONFIG=$1/apt.conf
  apt-get -qq update
  image=$(apt-cache depends --important linux-image-amd64 | grep -oE 'linux-image-[0-9].*') ||
    fail "$KERNEL_RELEASE at $(site) has no linux-image-amd64"
  version=${image#linux-image-}
  dpkg --compare-versions "$version" ge "$KERNEL_OLDEST" ||
    fail "$KERNEL_RELEASE has kernel $version: software RoCE in namespaces needs $KERNEL_OLDEST"
  mapfile -t packages < <(apt-cache depends --important --recurse "$image" | grep -xE "linux-.*-${version//+/\\+}" | sort -u)
  (cd "$1" && apt-get -qq download "${packages[@]}")
  for package in "$1"/*.deb; do
    dpkg -x "$package" "$1/kernel"
  done
  cp -a "$1/kernel/usr/lib/modules" "$2/usr/lib/"
  echo "$version"
}

make_root() { # ROOT
  sources | source_lines | mmdebstrap --quiet --variant=minbase --include="${PACKAGES[*]}" "$RELEASE" "$1" -
  # Docker has to wait for the tests' configuration, and only ssh has to run.
  chroot "$1" systemctl --quiet disable docker.service docker.socket containerd.service
  chroot "$1" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
    e2scrub_all.timer e2scrub_reap.service fstrim.timer getty-static.service getty@tty1.service serial-getty@ttyS0.service
  rm -f "$1"/etc/ssh/ssh_host_*
  echo rdma >"$1/etc/hostname"
}

make_initrd() { # ROOT VERSION FOLDER
  local module path
  mkdir -p "$3/bin" "$3/modules"
  cp "$1/usr/bin/busybox" "$3/bin/"
  install -m 0755 "$HERE/initrd_init.sh" "$3/init"
  for module in "${MODULES[@]}"; do
    chroot "$1" modprobe --set-version "$2" --show-depends "$module"
  done | awk '$1 == "insmod" { print $2 }' | while read -r path; do
    xz -dc "$1$path" >"$3/modules/$(basename "$path" .xz)"
    basename "$path" .xz
  done >"$3/modules/order"
  (cd "$3" && find . | busybox cpio -o -H newc 2>/dev/null)
}

make_image() { # SCRATCH IMAGE
  local version root=$1/root
  mkdir "$1/apt" "$1/initrd"
  say "root file system of $RELEASE, ${#PACKAGES[@]} packages and what they need"
  make_root "$root"
  make_apt_config "$1/apt"
  version=$(unpack_kernel "$1/apt" "$root")
  say "kernel $version of $KERNEL_RELEASE"
  chroot "$root" depmod "$version"
  cp "$root/usr/lib/modules/$version/vmlinuz" "$2/vmlinuz"
  make_initrd "$root" "$version" "$1/initrd" >"$2/initrd.img"
  mke2fs -q -t ext4 -O ^has_journal -d "$root" "$2/disk.img" "$DISK_SIZE" >/dev/null
}

[ $# -eq 1 ] || fail 'usage: image.sh FOLDER'
[ "$(id -u)" -eq 0 ] || fail 'it needs root'
[ -n "$(site)" ] || fail "apt has no source of Debian's $RELEASE here"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
key=$({ cat "$HERE"/{image,initrd_init}.sh; sources; } | sha256sum | cut -c 1-16)
if [ ! -d "$folder/$key" ]; then
  scratch=$(mktemp -d "$folder/making.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT TERM
  mkdir "$scratch/image"
  make_image "$scratch" "$scratch/image"
  mv "$scratch/image" "$folder/$key"
  find "$folder" -mindepth 1 -maxdepth 1 ! -name "$key" ! -path "$scratch" -exec rm -rf {} +
  say "made in $SECONDS s, $(du -sh "$folder/$key" | cut -f 1)"
fi
echo "$key"

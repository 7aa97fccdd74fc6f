#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Debian packages in clean roots of Debian releases, which mmdebstrap makes from the mirror of this machine's apt:
# the programs run with that release's libraries, and what is purged is gone. Packages built on bookworm serve both.
# shellcheck disable=SC2154 # bats sets output

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/../packaging/deb.bash"

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

setup_file() {
  export DEBS=$BATS_FILE_TMPDIR/debs
  make_debs "$DEBS"
}

# Where this machine's apt gets Debian from.
site() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }'
}

# Makes a root of SUITE in memory, in a mount namespace of its own, and runs SCRIPT in it. The packages are in /debs.
in_root() { # SUITE SCRIPT
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --propagation private bash -euc '
    mount -t tmpfs -o mode=0755 tmpfs /mnt
    mmdebstrap --quiet --mode=root --variant=minbase --aptopt="Acquire::Check-Valid-Until \"false\"" "$1" /mnt \
      "deb [signed-by=$4] $3 $1 main"
    mkdir /mnt/debs
    cp "$5"/*.deb /mnt/debs
    mount -t proc proc /mnt/proc
    mount --rbind /dev /mnt/dev
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    # The names of hosts are the mirror'"'"'s and those of a proxy.
    cp /etc/resolv.conf /etc/hosts /mnt/etc/
    for file in /etc/apt/apt.conf.d/*proxy*; do [ ! -e "$file" ] || cp "$file" /mnt/etc/apt/apt.conf.d/; done
    chroot /mnt bash -euxc "$2"' bash "$1" "$2" "$(site)" "$KEYRING" "$DEBS"
}

# shellcheck disable=SC2016
FIRST_DAY='
  apt-get -qq -o Acquire::Check-Valid-Until=false update
  apt-get -qq --no-install-recommends -y install /debs/*.deb
  before_purge=$(getent passwd ipu-agent ipu-vipu-client ipu-vipu-endpoint | wc -l)
  [ "$before_purge" = 3 ]
  getent group ipu
  for program in ipuctl ipu-agent gc-docker vipu-simulator ipu-container-hook; do "$program" --version; done
  for client in /usr/libexec/ipu-container-toolkit/ipu-*; do
    case $client in *start) ;; *) "$client" --version </dev/null ;; esac
  done
  [ -L /etc/systemd/system/multi-user.target.wants/ipu-border.service ]
  [ ! -e /etc/systemd/system/multi-user.target.wants/ipu-agent.service ]
  # It says what is missing, and answers.
  status=0; ipuctl doctor >/tmp/doctor 2>&1 || status=$?
  [ "$status" -le 3 ]
  grep -q "config.toml\|no source of IPUs" /tmp/doctor
  ipuctl runtime configure docker --dry-run | grep -q /usr/bin/ipu-container-runtime
  # The same again is an upgrade.
  apt-get -qq -y --reinstall install /debs/*.deb
  apt-get -qq -y purge ipu-container-toolkit ipu-container-toolkit-gc-docker ipuctl ipu-vipu-simulator
  for left in /etc/ipu-container-toolkit /var/lib/ipu-container-toolkit /run/ipu-container-toolkit /usr/bin/ipuctl; do
    [ ! -e "$left" ]
  done
  [ -z "$(find /etc/systemd /usr/bin /usr/libexec -name "*ipu*")" ]
  echo all is well'

@test "bookworm: install, first steps, upgrade and purge" {
  run -0 in_root bookworm "$FIRST_DAY"
  assert_contains "$output" 'all is well'
}

@test "trixie: install, first steps, upgrade and purge" {
  run -0 in_root trixie "$FIRST_DAY"
  assert_contains "$output" 'all is well'
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the RPM packages in build/rpm: [O=build/release] packaging/rpm.sh VERSION. The same sources give the same bytes,
# as those of deb.sh do.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=packaging/package.bash
. packaging/package.bash
version=$1
check_version "$version" RPM
O=${O:-build/release}

top=$PWD/build/rpm scripts=$PWD/build/rpm/scripts
rm -rf "$top"
mkdir -p "$scripts"

# The scripts of the Debian package hold here too. rpm says by a number what dpkg says by a word, and nothing is purged.
in_words() { # SCRIPT CASE...
  local script=$1
  shift
  printf '%s\n' "$@"
  sed -e '/^#!/d; /^#DEBHELPER#/d; /^# SPDX/d' -e 's/apt-get remove/dnf remove/; s/deb-systemd-invoke/systemctl/' \
    "packaging/debian/ipu-container-toolkit.$script"
}
# Those of README.md's section "Install".
units='ipu-container-toolkit-gc.service ipu-container-toolkit-gc.timer ipu-border.service'
# shellcheck disable=SC2016
{
  in_words postinst "systemd-sysusers ipu-container-toolkit.conf ||" \
    '  echo "ipu-container-toolkit: its users were not made; run '"'systemd-sysusers ipu-container-toolkit.conf'"'" >&2' 'systemd-tmpfiles --create ipu-container-toolkit.conf' \
    'if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi' \
    '[ "$1" -gt 1 ] || systemctl preset '"$units || :" \
    'if [ "$1" -gt 1 ]; then set -- configure older; else set -- configure; fi' >"$scripts/post"
  {
    in_words prerm '[ "$1" -eq 0 ] || exit 0' 'set -- remove'
    echo "systemctl --no-reload disable --now $(cd packaging/systemd && echo ipu-*) >/dev/null 2>&1 || :"
  } >"$scripts/preun"
  printf '%s\n' 'if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi' \
    '[ "$1" -eq 0 ] || systemctl try-restart ipu-border.service ipu-agent.service >/dev/null 2>&1 || :' >"$scripts/postun"
  # rpm may remove these before the main package, or although it has refused.
  {
    in_words prerm '[ "$1" -eq 0 ] || exit 0' '[ -e /usr/bin/ipu-container-hook ] || exit 0' |
      sed -e '/^# These would restore/,$d' -e 's/^ipu-container-toolkit: not removed/ipu-container-toolkit-tls: not removed/' \
        -e 's/dnf remove ipu-container-toolkit/&-tls/'
    printf '%s\n' 'may_remove_in_use && exit 0' 'users=$(find_users)' '[ -z "$users" ] || refuse "$users"'
  } >"$scripts/preun_tls"
  printf '%s\n' '[ "$1" -eq 0 ] || exit 0' '[ ! -e /usr/bin/ipu-container-hook ] ||' \
    '  { echo "ipuctl: not removed, because ipu-container-toolkit needs it" >&2; exit 1; }' >"$scripts/preun_ipuctl"
}
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u PREFIX -u BINDIR -u DESTDIR -u FLAVOR \
  rpmbuild -bb --define "_topdir $top" --define "source $PWD" --define "objects $O" --define "scripts $scripts" \
  --define "product_version $version" --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
  --define '_buildhost localhost' packaging/rpm/ipu-container-toolkit.spec >"$top/build.log" 2>&1 ||
  { tail -n 30 "$top/build.log" >&2; echo "rpm.sh: rpmbuild failed; all it said is in build/rpm/build.log" >&2; exit 1; }
mv "$top"/RPMS/*/*.rpm "$top"
rm -rf "$scripts" "$top"/{BUILD,BUILDROOT,RPMS,SOURCES,SPECS,SRPMS}
cd "$top"
printf 'build/rpm/%s\n' *.rpm

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the RPM packages in build/rpm: [O=build/release] packaging/rpm.sh VERSION. The same sources give the same bytes,
# as those of deb.sh do.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
[[ $version =~ ^[0-9][0-9A-Za-z.+~]*$ ]] ||
  { echo "rpm.sh: '$version' is no version of RPM packages: use digits, letters and .+~, such as 0.1.0+site2" >&2; exit 2; }
O=${O:-build/release}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022

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
  in_words postinst 'systemd-sysusers ipu-container-toolkit.conf' 'systemd-tmpfiles --create ipu-container-toolkit.conf' \
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
    in_words prerm '[ "$1" -eq 0 ] || exit 0' '[ -e /usr/bin/ipu-container-hook ] || exit 0' | sed '/^# These would restore/,$d'
    printf '%s\n' 'may_remove_in_use && exit 0' 'users=$(find_users)' '[ -z "$users" ] || refuse "$users"'
  } >"$scripts/preun_tls"
  printf '%s\n' '[ "$1" -eq 0 ] || exit 0' '[ ! -e /usr/bin/ipu-container-hook ] ||' \
    '  { echo "ipuctl: not removed, because ipu-container-toolkit needs it" >&2; exit 1; }' >"$scripts/preun_ipuctl"
}
# Debian has no database of what an RPM system has.
nodeps=()
rpm --query --quiet rpm 2>/dev/null || nodeps=(--nodeps)
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u PREFIX -u BINDIR -u DESTDIR -u FLAVOR \
  rpmbuild -bb "${nodeps[@]}" --define "_topdir $top" --define "source $PWD" --define "objects $O" --define "scripts $scripts" \
  --define "product_version $version" --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
  --define '_buildhost localhost' packaging/rpm/ipu-container-toolkit.spec >"$top/build.log" 2>&1 ||
  { tail -n 30 "$top/build.log" >&2; echo "rpm.sh: rpmbuild failed; all it said is in build/rpm/build.log" >&2; exit 1; }
mv "$top"/RPMS/*/*.rpm "$top"
rm -rf "$scripts" "$top"/{BUILD,BUILDROOT,RPMS,SOURCES,SPECS,SRPMS}
cd "$top"
printf 'build/rpm/%s\n' *.rpm

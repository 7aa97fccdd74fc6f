#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages and their SBOM in build/deb: [O=build/release] packaging/deb.sh VERSION. The same sources
# give the same bytes in any folder and at any time: SOURCE_DATE_EPOCH, or the time of the last commit, is the only time
# that they contain.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=packaging/package.bash
. packaging/package.bash
version=$1
check_version "$version" Debian
export SOURCE=$PWD O=${O:-build/release}

rm -rf build/deb
mkdir -p build/deb/tree
cp -r packaging/debian build/deb/tree/
cd build/deb/tree
{
  printf 'ipu-container-toolkit (%s) unstable; urgency=medium\n\n' "$version"
  printf '  * See /usr/share/doc/ipuctl/CHANGELOG.md.\n\n'
  printf ' -- %s  %s\n' "$(sed -n 's/^Maintainer: //p' debian/control)" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")"
} >debian/changelog
# sudo and CI set variables that debhelper and the programs' build would read.
env -u PREFIX -u BINDIR -u DESTDIR -u FLAVOR DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" \
  dpkg-buildpackage --build=binary --no-sign >../build.log 2>&1 ||
  { tail -n 30 ../build.log >&2; echo "deb.sh: dpkg-buildpackage failed; all it said is in build/deb/build.log" >&2; exit 1; }
cd ..
rm -r tree
"$SOURCE/packaging/sbom.sh" ./*.deb >"ipu-container-toolkit_${version}_amd64.spdx.json"
printf 'build/deb/%s\n' *.deb *.spdx.json

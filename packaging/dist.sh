#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes the last commit as build/dist/ipu-container-toolkit-VERSION.tar.gz, with its SHA-256 beside it. The same commit
# gives the same bytes. Packages that are built from the archive have the bytes of those that are built from the commit.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "dist.sh: $1" >&2
  exit 1
}

git rev-parse --verify --quiet HEAD >/dev/null || fail 'this is no git checkout with a commit; run it in one'
[ -z "$(git status --porcelain)" ] || fail "there are changes that no commit has; commit them, or put them away with 'git stash -u'"
version=$(cat VERSION)
grep -qE "^## ${version//./\\.}(, .*)?\$" CHANGELOG.md || fail "CHANGELOG.md has no section '## $version'; write it, or correct VERSION"

name=ipu-container-toolkit-$version
rm -rf build/dist
mkdir -p build/dist
git archive --format=tar --prefix="$name/" HEAD | gzip -9 --no-name >"build/dist/$name.tar.gz"
(cd build/dist && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
printf 'build/dist/%s\n' "$name.tar.gz" "$name.tar.gz.sha256"

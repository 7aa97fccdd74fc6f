#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd accepts the units as they are installed, and knows every setting in them.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

installed=$(mktemp -d) || exit 1
trap 'rm -rf "$installed"' EXIT
mkdir "$installed/bin"
for program in ipuctl ipu-agent vipu-simulator; do install -m 0755 /bin/true "$installed/bin/$program"; done
mapfile -t units < <(files 'packaging/systemd/*')
for unit in "${units[@]}"; do
  sed "s|@BINDIR@|$installed/bin|g; s|@[A-Z]*@|/var/lib|g" "$unit" >"$installed/${unit##*/}"
done
while IFS= read -r warning; do
  finding "packaging/systemd" "${warning//"$installed/"/}"
done < <(systemd-analyze verify --man=no "${units[@]/#*\//$installed/}" 2>&1)
finish

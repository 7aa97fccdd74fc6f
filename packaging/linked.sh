#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the Debian source packages of which the programs below FOLDER contain code, as "NAME (= VERSION)", a line each:
# packaging/linked.sh O FOLDER. O is the folder of the build: its linker noted the archives for each program. What is
# compiled from headers alone, no linker sees.
set -euo pipefail
headers=(nlohmann-json3-dev libtomlplusplus-dev)
declare -A more_headers=([ipuctl]=libcli11-dev [ipu-agent]=libcli11-dev [vipu-simulator]=libcli11-dev)

die() { # MESSAGE
  echo "linked.sh: $1" >&2
  exit 1
}

# The package that has the file, which a link may name by another path.
owner() { # FILE
  local path
  path=$(realpath "$1")
  dpkg-query --search "$path" 2>/dev/null || dpkg-query --search "/usr${path#/usr}" 2>/dev/null ||
    dpkg-query --search "${path#/usr}" 2>/dev/null || die "no package has '$path': use the libraries of Debian's packages"
}

build=$1
mapfile -t programs < <(find "$2" -type f -path '*/usr/*' -perm /111 -printf '%f\n' | sort)
[ ${#programs[@]} -gt 0 ] || die "there is no program below '$2': build it first"
packages=("${headers[@]}")
for program in "${programs[@]}"; do
  # Empty: the program has nothing but our code.
  [ -e "$build/bin/$program.archives" ] || die "$build/bin/$program.archives is missing: remove $build/bin/$program, and build again"
  [ -z "${more_headers[$program]:-}" ] || packages+=("${more_headers[$program]}")
  while read -r archive; do
    found=$(owner "$archive")
    packages+=("${found%%:*}")
  done <"$build/bin/$program.archives"
done
# shellcheck disable=SC2016 # dpkg-query expands it
printf '%s\n' "${packages[@]}" | sort -u | xargs dpkg-query -W -f '${source:Package} (= ${source:Version})\n' | sort -u

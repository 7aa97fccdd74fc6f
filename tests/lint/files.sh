# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The checks of this folder source this file. It lists the project's files and reports findings.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
findings=0

# Prints the project's files that match these patterns, whether tracked or new, but not ignored ones.
files() { # PATTERN...
  git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
  done
}

finding() { # FILE:LINE MESSAGE
  echo "$1: $2"
  findings=$((findings + 1))
}

# Reads "FILE:LINE:TEXT" lines, as grep -n prints them, and reports each.
finding_each() { # MESSAGE
  local file line
  while IFS=: read -r file line _; do
    finding "$file:$line" "$1"
  done
}

finish() { [ "$findings" -eq 0 ]; }

# Makes the sources that the build generates, and prints their folder.
generated_folder() {
  local made=build/lint/gen/vipu/proto/virm.pb.h
  MAKEFLAGS='' make --no-print-directory -s O=build/lint "$made" >&2 || return 1
  echo build/lint/gen
}

# Prints the flags for the headers of other projects' libraries, as system headers, which cause no findings.
package_flags() {
  pkg-config --cflags nlohmann_json tomlplusplus sqlite3 libnl-route-3.0 grpc++ protobuf CLI11 gtest |
    sed 's/-I/-isystem /g'
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For sourcing by the checks of this folder: which files there are, and how a finding is reported.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
findings=0

# The project's files that match these patterns: tracked, or new and not ignored.
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
  make --no-print-directory -s O=build/lint "$made" >&2 || return 1
  echo build/lint/gen
}

# Where the headers of the libraries are; they are not ours to check.
package_flags() {
  pkg-config --cflags nlohmann_json tomlplusplus sqlite3 libnl-route-3.0 grpc++ protobuf CLI11 gtest |
    sed 's/-I/-isystem /g'
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints a compilation database of all C++ files: tests/lint/compile_commands.sh FOLDER COMPILER FLAG...
# Every file gets the include folders of all packages: those with which it is built, and more.
set -euo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

folder=$1
shift
read -ra packages <<<"$(package_flags)"
mapfile -t sources < <(files '*.cc')
for macro in VERSION BINDIR LIBEXECDIR SYSCONFDIR STATEDIR RUNDIR; do paths+=("-DIPU_$macro=\"\""); done
json_lines() { printf '%s\n' "$@" | jq -R . | jq -s .; }
jq -n --arg folder "$folder" --argjson sources "$(json_lines "${sources[@]}")" --argjson command "$(json_lines \
  "$@" "${packages[@]}" "${paths[@]}" '-DPROGRAM_DIR="bin"' '-DTEST_DATA_DIR="tests/data"')" \
  '[$sources[] | {directory: $folder, file: ., arguments: ($command + ["-c", .])}]'

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone: it includes what it uses.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

compile() { # HEADER
  printf '#include "%s"\n' "$1" |
    ${CXX:-g++} -std=c++20 -Wall -Wextra -Werror -DPROGRAM_DIR='""' -DTEST_DATA_DIR='""' -I. -isystem "$generated" "${flags[@]}" \
      -x c++ -fsyntax-only -
}

generated=$(generated_folder) || exit 1
read -ra flags <<<"$(package_flags)"
while IFS= read -r header; do
  compile "$header" || finding "$header:1" 'does not compile alone'
done < <(files '*.h')
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone, so it includes what it uses. A build with GROUP=1 proves this for a header that a .cc includes
# before everything else, as each x.cc must include its x.h. This check compiles the other headers.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

declare -A first proved # by .cc: its first include; by header: 1
while IFS=: read -r file text; do
  [[ $text =~ ^\ *#\ *include\ *\"([^\"]+)\" ]] || continue
  first[$file]=${BASH_REMATCH[1]}
  proved[${BASH_REMATCH[1]}]=1
done < <(files '*.cc' | xargs -r grep -Hm 1 '^ *#')

unproved=()
while IFS= read -r header; do
  own=${header%.h}.cc
  if [ -f "$own" ] && [ "${first[$own]:-}" != "$header" ]; then
    finding "$own:1" "does not include $header before everything else"
  elif [ -z "${proved[$header]:-}" ]; then
    unproved+=("$header")
  fi
done < <(files '*.h')

generated=$(generated_folder) || exit 1
read -ra packages <<<"$(package_flags)"
# shellcheck disable=SC2016 # The inner shell expands it.
compile='output=$("${@:2}" -include "$1" -x c++ /dev/null 2>&1) && exit
  printf "%s\n%s:1: does not compile alone\n" "$output" "$1"; exit 1'
# shellcheck disable=SC2086 # CXX may be several words, such as "ccache g++".
printf '%s\n' "${unproved[@]}" | xargs -r -P "$(nproc)" -I '{}' bash -c "$compile" compile '{}' ${CXX:-g++} \
  -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DPROGRAM_DIR='""' -DTEST_DATA_DIR='""' \
  -I. -isystem "$generated" "${packages[@]}" || findings=$((findings + 1))
finish

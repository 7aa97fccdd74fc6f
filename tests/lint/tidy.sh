#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the product's C++, with the build's flags as arguments: tests/lint/tidy.sh FLAG...
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

# The flags of `make tidy` name the generated sources of its own flavour, which may not exist.
generated=$(generated_folder) || exit 1
read -ra packages <<<"$(package_flags)"
files 'base/*.cc' 'netns/*.cc' 'vipu/*.cc' 'hook/*.cc' 'cmd/*.cc' |
  xargs -r -P "$(nproc)" -I '{}' clang-tidy --quiet --warnings-as-errors='*' '{}' -- \
    -std=c++20 -DIPU_VERSION='""' -DIPU_BINDIR='""' -DIPU_LIBEXECDIR='""' -DIPU_SYSCONFDIR='""' \
    -DIPU_STATEDIR='""' -DIPU_RUNDIR='""' "$@" -isystem "$generated" "${packages[@]}" \
    2> >(grep -vE "^[0-9]+ warnings? generated" >&2)

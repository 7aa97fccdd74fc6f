#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C++ is formatted as clang-format would do it.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

files '*.cc' '*.h' | xargs -r -P "$(nproc)" -n 40 clang-format --dry-run -Werror

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The format of C++ is clang-format's.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

files '*.cc' '*.h' | xargs -r -P "$(nproc)" -n 40 clang-format --dry-run -Werror

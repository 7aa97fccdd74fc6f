#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All scripts pass shellcheck.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

files '*.sh' '*.bash' '*.bats' .ci/run | xargs -r -P "$(nproc)" -n 8 shellcheck --external-sources

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A full expression has at most one TRY, and a braced initializer none: if TRY returns from the middle of one, g++ leaks
# the temporaries of its other parts.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

while IFS= read -r line; do
  finding "${line%% *}" "${line#* }"
done < <(files '*.cc' '*.h' | xargs -r perl -I tests/lint tests/lint/try.pl)
finish

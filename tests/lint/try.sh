#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# At most one TRY in a full expression, and none in a braced initializer: g++ leaks the temporaries of
# the other part when TRY returns from the middle of one.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

while IFS= read -r line; do
  finding "${line%% *}" "${line#* }"
done < <(files '*.cc' '*.h' | xargs -r perl -I tests/lint tests/lint/try.pl)
finish

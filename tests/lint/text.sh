#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All text files have the licence line, clean line ends and white space, and no path or host of one developer's machine.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

# Documents, data and one-line files carry no licence line.
mapfile -t licensed < <(files '*.cc' '*.h' '*.proto' '*.sh' '*.bash' '*.bats' '*.pl' '*.mk' '*.toml' '*.conf' \
  Makefile .ci/run .clang-tidy 'man/*.[0-9]')
finding_each 'has no SPDX-License-Identifier in its first two lines' < <(
  printf '%s:1\n' "${licensed[@]}" |
    grep -vxFf <(awk 'FNR <= 2 && /SPDX-License-Identifier: Apache-2.0$/ { print FILENAME ":1" }' "${licensed[@]}")
)

# Files under tests/data may have any form, because they are input.
mapfile -t all < <(files | grep -v '^tests/data/')
finding_each 'white space at the end of the line' < <(grep -HInE '[[:blank:]]+$' "${all[@]}")
finding_each 'carriage return' < <(grep -HIn $'\r' "${all[@]}")
finding_each 'tab' < <(printf '%s\n' "${all[@]}" | grep -vE '(^|/)Makefile$|\.mk$|/debian/rules$' | xargs -r grep -HIn $'\t')
finding_each 'no newline at the end of the file' < <(
  perl -ne 'if (eof) { print "$ARGV:$.:\n" if !/\n\z/; close ARGV }' "${all[@]}"
)

finding_each 'a path of one machine' < <(grep -HInE '(^|[^[:alnum:]_./$}-])/(work|home)/[[:alnum:]]' "${all[@]}")
finding_each 'a host of one network' < <(
  grep -HInE '\b(artifactory|nexus|mirror|proxy|pypi|registry)[[:alnum:]-]*(\.[[:alnum:]-]+)+(:[0-9]+)?/' "${all[@]}"
)
finish

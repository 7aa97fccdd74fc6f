#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SECURITY.md lists the attacks that tests/attack carries out, and no others.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

listed() { sed -n '/^## Attacks that are tried/,$s/^- //p' SECURITY.md | sort; }
tried() { files 'tests/attack/*.bats' | xargs sed -n 's/^@test "attack: \(.*\)" {.*/\1/p' | sort; }

while IFS= read -r attack; do
  finding SECURITY.md:1 "does not list the attack '$attack'"
done < <(comm -13 <(listed) <(tried))
while IFS= read -r attack; do
  finding SECURITY.md:1 "lists an attack that no test carries out: '$attack'"
done < <(comm -23 <(listed) <(tried))
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# man formats all manual pages without a warning, and `man -k ipu` finds them.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

while IFS= read -r page; do
  lexgrog "$page" | grep -qi ipu || finding "$page:1" "man -k ipu would not find it: write IPU in the line below .SH NAME"
  while IFS= read -r warning; do
    finding "$page:1" "$warning"
  done < <(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -Tutf8 -l -Z "$page" 2>&1 >/dev/null)
done < <(files 'man/*.[0-9]')
finish

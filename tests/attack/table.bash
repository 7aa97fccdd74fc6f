# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# Prints the table of the attacks that were carried out in this run, as comments. Nothing if none was.
print_attacks() { # FILE
  [ -f "$1" ] || return 0
  echo '# attack | CVE class | carried out from | without the defence | with it | test'
  sort -t $'\t' -k 6,6V "$1" | sed 's/\t/ | /g; s/^/# /'
}

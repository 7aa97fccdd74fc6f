# SPDX-License-Identifier: Apache-2.0
# When a revision of etcd was, by the times that clock.sh put there: for use before other scripts that
# read history.jq's lines: -f clock.awk -f SCRIPT HISTORY pass=2 HISTORY.

BEGIN { FS = OFS = "\t"; never = "9999999999" }

!pass {
  if ($2 == "clock") { clocks++; revision[clocks] = $1; time[clocks] = $3 }
  next
}

# The first clock of a revision above this one; clocks + 1 if there is none.
function first_above(wanted,    low, high, middle) {
  low = 1; high = clocks + 1
  while (low < high) {
    middle = int((low + high) / 2)
    if (revision[middle] > wanted) high = middle; else low = middle + 1
  }
  return low
}

function earliest(wanted,    before) {
  before = first_above(wanted) - 1
  return before < 1 ? 0 : time[before]
}

function latest(wanted,    above) {
  above = first_above(wanted)
  return above < clocks ? time[above + 1] : never
}

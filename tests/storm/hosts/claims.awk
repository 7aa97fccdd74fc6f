# SPDX-License-Identifier: Apache-2.0
# When each claim of a GCD was in etcd, from its history. Prints the revisions FROM and UNTIL, the claim's id, "GCD PARTITION
# N", and the times between which it was there at most: see clock.sh.

BEGIN { FS = OFS = "\t" }

$2 == "clock" { clocks++; revision[clocks] = $1; time[clocks] = $3 }
$2 == "claim" && !($3 in open) { rows++; open[$3] = rows; from[rows] = $1; key[rows] = $3; gcd[rows] = $4; gcds[rows] = $5 }
$2 == "unclaim" && $3 in open { until[open[$3]] = $1; delete open[$3] }

# The first clock of a revision above this one; clocks + 1 if there is none.
function first_above(wanted,    low, high, middle) {
  low = 1; high = clocks + 1
  while (low < high) {
    middle = int((low + high) / 2)
    if (revision[middle] > wanted) high = middle; else low = middle + 1
  }
  return low
}

END {
  for (i = 1; i <= rows; ++i) {
    n = split(key[i], part, "/")
    before = first_above(from[i]) - 1
    earliest = before < 1 ? 0 : time[before]
    latest = "9999999999"
    if (!(i in until)) until[i] = "9999999999"
    else if (first_above(until[i]) < clocks) latest = time[first_above(until[i]) + 1]
    for (g = gcd[i]; g < gcd[i] + gcds[i]; ++g) print from[i], until[i], part[n], "GCD " part[n - 2] " " g, earliest, latest
  }
}

# SPDX-License-Identifier: Apache-2.0
# When each key of a KIND was in etcd: awk -v kind=KIND -f clock.awk -f claims.awk. Prints the revisions FROM and UNTIL, the
# claim's id, "GCD PARTITION N", and the times between which it was there at most. A grant has no GCD, and counts as one.

$2 == kind && !($3 in open) {
  rows++; open[$3] = rows; from[rows] = $1; key[rows] = $3
  gcd[rows] = kind == "claims" ? $4 : 0
  gcds[rows] = kind == "claims" ? $5 : 1
}
$2 == "no-" kind && $3 in open { until[open[$3]] = $1; delete open[$3] }

END {
  for (i = 1; i <= rows; ++i) {
    n = split(key[i], part, "/")
    last = i in until ? latest(until[i]) : never
    if (!(i in until)) until[i] = never
    for (g = gcd[i]; g < gcd[i] + gcds[i]; ++g) print from[i], until[i], part[n], "GCD " part[n - 2] " " g, earliest(from[i]), last
  }
}

# SPDX-License-Identifier: Apache-2.0
# Prints each request within its tenant's guaranteed share that was refused because others wait, though all who waited
# then borrowed: awk -f clock.awk -f held.awk -f guaranteed.awk HISTORY pass=2 log/* pass=3 HISTORY.
# Only what holds at every
# revision that may have been while the command ran is judged. Tenants with nothing guaranteed are those that surely borrow.

pass == 2 && $3 == "run" && $5 != 0 && $6 ~ /others wait for/ && $7 ~ /^[0-9]/ {
  queries++
  name[queries] = $4
  n = split($7, word, " ")
  ipus[queries] = word[1]
  tenant[queries] = word[n]
  window($1, $2)
  next
}
pass == 2 { next }

$1 != now { judge(); now = $1 }
{ hold() }
$2 == "queue" && $3 ~ /\/queue\/[^\/]*\/\*\// { waits[$3] = $4; container[$3] = $6; aged[$3] = $7 }
$2 == "no-queue" { delete waits[$3] }

END {
  judge()
  for (q = 1; q <= queries; ++q)
    if (!(q in explained) && q in seen)
      print "request " name[q] " of tenant " tenant[q] " for " ipus[q] " IPUs was refused for those who borrow, between revisions " first[q] " and " last[q]
}

# Sets FIRST and LAST of the newest query to the revisions that were at most between two times.
function window(begin, end,    i) {
  first[queries] = 0
  for (i = 1; i < clocks && time[i + 1] + 0 <= begin + 0; ++i) first[queries] = revision[i]
  for (i = clocks; i > 1 && time[i - 1] + 0 >= end + 0; --i) {}
  last[queries] = revision[i]
  if (time[i] + 0 < end + 0) last[queries] = 1e15
}

# The state after revision "now" was there until the next one.
function judge(    q, key) {
  while (oldest + 1 <= queries && last[oldest + 1] < now) oldest++
  for (q = oldest + 1; q <= queries; ++q) {
    if (q in explained || now < first[q] || now > last[q]) continue
    seen[q]
    if (held[tenant[q]] + ipus[q] > guaranteed[tenant[q]]) { explained[q]; continue }
    for (key in waits)
      if (container[key] != name[q] && (guaranteed[waits[key]] > 0 || aged[key] == "true")) { explained[q]; break }
  }
}

# SPDX-License-Identifier: Apache-2.0
# Prints what a fenced host had at the controller: awk -f left.awk FENCED CONTROLLER, with the lines of fences.awk and
# controller.awk.

BEGIN { FS = OFS = "\t" }

FILENAME == ARGV[1] { fences++; from[fences] = $1; until[fences] = $2; host[fences] = $3; warm[fences] = $4 " "; next }

{
  for (i = 1; i <= fences; ++i) {
    if (index($3, "-" host[i] "-") == 0 && index(warm[i], " " $3 " ") == 0) continue
    if (from[i] + 0 >= until[i] + 0 || $1 + 0 >= until[i] + 0 || $2 + 0 <= from[i] + 0) continue
    if (!((i, $3) in is_told)) print "host " host[i] " was fenced from " from[i] " until " until[i] ", and its partition " $3 " was there until " $2
    is_told[i, $3]
  }
}

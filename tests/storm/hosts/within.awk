# SPDX-License-Identifier: Apache-2.0
# Prints what somebody had while it was not given: awk -f within.awk GIVEN HAD. The lines of both have FROM, UNTIL, who, and
# what; those of HAD also the container.

BEGIN { FS = OFS = "\t" }

FILENAME == ARGV[1] {
  n = ++count[$3, $4]
  from[$3, $4, n] = $1
  until[$3, $4, n] = $2
  next
}

{
  for (i = 1; i <= count[$3, $4]; ++i)
    if (from[$3, $4, i] + 0 <= $1 + 0 && until[$3, $4, i] + 0 >= $2 + 0) next
  print $4 " of " $3 " by container " $5 " from " $1 " until " $2
}

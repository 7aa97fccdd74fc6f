# SPDX-License-Identifier: Apache-2.0
# Prints what two containers had at the same time: sort -t TAB -k 4,4 -k 1,1n held/* | awk -f shared.awk (see starts.sh).

BEGIN { FS = "\t" }

$4 == thing && $1 < until { print thing " was had by " name " until " until ", and by " $3 " from " $1 }

$4 != thing || $2 > until { thing = $4; until = $2; name = $3 }

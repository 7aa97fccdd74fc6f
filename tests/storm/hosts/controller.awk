# SPDX-License-Identifier: Apache-2.0
# When each partition had each IPU, from the simulator's log. Prints FROM, UNTIL, partition, "IPU N".
# A simulator that starts says first what its partitions hold: what it does not name then, it held until it ended.

BEGIN { FS = OFS = "\t" }

function ends(key, time,    part) {
  split(key, part, SUBSEP)
  print from[key], time, part[1], "IPU " part[2]
  delete from[key]
}

# Those that were not named after the start at this time.
function end_unnamed(    key) {
  for (key in unnamed) ends(key, started)
  split("", unnamed)
}

$2 == "start" {
  end_unnamed()
  started = $1
  for (key in from) unnamed[key]
}
$2 == "hold" {
  key = $3 SUBSEP $4
  if (!(key in from)) from[key] = $1
  delete unnamed[key]
}
$2 == "call" || $2 == "free" { end_unnamed() }
$2 == "free" && ($3, $4) in from { ends($3 SUBSEP $4, $1) }

END {
  end_unnamed()
  for (key in from) ends(key, "9999999999")
}

# SPDX-License-Identifier: Apache-2.0
# What containers had, from the lines of worker.sh with one thing each, by time. A container had all that it was seen with
# until it was ended or its host's time ended: it lost power, or another one began to fence it. Prints FROM, UNTIL, name, thing, lease, partition.

BEGIN { FS = OFS = "\t" }

$2 == "take" { rows++; from[rows] = $1; name[rows] = $3; boot[$3] = $4; lease[rows] = $5; partition[rows] = $6; thing[rows] = $7 }
$2 == "give" { until[$3] = $1 }
$2 == "ended" && !($4 in ended) { ended[$4] = $1 }

END {
  for (i = 1; i <= rows; ++i) {
    end = "9999999999"
    if (name[i] in until) end = until[name[i]]
    if (boot[name[i]] in ended && ended[boot[name[i]]] + 0 < end + 0) end = ended[boot[name[i]]]
    if (from[i] + 0 < end + 0) print from[i], end, name[i], thing[i], lease[i], partition[i]
  }
}

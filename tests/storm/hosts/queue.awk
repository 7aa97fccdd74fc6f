# SPDX-License-Identifier: Apache-2.0
# Prints which partition took an IPU ahead of a request for 64 IPUs that came before it: awk -f queue.awk ARRIVALS
# CONTROLLER. The lines of ARRIVALS have a lease and its time; those of CONTROLLER are controller.awk's. Hosts take the
# time before they have a place in the queue, so who comes within a second of another may be before it.

BEGIN { FS = OFS = "\t" }

FNR == NR { arrival[substr($1, 1, 12)] = $2 + 0; next }

# The name ends with the first digits of the lease.
$3 ~ /^(c-|f-.*-.*-)/ {
  name = $3
  lease = substr(name, length(name) - 11)
  if (!(lease in arrival)) next
  came[name] = arrival[lease]
  if (!(name in served) || $1 + 0 < served[name]) served[name] = $1 + 0
  ipus[name]++
  has[name, $4]
  thing[name, ipus[name]] = $4
}

END {
  for (large in ipus) {
    if (ipus[large] < 64) continue
    for (other in ipus) {
      if (came[other] <= came[large] + 1 || served[other] >= served[large]) continue
      for (i = 1; i <= ipus[other]; ++i) {
        if (!((large, thing[other, i]) in has)) continue
        print other " took " thing[other, i] " at " served[other] " ahead of " large ", which came at " came[large]
        break
      }
    }
  }
}

# SPDX-License-Identifier: Apache-2.0
# Prints each tenant that had more than its limit at a revision of etcd: awk -f held.awk -f limits.awk.

BEGIN { FS = OFS = "\t" }

# One transaction may give and take.
$1 != revision { judge(); revision = $1 }
{ hold() }
END { judge() }

function judge(    tenant) {
  for (tenant in limit) {
    if (held[tenant] > limit[tenant] && !(tenant in is_above))
      print "tenant " tenant " had " held[tenant] " of at most " limit[tenant] " IPUs at revision " revision
    if (held[tenant] > limit[tenant]) is_above[tenant]; else delete is_above[tenant]
  }
}

# SPDX-License-Identifier: Apache-2.0
# What tenants have at a revision, as the product counts it: IPUs of grants, and of claimed GCDs, each of which counts once for
# a tenant. For use before other scripts that read history.jq's lines: they call hold() with each line, and read held[].

function last_of(path,    n, part) {
  n = split(path, part, "/")
  return part[n]
}

function partition_of(path,    n, part) {
  n = split(path, part, "/")
  return part[n - 2]
}

function add(key, tenant, ipus) {
  tenant_of[key] = tenant
  ipus_of[key] = ipus
  held[tenant] += ipus
}

function take_back(key,    g, what) {
  if (!(key in tenant_of)) return
  held[tenant_of[key]] -= ipus_of[key]
  for (g = first_gcd[key]; g < first_gcd[key] + number_of_gcds[key]; ++g) {
    what = tenant_of[key] SUBSEP partition_of(key) SUBSEP g
    if (--users[what] == 0) held[tenant_of[key]] -= gcd_size[partition_of(key)]
  }
  delete tenant_of[key]
  delete ipus_of[key]
  delete first_gcd[key]
  delete number_of_gcds[key]
}

function hold(    g) {
  if ($2 == "tenants") { guaranteed[last_of($3)] = $4; limit[last_of($3)] = $5 }
  else if ($2 == "record") { n_parts = split($3, parts, "/"); gcd_size[parts[n_parts - 1]] = $4 / $5 }
  else if ($2 == "no-grants" || $2 == "no-claims") take_back($3)
  else if ($2 == "grants") { take_back($3); add($3, $5, $4) }
  else if ($2 == "claims") {
    take_back($3)
    if ($8 != "") return # not a container's
    add($3, $6, 0)
    first_gcd[$3] = $4
    number_of_gcds[$3] = $5
    for (g = $4; g < $4 + $5; ++g)
      if (users[$6, partition_of($3), g]++ == 0) held[$6] += gcd_size[partition_of($3)]
  }
}

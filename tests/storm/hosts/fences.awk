# SPDX-License-Identifier: Apache-2.0
# What a fenced host had or got, by etcd's history: awk -v fenced=FILE -f clock.awk -f fences.awk. Prints each grant and claim
# that a host got after its fence began, and what was left of it when the fence was finished. FENCED gets the times
# between which a fence was finished and not forgotten for certain, the host, and the warm partitions that it had.

function host_of(    field) {
  field = $2 == "grants" ? 6 : $2 == "claims" ? 7 : $2 == "queue" ? 8 : $2 == "warm" ? 5 : $2 == "record" ? 6 : 0
  return field ? $field : ""
}

$2 ~ /^no-/ { delete of[substr($2, 4), $3] }
$2 == "fences" {
  n = split($3, part, "/"); host = part[n]
  begun[host]
  if (!(host in finished)) note_warm(host)
  if ($4 == "true" && !(host in finished)) { finished[host] = $1; report_left(host) }
}
$2 == "no-fences" {
  n = split($3, part, "/"); host = part[n]
  if (host in finished) print latest(finished[host]), earliest($1), host, warm_of[host] >fenced
  delete begun[host]; delete finished[host]; delete warm_of[host]
}
$2 ~ /^(warm|record)$/ && host_of() == "" { delete of[$2, $3] } # nobody makes or removes it any more
host_of() != "" {
  if ($2 ~ /^(grants|claims)$/ && host_of() in begun && !(($2, $3) in of))
    print "host " host_of() " got " $3 " at revision " $1 ", after its fence began"
  of[$2, $3] = host_of()
  if ($2 == "grants") partition[$2, $3] = $7
}

END { for (host in finished) print latest(finished[host]), never, host, warm_of[host] >fenced }

function note_warm(host,    key) {
  for (key in of)
    if (of[key] == host && partition[key] != "" && index(warm_of[host], partition[key]) == 0) warm_of[host] = warm_of[host] " " partition[key]
}

function report_left(host,    key, part) {
  for (key in of) {
    if (of[key] != host) continue
    split(key, part, SUBSEP)
    print "host " host " still has " part[2] " at revision " finished[host] ", when its fence is finished"
  }
}

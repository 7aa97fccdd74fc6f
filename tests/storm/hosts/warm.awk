# SPDX-License-Identifier: Apache-2.0
# The life of each warm partition by etcd's history: made, idle, then taken or removed, and never warm again:
# awk -v idle=FILE -v taken=FILE -f clock.awk -f warm.awk. Prints what else happened. IDLE gets the times at which one was idle
# for certain, with the columns of within.awk; TAKEN when one was taken at the latest, its name, and the lease.

function name_of(path,    n, part) {
  n = split(path, part, "/")
  return part[n]
}

# One transaction removes the key of the partition and makes the grant, in any order.
$1 != revision_now { settle(); revision_now = $1 }
$2 == "warm" { before(name_of($3)); phase[name_of($3)] = $4 }
$2 == "no-warm" { before(name_of($3)); delete phase[name_of($3)] }
$2 == "grants" && $7 != "" { before($7); granted[$7, $3]; taker[$3] = $7; changed[$7] = $3 }
$2 == "no-grants" && $3 in taker { before(taker[$3]); delete granted[taker[$3], $3]; delete taker[$3] }

END {
  settle()
  for (name in since) print latest(since[name]), never, name, "idle", "-" >idle
}

# What was true of the partition before this revision.
function before(name) {
  if (!(name in touched)) { touched[name]; was[name] = phase[name] }
  if (phase[name] == "") delete phase[name]
}

function settle(    name, key, had) {
  for (name in touched) {
    had = 0
    for (key in taker) if (taker[key] == name) had++
    if (had > 1) print "partition " name " was had by two grants at revision " revision_now
    if (had > 0 && name in phase) print "partition " name " was a grant's, and " phase[name] ", at revision " revision_now
    if (name in changed) {
      if (was[name] != "idle" && lease_of[name] != changed[name])
        print "partition " name " was taken at revision " revision_now ", but was " (was[name] == "" ? "not there" : was[name])
      lease_of[name] = changed[name]
      print latest(revision_now), name, name_of(changed[name]) >taken
    }
    if (was[name] == "" && phase[name] != "" && name in ended) print "partition " name " is " phase[name] " again at revision " revision_now
    if (was[name] != "idle" && was[name] != "making" && phase[name] == "idle")
      print "partition " name " became idle at revision " revision_now ", but was " (was[name] == "" ? "not there" : was[name])
    if (was[name] != "" && phase[name] == "") ended[name]
    if (phase[name] == "idle" && !(name in since)) since[name] = revision_now
    if (phase[name] != "idle" && name in since) {
      print latest(since[name]), earliest(revision_now), name, "idle", "-" >idle
      delete since[name]
    }
    if (phase[name] == "") delete phase[name]
  }
  split("", touched)
  split("", changed)
}

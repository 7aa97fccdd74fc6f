# SPDX-License-Identifier: Apache-2.0
# Sorts the outcomes of the storm of starts: awk -f outcomes.awk -f starts.awk kills log/* (see starts.sh,
# killer.sh). CLASS is worked, killed (the wrapper or hook of this start was killed), refused (it did not wait, and the
# product says why it did not start), or unexpected.

FILENAME == "kills" {
  # Until its execve, a client has the name of the start that makes it.
  is_client = $5 != "own" && ($2 == "ipu-vipu-client" || $2 == "ipu-container-s")
  if ($5 == "own") own[$4]
  else if (is_client) client[$4]
  if (is_client && $4 == "-") unknown[++unknowns] = $1
  next
}

$3 == "start" { lines++; line[lines] = $0 }

# Whether a client whose container the killer could not tell was killed in this time.
function was_one_killed(begin, end,    i) {
  for (i = 1; i <= unknowns; ++i) if (begin <= unknown[i] && unknown[i] <= end) return 1
  return 0
}

function class_of(field,    text, id, was_away) {
  text = field[6]; id = field[9]
  was_away = was_cut_off(field[1], field[2])
  if (field[5] == 0) return "worked"
  if (field[5] == 124) return "unexpected" # no end
  if (id in own) return "killed"
  if (field[8] != "-" || text !~ /ipu: /) return "unexpected"
  if (text ~ /ipu: pool "[^"]*" has (no free block of|a free block of [0-9]+ IPUs, but its controller does not give it now)|ipu: others wait for/) return "refused"
  if (text ~ /ipu: V-IPU controller [^ ]*: .*: cannot be reached/ && was_away) return "refused"
  if (text ~ /ipu: V-IPU controller [^ ]*: .*: ipu-vipu-client was killed/ &&
      (id in client || was_one_killed(field[1], field[2]))) return "refused"
  return "unexpected"
}

function action_of(field) { return field[8] == "-" ? "start" : "start with IPU_WAIT" }

# SPDX-License-Identifier: Apache-2.0
# Sorts the outcomes of the storm of starts: awk -f outcomes.awk -f starts.awk kills log/* (see starts.sh,
# killer.sh). CLASS is worked, killed (the wrapper or hook of this start was killed), refused (it did not wait, and the
# product says why it did not start), or unexpected.

FILENAME == "kills" {
  if ($5 == "own") own[$4]
  else if ($2 == "ipu-vipu-client") client[$4]
  next
}

$3 == "start" { lines++; line[lines] = $0 }

function class_of(field,    text, id, was_away) {
  text = field[6]; id = field[9]
  was_away = was_cut_off(field[1], field[2])
  if (field[5] == 0) return "worked"
  if (field[5] == 124) return "unexpected" # no end
  if (id in own) return "killed"
  if (field[8] != "-" || text !~ /ipu: /) return "unexpected"
  if (text ~ /ipu: pool "[^"]*" has no free block of|ipu: others wait for/) return "refused"
  if (text ~ /ipu: V-IPU controller [^ ]*: .*: cannot be reached/ && was_away) return "refused"
  if (text ~ /ipu: V-IPU controller [^ ]*: .*: ipu-vipu-client was killed/ && id in client) return "refused"
  return "unexpected"
}

function action_of(field) { return field[8] == "-" ? "start" : "start with IPU_WAIT" }

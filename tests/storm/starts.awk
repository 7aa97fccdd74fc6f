# SPDX-License-Identifier: Apache-2.0
# Sorts the outcomes of the storm of starts: awk -f starts.awk kills log/* (see starts.sh, killer.sh). Prints one line a
# group: "CLASS<tab>COUNT<tab>ACTION<tab>TEXT". CLASS is worked, killed (the wrapper or hook of this start was killed),
# refused (it did not wait, and the product says why it did not start), or unexpected.

BEGIN { FS = OFS = "\t" }

FILENAME == "kills" {
  if ($5 == "own") own[$4]
  else if ($2 == "ipu-vipu-client") client[$4]
  next
}

$3 == "link" { links++; link_begin[links] = $1; link_end[links] = $2 }

$3 == "start" { lines++; line[lines] = $0 }

# Whether the controller was away while the start was made.
function was_cut_off(begin, end,    i) {
  for (i = 1; i <= links; ++i) {
    if (link_begin[i] <= end && link_end[i] >= begin) return 1
  }
  return 0
}

function class_of(begin, end, status, text, wait, id) {
  if (status == 0) return "worked"
  if (status == 124) return "unexpected" # no end
  if (id in own) return "killed"
  if (wait != "-" || text !~ /ipu: /) return "unexpected"
  if (text ~ /ipu: pool "[^"]*" has no free block of|ipu: others wait for/) return "refused"
  if (text ~ /ipu: V-IPU controller [^ ]*: .*: cannot be reached/ && was_cut_off(begin, end)) return "refused"
  if (text ~ /ipu: V-IPU controller [^ ]*: .*: ipu-vipu-client was killed/ && id in client) return "refused"
  return "unexpected"
}

# What differs between two errors of the same kind is left out.
function kind_of(text) {
  gsub(/worker[0-9]+-[0-9]+/, "NAME", text)
  gsub(/[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]+/, "ID", text)
  sub(/^ID /, "", text)
  sub(/; there would be one without [^;]*;/, ";", text)
  sub(/the first[^)]*\)/, "...)", text)
  gsub(/[0-9]+/, "N", text)
  sub(/requests are/, "request is", text)
  return text
}

END {
  for (i = 1; i <= lines; ++i) {
    split(line[i], field, "\t")
    class = class_of(field[1], field[2], field[5], field[6], field[8], field[9])
    text = class == "worked" ? "" : kind_of(field[6])
    if (field[5] != 0 && text == "") text = "exit status " field[5]
    count[class OFS (field[8] == "-" ? "start" : "start with IPU_WAIT") OFS text]++
  }
  for (group in count) {
    split(group, field, "\t")
    print field[1], count[group], field[2], field[3]
  }
}

# SPDX-License-Identifier: Apache-2.0
# What errors.awk and starts.awk share: both read log/*, whose lines are "BEGIN END ACTION NAME STATUS TEXT ...", count the
# outcomes of a kind, and print one line a group: "CLASS<tab>COUNT<tab>ACTION<tab>TEXT". Each says which lines count
# (line[], lines), the class of one (class_of) and its action (action_of).

BEGIN {
  FS = OFS = "\t"
  # An id of at least 12 digits; mawk knows no {12,}.
  for (i = 0; i < 12; ++i) id = id "[0-9a-f]"
  id = id "[0-9a-f]*"
}

$3 == "link" { links++; link_begin[links] = $1; link_end[links] = $2 }

# Whether the controller was out of reach for a part of this time.
function was_cut_off(begin, end,    i) {
  for (i = 1; i <= links; ++i) {
    if (link_begin[i] <= end && link_end[i] >= begin) return 1
  }
  return 0
}

# What differs between two errors of the same kind is left out.
function kind_of(text) {
  gsub(/worker[0-9]+-[0-9]+/, "NAME", text)
  gsub(id, "ID", text)
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
    class = class_of(field)
    text = class == "worked" ? "" : kind_of(field[6])
    if (field[5] != 0 && text == "") text = "exit status " field[5]
    count[class OFS action_of(field) OFS text]++
  }
  for (group in count) {
    split(group, field, "\t")
    print field[1], count[group], field[2], field[3]
  }
}

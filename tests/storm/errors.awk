# SPDX-License-Identifier: Apache-2.0
# Sorts the outcomes of the storm's commands: awk -f errors.awk hurt/* log/* (see worker.sh). Prints one line
# a group: "CLASS<tab>COUNT<tab>ACTION<tab>TEXT". CLASS is worked, refused (there was no room), consequence (of
# what the storm itself had done to the container or to the link), or unexpected.

BEGIN {
  FS = OFS = "\t"
  # An id of at least 12 digits; mawk knows no {12,}.
  for (i = 0; i < 12; ++i) id = id "[0-9a-f]"
  id = id "[0-9a-f]*"
}

# hurt/NAME: one time a line
FILENAME ~ /^hurt\// {
  name = substr(FILENAME, 6)
  hurts[name]++
  hurt_at[name, hurts[name]] = $1
  next
}

$3 == "link" { links++; link_begin[links] = $1; link_end[links] = $2 }

{ lines++; line[lines] = $0 }

# Whether something else than this command hurt the container before its end.
function was_hurt(name, begin, end,    i) {
  for (i = 1; i <= hurts[name]; ++i) {
    if (hurt_at[name, i] <= end && hurt_at[name, i] != begin) return 1
  }
  return 0
}

# Whether the link to the controller was down while the command ran.
function was_cut_off(begin, end,    i) {
  for (i = 1; i <= links; ++i) {
    if (link_begin[i] <= end && link_end[i] >= begin) return 1
  }
  return 0
}

function class_of(begin, end, action, name, status, text) {
  if (status == 0) return "worked"
  if (status == 124) return "unexpected" # no end
  if (text ~ /ipu: pool "[^"]*" has no free block of|ipu: others wait for|ipu: waited [0-9]+ s for|: all [0-9]+ addresses .* are taken/) {
    return "refused"
  }
  if (text ~ /cannot be reached: /) return was_cut_off(begin, end) ? "consequence" : "unexpected"
  if (was_hurt(name, begin, end)) {
    # Docker has many words for it. The product's own are no consequence, but for these.
    return text !~ /ipu|hook/ || text ~ /ended while it was being attached/ ? "consequence" : "unexpected"
  }
  # Chosen before it was there, or not in the state that this takes.
  return action !~ /^run/ && text ~ /No such container|not running|is not paused|is already paused/ ? "consequence" : "unexpected"
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
    class = class_of(field[1], field[2], field[3], field[4], field[5], field[6])
    text = class == "worked" ? "" : kind_of(field[6])
    if (field[5] != 0 && text == "") text = "exit status " field[5]
    count[class OFS field[3] OFS text]++
  }
  for (group in count) {
    split(group, field, "\t")
    print field[1], count[group], field[2], field[3]
  }
}

# SPDX-License-Identifier: Apache-2.0
# Sorts the outcomes of the storm's commands: awk -f outcomes.awk -f errors.awk hurt/* log/* (see worker.sh). CLASS is
# worked, refused (there was no room), consequence (of what the storm itself had done to the container or to the link),
# or unexpected.

# hurt/NAME: one time a line
FILENAME ~ /^hurt\// {
  name = substr(FILENAME, 6)
  hurts[name]++
  hurt_at[name, hurts[name]] = $1
  next
}

{ lines++; line[lines] = $0 }

# Whether something else than this command hurt the container before its end.
function was_hurt(name, begin, end,    i) {
  for (i = 1; i <= hurts[name]; ++i) {
    if (hurt_at[name, i] <= end && hurt_at[name, i] != begin) return 1
  }
  return 0
}

function class_of(field,    begin, end, action, text) {
  begin = field[1]; end = field[2]; action = field[3]; text = field[6]
  if (field[5] == 0) return "worked"
  if (field[5] == 124) return "unexpected" # no end
  if (text ~ /ipu: pool "[^"]*" has (no free block of|a free block of [0-9]+ IPUs, but its controller does not give it now)|ipu: others wait for|ipu: waited [0-9]+ s for|: all [0-9]+ addresses .* are taken/) {
    return "refused"
  }
  if (text ~ /cannot be reached: /) return was_cut_off(begin, end) ? "consequence" : "unexpected"
  if (was_hurt(field[4], begin, end)) {
    # Docker has many words for it. The product's own are no consequence, but for these.
    return text !~ /ipu|hook/ || text ~ /ended while it was being attached/ ? "consequence" : "unexpected"
  }
  # Chosen before it was there, or not in the state that this takes.
  return action !~ /^run/ && text ~ /No such container|not running|is not paused|is already paused/ ? "consequence" : "unexpected"
}

function action_of(field) { return field[3] }

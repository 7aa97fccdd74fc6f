# SPDX-License-Identifier: Apache-2.0
# Sorts the outcomes of the storm's commands: awk -f outcomes.awk -f hosts/errors.awk log/troubles log/* (see worker.sh,
# operator.sh and troubles.bash). CLASS is worked, killed (by its own worker), refused (the product says why it does not do
# that now), consequence (of a trouble at that time), or unexpected. Each error is one line. With crowded=1, there are far
# more workers than processors: then a call may also exceed its time without a trouble.

FILENAME == "log/troubles" && !seen[FNR]++ {
  troubles++
  trouble_begin[troubles] = $1; trouble_end[troubles] = $2; trouble_kind[troubles] = $3; trouble_what[troubles] = $4
  next
}
FILENAME == "log/troubles" { next }

{ lines++; line[lines] = $0 FS FILENAME }

# Whether there was a trouble of one of these kinds, or a moment before: etcd may choose a leader for some seconds. Without
# HOST, whatever host had it.
function was_trouble(kinds, begin, end, host,    i) {
  for (i = 1; i <= troubles; ++i) {
    if (host != "" && trouble_kind[i] ~ /cut|fence|unplug/ && trouble_what[i] != host) continue
    if (trouble_kind[i] ~ kinds && trouble_begin[i] <= end && trouble_end[i] + 5 >= begin) return 1
  }
  return 0
}

function is_refusal(action, text) {
  if (text ~ /^(ipu|ipuctl): (pool '[^']*': )?partition '[^']*' of pool '[^']*' (is being (made|removed) by host|may be another host's, because its (creation|removal) here was cut short|is half removed: its removal)/) return 1
  if (action == "run") {
    if (text ~ /^ipu: tenant '[^']*' (has [0-9]+ of at most [0-9]+ IPUs|has borrowed [0-9]+ IPUs for longer than|may have at most [0-9]+ IPUs)/) return 1
    if (text ~ /^ipu: partition '[^']*' was changed by another process/) return 1
    return text ~ /^ipu: (pool ['"][^'"]*['"] has (no free block|no partition|a free block of [0-9]+ IPUs, but its controller does not give it now)|others wait for|waited [0-9]+ s for|GCD [0-9]+ of partition '[^']*' is in use|partition '[^']*' (of pool '[^']*' )?(is in use|has no free)|the fleet has no partition)/
  }
  # A request that the fenced host made before its links failed came to the controller after the fence: its own gc removes it.
  if (action == "forget" && text ~ /^ipuctl: host [0-9a-f]+ still has partition c-/) return 1
  if (text ~ /^ipuctl: V-IPU controller [^ ]*: submit '[^']*': no capacity: /) return 1
  return text ~ /^ipuctl: (the fleet already has|another host has made partition|the fleet has no partition|pool '[^']*' (has no|already has a?) ?partition|partition '[^']*' (is in use|already exists|was changed by another process))/
}

# Some have a line for each thing that they cannot do, and all others have one line.
function class_of(field,    action, text, part, n, i, class) {
  action = field[3]; text = field[6]
  if (field[5] == 0) return "worked"
  if (action == "mortal" && (field[5] == 137 || is_refusal("run", text))) return "killed"
  if (field[5] == 124 || field[5] == 137 || text == "") return "unexpected"
  n = split(text, part, " // ")
  if (n > 1 && action !~ /^(gc|refill|hosts|status)$/) return "unexpected"
  for (i = 1; i <= n; ++i) {
    class = class_of_line(field, part[i])
    if (class == "unexpected") break
  }
  return class
}

function class_of_line(field, text,    begin, end, action, host) {
  begin = field[1]; end = field[2]; action = field[3]
  host = "host" substr(field[8], 5, 1)
  if (text ~ /^ipuctl: release of lease [0-9a-f]+ is not complete yet: /) {
    sub(/release of lease [0-9a-f]+ is not complete yet: /, "", text)
    sub(/fleet [^ ]* did not answer for another lease/, "fleet: silent", text)
    sub(/[^ ]* did not answer for another lease/, "V-IPU controller silent", text)
  }
  if (is_refusal(action, text)) return "refused"
  if (crowded && text ~ /: (no time left to ask|ipu-[a-z]*-client gave no answer within [0-9]+ ms)$/) return "consequence"
  if (text ~ /^(ipu|ipuctl): (partition '[^']*' is made, and 'ipuctl gc' tells the fleet: |pool '[^']*': )?fleet: / && was_trouble("cut|member|quorum|host|unplug", begin, end, host)) return "consequence"
  if (text ~ /^(ipu|ipuctl): (pool '[^']*': )?V-IPU controller / && was_trouble("controller|unplug", begin, end, host)) return "consequence"
  if (text ~ /host,? [0-9a-f]+,? was declared dead|the claim of partition '[^']*' of pool '[^']*' was taken away during its reset/ && was_trouble("fence|unplug", begin, end, host)) return "consequence"
  if (text ~ /msg="runc run failed: container process is already dead"$/ && was_trouble("fenced", begin, end, host)) return "consequence"
  # A fenced host has its network again, and its containers have not ended yet.
  if (text ~ /^ipu: address [0-9.]* of rail '[^']*' is in use by another host with MAC / && was_trouble("fenced", begin, end)) return "consequence"
  return "unexpected"
}

# The tenant is the last word.
function action_of(field,    asked) {
  asked = field[7]
  sub(/ [a-z]+$/, "", asked)
  return field[3] ~ /run|mortal/ ? field[3] " " asked : field[3]
}

# SPDX-License-Identifier: Apache-2.0
# Prints the commands in the examples of a page, which is README.md or a man page: "block LINE" for each example with commands,
# "run COMMAND" for each command, and "says TEXT" for each line that the page shows below a "$ COMMAND". The sh blocks of
# README.md are left out: newcomer.bats runs them.

BEGIN {
  programs = "apt-get|ctr|docker|export|gc-docker|gc-podman|ip|ipu-agent|ipu-container-hook|ipu-container-runtime|ipuctl|" \
    "kubectl|make|modprobe|nft|podman|sudo|systemctl|usermod|vipu|vipu-simulator"
  command = "^([$] |[A-Z_]+=[^ ]* [a-z]|(" programs ") )"
}

FNR == 1 { markdown = FILENAME ~ /\.md$/ }

# ---- README.md: what is fenced or, after an empty line, indented

markdown && /^ *```/ {
  if (fenced) end_block(); else begin_block()
  fenced = !fenced
  sh = fenced && /```sh$/
  next
}
markdown && fenced { if (!sh) add($0); next }
markdown && /^    / && (inside || last ~ /^$/) {
  if (!inside) begin_block()
  add($0)
}
markdown && !/^    / && inside && !/^$/ { end_block() }
markdown { last = $0; next }

# ---- man pages: .EX or .nf, and also a line of its own that begins as a command

/^\.SH / { section = $2 }
section ~ /^(NAME|SYNOPSIS)$/ { next }
/^\.(EX|nf)$/ { begin_block(); next }
/^\.(EE|fi)$/ { end_block(); next }
/^[.']/ { next }
inside { add(without_roff($0)); next }
without_roff($0) ~ /^((docker|podman) run|gc-docker|ipuctl [a-z]+) / {
  begin_block()
  add(without_roff($0))
  end_block()
}

END { end_block() }

function without_roff(text) {
  gsub(/\\f[BIRP]|\\[&:]/, "", text)
  gsub(/\\-/, "-", text)
  gsub(/\\ /, " ", text)
  gsub(/\\\(aq/, "'", text)
  gsub(/\\\(dq/, "\"", text)
  gsub(/\\e/, "\\", text)
  return text
}

function begin_block() {
  inside = 1
  first = FNR
  n = prompts = commands = continued = 0
}

# Adds a line, or the rest of the last one.
function add(text) {
  sub(/^ +/, "", text)
  if (continued) lines[n] = lines[n] text
  else if (text != "") lines[++n] = text
  continued = sub(/\\$/, "", lines[n])
}

function end_block(i) {
  if (!inside) return
  inside = 0
  for (i = 1; i <= n; ++i) {
    if (lines[i] ~ command) ++commands
    if (lines[i] ~ /^[$] /) ++prompts
  }
  if (!commands) return
  print "block " first
  for (i = 1; i <= n; ++i) {
    if (prompts && lines[i] !~ /^[$] /) {
      print "says " lines[i]
    } else {
      sub(/^[$] /, "", lines[i])
      print "run " lines[i]
    }
  }
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs beside the workers in the throw-away host: killer.sh NAME SEED LATEST MOST. At random moments it kills a process
# NAME, as the kernel cuts the name of a wrapper, a hook or a V-IPU client. It ends after MOST of them, and is never more
# than three ahead of the starts that were made: where a start takes longer than the time between two kills, hardly one
# would ever be made.
# It writes to /run/storm/kills: time, program, pid, the container's id or "-", and what the process was; separated by
# tabs. That is "own" (the start or the end of this container itself: whatever the engine then says is right), or "helper"
# (a client or a probe: the product must say what happened, or bear it).
set -u -o pipefail
cd /run/storm || exit 1
name=$1
RANDOM=$2
latest=$3
most=$4
count=0

# Sets REPLY to all of a file of /proc, with spaces for zeros. Fails if there is nothing.
slurp() { # FILE
  local words
  { mapfile -d '' words <"$1"; } 2>/dev/null
  REPLY=${words[*]}
  [ -n "$REPLY" ]
}

parent_of() { # PID
  slurp "/proc/$1/stat" || return 1
  REPLY=${REPLY##*) }
  REPLY=${REPLY#* }
  REPLY=${REPLY%% *}
}

name_of() { slurp "/proc/$1/comm" && REPLY=${REPLY%$'\n'}; } # PID

# Stops a process, so that it neither ends nor becomes another program. Fails if it has done so already.
stop() { # PID
  local looks
  kill -STOP "$1" 2>/dev/null || return 1
  for ((looks = 0; looks < 500; ++looks)); do
    slurp "/proc/$1/stat" || return 1
    REPLY=${REPLY##*) }
    case $REPLY in T*) break ;; [ZX]*) return 1 ;; esac
  done
  if name_of "$1" && [ "$REPLY" = "$name" ]; then return 0; fi
  kill -CONT "$1" 2>/dev/null
  return 1
}

# Sets REPLY to the id of the container for which a process works: of its command line, or of those above it.
container_of() { # PID
  local pid=$1 depth
  for ((depth = 0; depth < 6 && pid > 1; ++depth)); do
    slurp "/proc/$pid/cmdline" || REPLY= # it has its name a moment before its arguments
    if [[ " $REPLY " =~ \ ([0-9a-f]{64})\  ]]; then REPLY=${BASH_REMATCH[1]}; return; fi
    parent_of "$pid" || break
    pid=$REPLY
  done
  REPLY=-
}

# The wrapper's parent is the shim, and the hook's is runc. All others that have these names were started by them.
role_of() { # PID
  parent_of "$1" && name_of "$REPLY" || REPLY=
  case "$name of $REPLY" in
    'ipu-container-s of containerd'* | 'ipu-container-h of runc'*) REPLY=own ;;
    *) REPLY=helper ;;
  esac
}

# Sets PIDS to the processes of that name. It starts no process, because a hook lives for some milliseconds.
look() {
  local comm
  pids=()
  for comm in /proc/[0-9]*/comm; do
    { read -r REPLY <"$comm"; } 2>/dev/null || continue
    if [ "$REPLY" = "$name" ]; then
      comm=${comm#/proc/}
      pids+=("${comm%/comm}")
    fi
  done
  [ ${#pids[@]} -gt 0 ]
}

is_ahead() { [ "$count" -ge $((3 + $(cat shares/* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'))) ]; }

kill_one() {
  local pid container
  look || return 1
  pid=${pids[RANDOM % ${#pids[@]}]}
  stop "$pid" || return 1
  container_of "$pid"
  container=$REPLY
  role_of "$pid"
  printf '%s\t%s\t%s\t%s\t%s\n' "$EPOCHREALTIME" "$name" "$pid" "$container" "$REPLY" >>kills
  count=$((count + 1))
  kill -KILL "$pid" 2>/dev/null # its parent may have killed it first
}

while [ ! -e over ] && [ "$EPOCHSECONDS" -lt "$latest" ] && [ "$count" -lt "$most" ]; do
  sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  if is_ahead; then continue; fi
  for ((tries = 0; tries < 200; ++tries)); do
    if look; then break; fi
    sleep 0.005
  done
  # Not always at the same moment of its life.
  if ((RANDOM % 2)); then sleep "0.0$((RANDOM % 4))$((RANDOM % 10))"; fi
  kill_one || :
done
exit 0

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One worker of the storm of starts, run in the throw-away host: starts.sh NUMBER SEED STARTS LATEST. It makes STARTS
# starts that nobody kills, and some that are killed meanwhile: see killer.sh. A request that waits is made again until it
# was not killed. In the folder /run/storm:
#   log/NUMBER    each start: start, end, "start", name, exit status, error text, IPUs, IPU_WAIT or "-", container's id
#   held/NUMBER   what a container had for certain: from, until, name, and what; separated by tabs
#   shares/NUMBER the starts that were made to the end
set -u -o pipefail
cd /run/storm || exit 1
number=$1
RANDOM=$(($2 + number))
starts=$3
latest=$4
count=0

readonly WAIT=300s  # far longer than any container lives
readonly LIMIT=330  # seconds that no command takes, unless it hangs; its status is 124 then

# Sets REPLY to one of the words. It does not print the word, because a subshell would have random numbers of its own.
one_of() { # WORD...
  local words=("$@")
  REPLY=${words[RANDOM % $#]}
}

id_of() { docker inspect --format '{{.Id}}' "$1" 2>/dev/null || echo -; } # NAME

# Removes a container after SECONDS. The shell goes on.
remove_later() { # NAME SECONDS
  { sleep "$2"; timeout "$LIMIT" docker rm --force "$1" >/dev/null 2>>"errors/$1"; } &
}

# Prints what the container sees of itself, one line each: its partition, its MACs, addresses and IPUs.
things_of() { # PID
  local root=/proc/$1/root
  jq -r '"partition \(.partition)", (.rails[] | "MAC \(.mac)", "address \(.address)")' "$root/run/ipu/lease.json" &&
    jq -r '.devices[] | "IPU \(.ip) \(.device_id)"' "$root/etc/ipuof.conf.d/ipuof.conf"
}

# Notes what a container that was asked for at BEGIN has. It runs for SECONDS at least, so that nobody else may have the
# same from now on until then.
note_things() { # NAME BEGIN SECONDS
  local pid things now=$EPOCHREALTIME
  pid=$(docker inspect --format '{{.State.Pid}}' "$1" 2>/dev/null) && [ "${pid:-0}" -gt 0 ] || return 0
  things=$(things_of "$pid" 2>/dev/null) || return 0
  awk -v from="$now" -v until="$2" -v seconds="$3" -v name="$1" \
    '{ printf "%s\t%.6f\t%s\t%s\n", from, until + seconds, name, $0 }' <<<"$things" >>"held/$number"
}

# Makes one start. Sets KILLED to "yes" if one of its own programs was killed.
start() { # NAME IPUS WAIT SECONDS COMMAND...
  local name=$1 ipus=$2 wait=$3 seconds=$4 options=() begin=$EPOCHREALTIME error status=0 id
  shift 4
  if [ "$wait" != - ]; then options+=(-e "IPU_WAIT=$wait"); fi
  if ((RANDOM % 4 == 0)); then options+=(-e IPU_VIPU_ENDPOINT=1); fi
  error=$(timeout "$LIMIT" docker run --detach --runtime=ipu --name "$name" -e "IPU_COUNT=$ipus" "${options[@]}" \
    busybox "$@" 2>&1) || status=$?
  local end=$EPOCHREALTIME
  id=$(id_of "$name")
  if [ "$status" -eq 0 ]; then
    error=''
    note_things "$name" "$begin" "$seconds"
  fi
  printf '%s\t%s\tstart\t%s\t%s\t%s\t%s\t%s\t%s\n' "$begin" "$end" "$name" "$status" "${error//[$'\n\t']/ }" \
    "$ipus" "$wait" "$id" >>"log/$number"
  KILLED=no
  if [ "$status" -ne 0 ] && grep -q $'\t'"$id"$'\town$' kills 2>/dev/null; then KILLED=yes; fi
  if [ "$status" -ne 0 ]; then remove_later "$name" 0; elif [ "$seconds" -lt 3600 ]; then remove_later "$name" "$seconds"; fi
}

for ((i = 1; i <= starts && EPOCHSECONDS < latest; ++i)); do
  one_of 1 1 2 2 4 4 8 8
  ipus=$REPLY
  one_of "$WAIT" -
  wait=$REPLY
  seconds=$((2 + RANDOM % 8))
  # The last one stays: see storm_ends_in_agreement.
  if [ "$i" = "$starts" ]; then seconds=3600; fi
  # Some end by themselves, at about the time when they would be removed.
  one_of 3600 3600 "$seconds"
  command=(sleep "$REPLY")
  while start "worker$number-$((count += 1))" "$ipus" "$wait" "$seconds" "${command[@]}"
    [ "$KILLED" = yes ] && [ "$wait" != - ] && [ "$EPOCHSECONDS" -lt "$latest" ]; do :; done
  echo "$i" >"shares/$number"
  sleep "0.$((RANDOM % 5))"
done
wait
exit 0

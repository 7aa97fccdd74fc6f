#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One worker of the storm, run in the throw-away host: worker.sh NUMBER LATEST. It starts containers with IPUs, and does to
# any worker's containers what people, engines and the kernel do to them. In its folder, /run/storm:
#   over          the storm is over: see end.sh
#   names/NAME    there may be a container of this name
#   hurt/NAME     times at which a command began that can end the container, or make other commands fail
#   log/NUMBER    each command: start, end, action, name, exit status, error text; separated by tabs
set -u -o pipefail
shopt -s nullglob
cd /run/storm || exit 1
number=$1
latest=$2
count=0
# Each run makes the same sequence of decisions, in different circumstances.
RANDOM=$((1000 + number))

readonly MOST=184  # containers; each of the 16 workers may add one at the same time
readonly LIMIT=60  # seconds that no command takes, unless it hangs; its status is 124 then

# Sets REPLY to one of the words. It does not print the word, because a subshell would have random numbers of its own.
one_of() { # WORD...
  local words=("$@")
  REPLY=${words[RANDOM % $#]}
}

percent() { [ $((RANDOM % 100)) -lt "$1" ]; }

act() { # ACTION NAME COMMAND...
  local action=$1 name=$2 begin=$EPOCHREALTIME error status=0
  shift 2
  case $action in run-mortal | remove | kill* | stop | pause | restart) echo "$begin" >>"hurt/$name" ;; esac
  error=$(timeout "$LIMIT" "$@" 2>&1) || status=$?
  [ "$status" -ne 0 ] || error=
  error=${error//[$'\n\t']/ }
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$begin" "$EPOCHREALTIME" "$action" "$name" "$status" "$error" >>"log/$number"
  return "$status"
}

mkdir -p locks
remove() { # NAME
  if act remove "$1" docker rm --force "$1"; then rm -f "names/$1"; fi
}

# Starts a container. Some containers stay, some end soon, and some fail and may be restarted by docker. Those that end
# or change by themselves have the label "mortal".
start() {
  local name=worker$number-$((count += 1)) seconds=$((RANDOM % 10)) action=run-mortal options=() command
  one_of none bridge
  options+=(--network "$REPLY")
  one_of 1 2 4
  options+=(-e "IPU_COUNT=$REPLY")
  if percent 30; then options+=(-e "IPU_WAIT=$((1 + RANDOM % 5))s"); fi
  case $((RANDOM % 10)) in
    [0-6]) action=run command=(sleep 3600) ;;
    [78]) command=(sleep "$seconds") ;;
    *) command=(sh -c "sleep $((seconds % 3)); exit 3") ;;
  esac
  if [ "$action" = run-mortal ]; then options+=(--label mortal); fi
  if [ "${command[0]}" = sh ] && percent 50; then options+=(--restart on-failure:2); fi
  : >"names/$name"
  act "$action" "$name" docker run --detach --runtime=ipu --name "$name" "${options[@]}" busybox "${command[@]}" ||
    remove "$name"
}

# Prints the id of a container and the pid of its first process. Fails if it does not run.
look() { # NAME
  local id pid
  read -r id pid < <(docker inspect --format '{{.Id}} {{.State.Pid}}' "$1" 2>/dev/null) || return 1
  # The pid may be another process's by now, but not one in a cgroup with this id.
  [ "${pid:-0}" -gt 0 ] && grep -qs "$id" "/proc/$pid/cgroup" && echo "$id $pid"
}

kill_init() { # NAME
  local pid
  read -r _ pid < <(look "$1") || return 0
  act kill-init "$1" bash -c "kill -KILL $pid 2>/dev/null; true"
}

# Kills containerd's shim of this container: the parent of its first process, with the container's id as an argument.
kill_shim() { # NAME
  local id pid shim arguments
  read -r id pid < <(look "$1") || return 0
  shim=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status" 2>/dev/null)
  { mapfile -d '' arguments <"/proc/${shim:-0}/cmdline"; } 2>/dev/null || return 0
  [[ ${arguments[0]:-} == *containerd-shim-runc-v2 && " ${arguments[*]} " == *" -id $id "* ]] || return 0
  act kill-shim "$1" bash -c "kill -KILL $shim 2>/dev/null; true"
}

trouble() { # NAME
  local name=$1
  case $((RANDOM % 20)) in
    [0-5]) remove "$name" ;;
    6) act kill "$name" docker kill "$name" ;;
    7) act stop "$name" docker stop --time 0 "$name" ;;
    8) kill_init "$name" ;;
    9 | 10) kill_shim "$name" ;;
    # Not both at once: where a pause freezes the process that an exec is just starting, dockerd 20.10 waits for it with
    # its locks held, and never answers about this container again.
    11 | 12) act exec "$name" flock "locks/$name" docker exec "$name" true ;;
    13 | 14) act pause "$name" flock "locks/$name" docker pause "$name" ;;
    15 | 16)
      act pause "$name" flock "locks/$name" docker pause "$name" && act unpause "$name" docker unpause "$name"
      ;;
    *) act restart "$name" docker restart --time 0 "$name" ;;
  esac
}

while [ ! -e over ] && [ "$EPOCHSECONDS" -lt "$latest" ]; do
  names=(names/*)
  if [ ${#names[@]} -lt 16 ] || { [ ${#names[@]} -lt $MOST ] && percent 60; }; then
    start
  else
    one_of "${names[@]}"
    trouble "${REPLY#names/}"
  fi
done
exit 0

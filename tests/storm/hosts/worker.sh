#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One worker of the storm, on one of its hosts: worker.sh HOST BOOT NUMBER. It starts containers with IPUs by the low-level
# runtime, one at a time, looks into each, and ends it after a while. In the storm's folder, separated by tabs:
#   log/HOST.BOOT.NUMBER   each command: start, end, action, name, exit status, error text, what was asked for
#   held/HOST.BOOT.NUMBER  what containers had for certain: time, "take", name, HOST.BOOT, lease.json, ipuof.conf;
#                          time, "give", name, before the container is ended; time, "lost", name, if it has ended by itself
set -u -o pipefail
cd /run/hosts-storm/hosts || exit 1
host=$1
boot=$2
number=$3
bundle=/run/oci/bundle$number
count=0
RANDOM=$((1000 * host + 100 * boot + number + $(cat seed)))

readonly LIMIT=60 # seconds that no command takes, unless it hangs; its status is 124 or 137 then

# Sets REPLY to one of the words. It does not print the word, because a subshell would have random numbers of its own.
one_of() { # WORD...
  local words=("$@")
  REPLY=${words[RANDOM % $#]}
}

percent() { [ $((RANDOM % 100)) -lt "$1" ]; }

# Sets REPLY to all of a small file, with " // " for the end of a line.
slurp() { # FILE
  REPLY=
  { IFS= read -r -d '' REPLY <"$1"; } 2>/dev/null
  REPLY=${REPLY%$'\n'}
  REPLY=${REPLY//[$'\n\t']/ // }
  [ -n "$REPLY" ]
}

act() { # ACTION NAME ASKED COMMAND...
  local action=$1 name=$2 asked=$3 begin=$EPOCHREALTIME error='' status=0
  shift 3
  "$@" >"$bundle/output" 2>&1 </dev/null || status=$?
  case $status in 0 | 137) ;; *) slurp "$bundle/output" && error=$REPLY ;; esac
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$begin" "$EPOCHREALTIME" "$action" "$name" "$status" "$error" "$asked" \
    >>"log/$host.$boot.$number"
  return "$status"
}

# shellcheck disable=SC2317 # act calls it
runtime() { timeout --kill-after 5 "$LIMIT" ipu-container-runtime --root /run/oci/root "$@"; }

# Is killed after a moment, unless it is ready before.
# shellcheck disable=SC2317
mortal() { # ARGUMENT...
  timeout --signal KILL "0.$((RANDOM % 4))$((RANDOM % 10))" ipu-container-runtime --root /run/oci/root "$@"
}

# Sets ASKED to what a request asks for and its tenant, and VARIABLES to its environment. See tenants_up() for the shares.
ask() {
  local wait=$((3 + RANDOM % 8)) tenant
  one_of gold gold silver guest
  tenant=$REPLY
  if percent 30; then
    VARIABLES=("IPU_PARTITION=n$((RANDOM % 4))" "IPU_GCD=$((RANDOM % 4))")
    ASKED=gcd
  elif percent 8; then
    VARIABLES=(IPU_COUNT=64)
    ASKED=64 wait=20 tenant=large
  else
    one_of 1 2 4 8 16
    VARIABLES=("IPU_COUNT=$REPLY")
    ASKED=$REPLY
  fi
  if [ "$ASKED" = 64 ] || percent 50; then
    VARIABLES+=("IPU_WAIT=${wait}s")
    ASKED+=' waits'
  fi
  VARIABLES+=("IPU_TENANT=$tenant")
  ASKED+=" $tenant"
}

make_bundle() { # NAME
  local variables
  variables=$(printf '"%s",' "${VARIABLES[@]}")
  sed -e "s|\"@ENV@\"|${variables%,}|" -e "s|@CGROUP@|storm-$1|" bundle.json >"$bundle/config.json"
}

is_alive() { slurp "/proc/$1/stat" && REPLY=${REPLY##*) } && [[ $REPLY != [ZX]* ]]; } # PID

# Notes what a container has. Its process ran before the look and after it.
look() { # NAME PID
  local root=/proc/$2/root lease ipuof now=$EPOCHREALTIME
  slurp "$root/run/ipu/lease.json" && lease=${REPLY// \/\/ / } && slurp "$root/etc/ipuof.conf.d/ipuof.conf" && ipuof=${REPLY// \/\/ / } ||
    return 1
  printf '%s\ttake\t%s\t%s.%s\t%s\t%s\n' "$now" "$1" "$host" "$boot" "$lease" "$ipuof" >>"held/$host.$boot.$number"
}

end() { # NAME PID
  local now=$EPOCHREALTIME
  is_alive "$2" || { printf '%s\tlost\t%s\n' "$now" "$1" >>"held/$host.$boot.$number"; }
  printf '%s\tgive\t%s\n' "$now" "$1" >>"held/$host.$boot.$number"
  if percent 50; then kill -KILL "$2" 2>/dev/null; fi
  act delete "$1" - runtime delete --force "$1"
}

mkdir -p "$bundle"
while [ ! -e over ]; do
  name=$host-$boot-$number-$((count += 1))
  ask
  make_bundle "$name"
  if percent 6; then
    act mortal "$name" "$ASKED" mortal run --detach --pid-file "$bundle/pid" --bundle "$bundle" "$name"
    act clear "$name" - runtime delete --force "$name"
    continue
  fi
  if act run "$name" "$ASKED" runtime run --detach --pid-file "$bundle/pid" --bundle "$bundle" "$name"; then
    pid=$(cat "$bundle/pid")
    look "$name" "$pid" || printf '%s\tlost\t%s\n' "$EPOCHREALTIME" "$name" >>"held/$host.$boot.$number"
    hold=$((RANDOM % 20))
    if percent 5; then hold=$((100 + RANDOM % 60)); fi # longer than a cut
    for ((i = 0; i < hold; ++i)); do [ -e over ] || sleep 0.1; done
    # Some stay, and all must agree on them.
    if [ -e over ] && ((number % 2)); then break; fi
    end "$name" "$pid"
  else
    act clear "$name" - runtime delete --force "$name"
    sleep "0.$((RANDOM % 5))"
  fi
done
exit 0

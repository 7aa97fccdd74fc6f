# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # world.sh sets hosts; parts.bash has boot_of and pid_of
# What an operator does about a host that is gone, for sourcing after parts.bash. A fence needs etcd and the controller, which
# may fail at that time, so the operator goes on until it is done, in a process of its own:
#   host N loses power, or its links          begin_fence, begin_unplug
#   the operator fences it from another host  fence_it; fences/N.fenced
#   it comes back, and is still fenced        end_fence, end_unplug
#   its containers have ended; it is forgotten  forget_it; fences/N.forgotten; begin_fenced, end_fenced

# Each runs this from a host that is up, until it works. Its log is that of an operator there.
insist() { # N ACTION COMMAND...
  local n=$1 action=$2 other pid begin error='' status turn=0 deadline=$((SECONDS + 150))
  shift 2
  while [ "$SECONDS" -lt "$deadline" ]; do
    other=$(((n + turn++ % (hosts - 1)) % hosts + 1))
    pid=$(cat "host$other/pid" 2>/dev/null)
    if [ "$other" = "$n" ] || [ -z "$pid" ]; then sleep 0.2 && continue; fi
    pid_of["$other"]=$pid # of its boot, which this process may not know
    begin=$EPOCHREALTIME status=0
    error=$(on "$other" "$@" 2>&1 >/dev/null) || status=$?
    # Power that is lost meanwhile is no error of the command.
    if [ "$status" = 137 ] || [ ! -e "/proc/$pid" ] || [[ $error == nsenter:* ]]; then continue; fi
    # An earlier attempt, whose answer was lost, may have been carried out.
    [ "$action" != forget ] || [ -n "$(etcd_keys "${PREFIX}fences/$(cat "host$n/tag")" 2>&1)" ] || status=0
    [ "$status" -ne 0 ] || error=
    printf '%s\t%s\t%s\t-\t%s\t%s\t-\n' "$begin" "$EPOCHREALTIME" "$action" "$status" "${error//[$'\n\t']/ // }" \
      >>"log/$other.$n.fence"
    [ "$status" -ne 0 ] || return 0
    sleep 0.5
  done
  echo "host $n: '$*' never worked: $error" >>findings/agreement
  return 1
}

# The operator does not wait for 30 s until etcd does not hear of it any more.
fence_it() { # N
  insist "$1" fence ipuctl host fence "$(cat "host$1/tag")" --alive
  touch "fences/$1.fenced"
}

# A host that lives ends its containers first.
forget_it() { # N
  wait_until 60 has_no_containers "$1" || echo "host $1 is fenced, and its containers go on: $(containers_of "$1")" >>findings/agreement
  insist "$1" forget ipuctl host forget "$(cat "host$1/tag")"
  touch "fences/$1.forgotten"
}
has_no_containers() { [ -z "$(containers_of "$1")" ]; }

# Each host's 8 digits. They are known as long as the host is.
note_tags() {
  local n
  for ((n = 1; n <= hosts; ++n)); do
    on "$n" ipuctl host list --output json | jq -r '.[] | select(.state == "this host").host' >"host$n/tag"
    [ -s "host$n/tag" ] || { echo "host $n has no tag"; return 1; }
  done
}

# One host at a time is fenced: the others are there to work.
has_no_fence() { ! compgen -G 'fences/*' >/dev/null; }

begin_fence() {
  local n=${1#host}
  touch "fences/$n"
  host_down "$n"
  fence_it "$n" &
}
end_fence() { host_up "${1#host}"; }

# Neither the fabric nor etcd nor the controller hears of it, and it does not hear of its fence.
begin_unplug() {
  local n=${1#host} link
  touch "fences/$n"
  for link in fab ctl etc; do ip link set "$link$n" down; done
  printf '%s\tended\t-\t%s.%s\n' "$EPOCHREALTIME" "$n" "${boot_of[$n]}" >>held/world
  fence_it "$n" &
}
end_unplug() {
  local n=${1#host} link
  for link in fab ctl etc; do ip link set "$link$n" up; done
}

begin_fenced() { forget_it "${1#host}" & }
# What it has from here on is another boot's: nobody says of a container when exactly the fence ended it.
end_fenced() {
  local n=${1#host}
  host_down "$n"
  host_up "$n" || return 1
  rm "fences/$n" "fences/$n".*
}

# Whether the trouble may end: what the operator does takes its time.
is_done() { # KIND WHAT
  case $1 in
    fence | unplug) [ -e "fences/${2#host}.fenced" ] ;;
    fenced) [ -e "fences/${2#host}.forgotten" ] ;;
  esac
}

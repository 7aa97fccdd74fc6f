# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A storm of starts on the throw-away host of tests/support/host.sh, for sourcing after it and storm.bash: workers start
# containers with IPUs, some with IPU_WAIT, while wrappers, hooks, V-IPU clients and the controller are killed. Each
# function that can fail prints what it found wrong.

STARTS_WORKERS=8

# Returns when STARTS starts were made, or fails after SECONDS.
starts_rage() { # STARTS SEED SECONDS
  local controller status=0
  host_run mkdir -p /run/storm/held /run/storm/shares /run/storm/errors
  host_run touch /run/storm/kills
  storm_note_before || return 1
  starts_restart_controller "$2" "$3" 3>&- 4>&- &
  controller=$!
  # shellcheck disable=SC2016
  host_run bash -c '
    latest=$((EPOCHSECONDS + $3)) workers=() others=() status=0
    for ((i = 1; i <= $4; ++i)); do
      bash /run/storm/starts.sh "$i" "$2" $((($1 + i - 1) / $4)) "$latest" & workers+=($!)
    done
    for name in ipu-container-s ipu-container-h ipu-vipu-client; do
      nice --adjustment=-10 bash /run/storm/killer.sh "$name" "$2" "$latest" $((2 * $1)) & others+=($!)
    done
    bash /run/storm/watch.sh "$latest" & others+=($!)
    echo "$$ ${workers[*]} ${others[*]}" >/run/storm/pids
    for job in "${workers[@]}"; do wait "$job" || status=1; done
    : >/run/storm/over
    for job in "${others[@]}"; do wait "$job" || status=1; done
    rm /run/storm/pids
    exit "$status"' bash "$1" "$2" "$3" "$STARTS_WORKERS" || status=1
  wait "$controller" || status=1
  return "$status"
}

# Kills the controller now and then, and starts it again after a moment. It keeps its state in a file.
starts_restart_controller() { # SEED SECONDS
  local latest=$((EPOCHSECONDS + $2)) begin
  RANDOM=$1
  while [ "$EPOCHSECONDS" -lt "$latest" ] && ! host_run test -e /run/storm/over; do
    sleep "$((3 + RANDOM % 5))"
    begin=$EPOCHREALTIME
    if ((RANDOM % 2)); then host_signal simulator KILL; else sim_stop; fi
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    sim_stop
    sim_start || return 1
    printf '%s\t%s\tlink\t-\t0\t\n' "$begin" "$EPOCHREALTIME" | host_run tee -a /run/storm/log/controller >/dev/null
  done
}

starts_outcomes() {
  # shellcheck disable=SC2016
  host_run sh -c 'cd /run/storm && awk -f outcomes.awk -f starts.awk kills log/*' | sort -t $'\t' -k 1,1 -k 2,2nr -k 3
}

starts_were_made() { # STARTS
  local made
  made=$(host_run sh -c 'cat /run/storm/shares/*' | awk '{ n += $1 } END { print n + 0 }')
  [ "$made" -eq "$1" ] || { echo "$made of $1 starts were made"; return 1; }
}

# Each that failed was killed itself, or did not wait and says why. So all that wait run in the end.
starts_had_no_other_errors() {
  if starts_outcomes | grep '^unexpected'; then
    host_run cat /run/storm/kills
    host_run sh -c "grep -h 'was killed' /run/storm/log/*"
    return 1
  fi
  ! host_run sh -c 'grep -r . /run/storm/errors'
}

starts_never_shared() {
  # shellcheck disable=SC2016
  ! host_run sh -c 'cd /run/storm && sort -t "$(printf "\t")" -k 4,4 -k 1,1n held/* | awk -f shared.awk | grep .' || return 1
  ! host_run grep . /run/storm/violations
}

# For people: what happened how often.
starts_figures() {
  # shellcheck disable=SC2016
  host_run awk -F '\t' '{ n[$2 " (" $5 ")"]++ } END { for (name in n) printf "%6d %s killed\n", n[name], name }' /run/storm/kills
  echo "$(host_run grep -c link /run/storm/log/controller) restarts of the controller"
  starts_outcomes | awk -F '\t' '{ printf "%6d %s %s%s\n", $2, $3, $1, $4 == "" ? "" : ": " $4 }'
}

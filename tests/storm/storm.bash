# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A storm of containers on the throw-away host of tests/support/host.sh, for sourcing after it: 16 workers
# start, hurt and remove containers with IPUs for a while; then everybody who knows of them must agree.
# Each function that can fail prints what it found wrong.

STORM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
STORM_WORKERS=16

in_storm() { # SCRIPT ARGUMENT...
  host_run bash "/run/storm/$1" "${@:2}"
}

# Call it before the simulator is started: that gets the socket by which it loses its connections.
storm_install() {
  host_run mkdir -p /run/storm/names /run/storm/hurt /run/storm/log
  tar -C "$STORM" -c . | host_run tar -C /run/storm -x --no-same-owner
  host_run touch /run/storm/violations /run/storm/samples
  SIM_OPTIONS+=(--control /run/storm/control.sock)
}

# What the product keeps for ever, such as its ledger, is made by the first container.
storm_note_before() {
  host_run docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox true || return 1
  wait_until 10 storm_is_calm || { echo 'something is left before the storm:'; in_storm remains.sh; return 1; }
  in_storm remains.sh | host_run tee /run/storm/before >/dev/null
}

# Returns when all workers are done. The storm rages for SECONDS. Where the host is so slow that too little has
# happened by then, the storm goes on until enough has, for at most four times as long.
storm_rage() { # SECONDS STARTS
  storm_note_before || return 1
  # shellcheck disable=SC2016
  host_run bash -c '
    latest=$((EPOCHSECONDS + 4 * $1)) jobs=() status=0
    for ((i = 1; i <= $3; ++i)); do bash /run/storm/worker.sh "$i" "$latest" & jobs+=($!); done
    bash /run/storm/unrest.sh "$latest" & jobs+=($!)
    nice --adjustment=-10 bash /run/storm/watch.sh "$latest" & jobs+=($!)
    bash /run/storm/end.sh "$1" "$latest" "$2" & jobs+=($!)
    echo "$$ ${jobs[*]}" >/run/storm/pids
    for job in "${jobs[@]}"; do wait "$job" || status=1; done
    rm /run/storm/pids
    exit "$status"' bash "$1" "$2" "$STORM_WORKERS" || return 1
  storm_note_states
}

# Ends a storm whose time is not over.
storm_stop() {
  host_run sh -c 'test ! -e /run/storm/pids || xargs kill </run/storm/pids 2>/dev/null; rm -f /run/storm/pids'
}

# What docker met when it started containers again by itself, as lines of the log.
storm_note_states() {
  # shellcheck disable=SC2016
  host_run sh -c 'docker ps --all --quiet | xargs -r docker inspect' |
    jq -r '.[] | select(.State.Error != "") | [0, 9999999999, "state", .Name[1:], 1, .State.Error] | @tsv' |
    host_run tee /run/storm/log/state >/dev/null
}

storm_is_calm() {
  local remains
  remains=$(in_storm remains.sh) && ! grep -qE '^(lease|partition|interface|process)' <<<"$remains"
}

# All commands of the storm: see errors.awk.
storm_outcomes() {
  # shellcheck disable=SC2016
  host_run sh -c 'cd /run/storm && awk -f outcomes.awk -f errors.awk hurt/* log/*' | sort -t $'\t' -k 1,1 -k 2,2nr -k 3
}

storm_count() { # CLASS ACTIONS
  storm_outcomes | awk -F '\t' -v class="$1" -v actions="^($2)\$" '$1 == class && $3 ~ actions { n += $2 } END { print n + 0 }'
}

# No error but that there was no room, or what the storm itself had caused.
storm_had_no_other_errors() {
  ! storm_outcomes | grep '^unexpected'
}

storm_started() { # AT-LEAST
  local started
  started=$(storm_count worked 'run|run-mortal')
  [ "$started" -ge "$1" ] || { echo "only $started containers were started"; return 1; }
}

# Nothing was ever had by two, and nobody lost what was theirs.
storm_never_shared() {
  in_storm watched.sh || { echo 'nobody watched'; return 1; }
  ! host_run grep . /run/storm/violations
}

# With about half of the containers gone, all agree on the other half.
storm_ends_in_agreement() {
  local differences
  in_storm settle.sh || return 1
  differences=$(in_storm agree.sh) || return 1
  echo "$differences"
  [[ $differences =~ ^[1-9][0-9]*\ containers$ ]]
}

storm_leaves_nothing() {
  in_storm clear.sh >/dev/null || return 1
  wait_until 10 storm_is_over || host_run sh -c 'bash /run/storm/remains.sh | diff /run/storm/before -'
}

storm_is_over() {
  host_run sh -c 'bash /run/storm/remains.sh | cmp -s /run/storm/before -'
}

# For people: what happened how often.
storm_figures() {
  local samples
  # shellcheck disable=SC2016
  samples=$(host_run awk '$1 > most { most = $1 } $2 > seen { seen = $2 }
    END { printf "at most %d live at the same time; %d looks into up to %d of them", most, NR, seen }' /run/storm/samples)
  echo "$(storm_count worked 'run|run-mortal') containers started, $(storm_count worked restart) restarted; $samples"
  storm_outcomes | awk -F '\t' '{ printf "%6d %s %s%s\n", $2, $3, $1, $4 == "" ? "" : ": " $4 }'
}

# Prints the result of COMMAND as a line of TAP. Counts in "number", and sets "failed".
number=0
failed=0
storm_check() { # TEXT COMMAND...
  local output result=ok
  number=$((number + 1))
  output=$("${@:2}" 2>&1) || result='not ok'
  echo "$result $number - $1"
  [ -z "$output" ] || echo "# ${output//$'\n'/$'\n'# }"
  # shellcheck disable=SC2034  # the caller reads it
  [ "$result" = ok ] || failed=1
}

# setup and teardown of a bats file.
storm_begin() {
  storm_install
  restart_sim
}
storm_clean() {
  storm_stop
  remove_containers
  SIM_OPTIONS=()
  restart_sim
  in_host rm -rf /run/storm
  assert_nothing_left
}

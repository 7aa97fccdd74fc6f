# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the conformance suite: a test is called "line NN, ENGINE: ...", the engine is what calls the runtime
# (docker, ctr, podman) or the low-level runtime that is called by hand (runc, crun). The suite ends
# with a table of these, see print_conformance.

SPY=/run/spy
CONFIG=/etc/ipu-container-toolkit/config.toml
RUNTIME=$BINDIR/ipu-container-runtime

# In a teardown: what became of this test, for the table. CONFORMANCE is the file of several runs of bats.
note_conformance() {
  local result=failed
  [ -z "${BATS_TEST_COMPLETED:-}" ] || result=passed
  echo "$result $BATS_TEST_DESCRIPTION" >>"${CONFORMANCE:-$BATS_SUITE_TMPDIR/conformance}"
}

# The table engine x line, as comments: how many tests passed, "!" if one did not. Nothing if none ran.
print_conformance() { # FILE
  [ -f "$1" ] || return 0
  awk '
    $2 != "line" { next }
    {
      line = $3 + 0; engine = $4
      sub(/:.*/, "", engine)
      if (!(engine in engines)) { engines[engine] = 1; names[++count] = engine }
      if ($1 == "passed") passed[line, engine]++
      if ($1 == "failed") failed[line, engine] = 1
      lines[line] = 1
      if (line > last) last = line
    }
    END {
      printf "# %-6s", "line"
      for (i = 1; i <= count; ++i) printf "%12s", names[i]
      printf "\n"
      for (line = 1; line <= last; ++line) {
        if (!(line in lines)) continue
        printf "# %-6d", line
        for (i = 1; i <= count; ++i) {
          cell = passed[line, names[i]]
          printf "%12s", (failed[line, names[i]] ? "!" : "") (cell ? cell : "-")
        }
        printf "\n"
      }
    }' "$1"
}

# The product calls PATH as low-level runtime.
configure_runtime() { # PATH
  host_config
  in_host tee -a "$CONFIG" >/dev/null <<<$'[runtime]\npaths = ["'"$1"$'"]'
}

# Calls other than create go to the runtime of the last create; from here on to what is installed.
forget_runtime() {
  host_config
  in_host rm -f /run/ipu-container-toolkit/runtime
}

# The product calls the spy, whatever the call. It does nothing else, or becomes NEXT.
use_spy() { # [NEXT]
  configure_runtime "$SPY/spy"
  clear_spy
  # A create without a bundle, so that other calls go there too.
  in_host "$RUNTIME" --root / create none
  clear_spy
  [ $# -eq 0 ] || in_host ln -s "$1" "$SPY/next"
}

clear_spy() {
  in_host sh -c "rm -f $SPY/call.* $SPY/config.* $SPY/next"
}

# What call N inherited. Pipes, sockets and processes have a new number each time.
spy_call() { # N
  in_host cat "$SPY/call.$1" | sed -E 's/(pipe|socket):\[[0-9]+\]/\1/; /^pid /d'
}

# The words after the program of each call, one call a line.
spy_words() {
  in_host sh -c "cat \$(ls -v $SPY/call.*)" | awk '/^fd 0 / { print "" } /^arg / { sub(/^arg /, ""); printf "%s ", $0 }'
}

# config.json as the low-level runtime finds it in call N.
spy_config() { in_host cat "$SPY/config.$1.json"; }

# Calls the spy itself, then through the product, with the ARGUMENTS and by the same odd process. What
# the spy saw is the same, but for the bundle, and so are output and exit status.
assert_same_call() { # ARGUMENT...
  clear_spy
  # shellcheck disable=SC2016
  in_host sh -c '
    cd /run/bundle
    for program in /run/spy/spy '"$RUNTIME"'; do
      : >/run/spy.out
      /run/spy/odd_caller "$program" "$@" >>/run/spy.out 2>&1 </dev/null 8</etc/group
      echo "$? $(cat /run/spy.out)" >"/run/spy.${program##*/}"
    done' sh "$@"
  diff <(spy_call 1) <(spy_call 2)
  in_host diff /run/spy.spy "/run/spy.${RUNTIME##*/}"
}

# Gives back what is left of starts that went no further, which is all. Where the low-level runtime did nothing
# the process that asks about addresses is still at work, and may write into a folder that gc just empties.
give_back() {
  wait_until 10 gc_leaves_nothing || assert_nothing_left
}

# Runs a command of the host where crun 1.8 works: it knows no cgroup version 1 beside version 2.
with_cgroup2() { # COMMAND...
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    umount --recursive /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"' sh "$@"
}

# Makes $BUNDLE for runc or crun, with a request for 2 IPUs and the jq FILTER, and has the product call it.
bundle_for() { # LOW-LEVEL [FILTER]
  make_bundle '.process.env += ["IPU_COUNT=2"]'" | ${2:-.}"
  configure_runtime "$(in_host sh -c "command -v $1")"
  [ "$1" != crun ] || change_bundle 'del(.linux.resources, .linux.cgroupsPath)'
}

change_bundle() { # FILTER
  in_host jq "$1" "$BUNDLE/config.json" | in_host sh -c "cat >$BUNDLE/new && mv $BUNDLE/new $BUNDLE/config.json"
}

# Calls the product, or PROGRAM, as an engine calls runc or crun. A container that is made keeps the standard streams,
# which must not be bats's: files have them.
call() { # LOW-LEVEL ARGUMENT...
  local before=(in_host) options=() status=0
  if [ "$1" = crun ]; then
    before=(with_cgroup2)
    options=(--cgroup-manager=disabled)
  fi
  shift
  # shellcheck disable=SC2016
  "${before[@]}" timeout "$LIMIT" sh -c '"$@" >/run/call.out 2>/run/call.err </dev/null' sh \
    "${PROGRAM:-$RUNTIME}" --root "$STATE" --log "$LOG" --log-format json "${options[@]}" "$@" || status=$?
  in_host cat /run/call.out
  in_host cat /run/call.err >&2
  return "$status"
}

create_by() { # LOW-LEVEL ID
  call "$1" create --bundle "$BUNDLE" "$2"
}

# Ends what these tests made, whoever made it.
remove_all() {
  local id
  clear_spy
  for id in $(in_host ls "$STATE" 2>/dev/null); do
    call "${LOW_LEVEL:-runc}" delete --force "$id" >/dev/null 2>&1
  done
  forget_runtime
  remove_bundle
}

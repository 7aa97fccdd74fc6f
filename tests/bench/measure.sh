# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs inside the throw-away host: measure.sh WRAPPER CGROUP ROUNDS. Every round runs each variant once, so that a
# busy moment of the machine hits all of them. Each round has another order, because the kernel still removes the
# namespace of one variant while the next one starts.
set -euo pipefail
wrapper=$1 cgroup=$2 rounds=$3
cd /run/bench
runc=$(command -v runc)

declare -A times
measure() { # VARIANT COMMAND...: appends the microseconds that COMMAND took
  local variant=$1 from to
  shift
  from=${EPOCHREALTIME/./}
  "$@" >/dev/null
  to=${EPOCHREALTIME/./}
  times[$variant]+="$((to - from)) "
}

median() { # VARIANT
  tr ' ' '\n' <<<"${times[$1]}" | sed '/^$/d' | sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'
}

row() { # TEXT VARIANT BASE
  awk -v text="$1" -v value="$(median "$2")" -v base="$(median "$3")" \
    'BEGIN {printf "%-44s %9.2f ms   x %.2f   %+8.2f ms\n", text, value/1000, value/base, (value-base)/1000}'
}

bundle() { # DIRECTORY [ENVIRONMENT]: a bundle that runs `true` in a network namespace of its own
  mkdir -p "$1/rootfs/bin"
  cp "$(command -v busybox)" "$1/rootfs/bin/busybox"
  # busybox's libraries, if it is not linked statically.
  ldd "$(command -v busybox)" 2>/dev/null | grep -o '/[^ ]*' | xargs -r cp --parents -t "$1/rootfs" || true
  (cd "$1" && runc spec && jq --arg cgroup "$cgroup/bench" --arg env "${2:-}" '
    .process.terminal = false | .process.args = ["/bin/busybox", "true"]
    | .linux.cgroupsPath = $cgroup | .root.readonly = false
    | if $env == "" then . else .process.env += [$env] end' config.json >new && mv new config.json)
  cp "$1/config.json" "$1.json"
}

run() { # RUNTIME BUNDLE
  cp "$2.json" "$2/config.json"
  "$1" run --bundle "$2" "bench-$RANDOM$RANDOM"
}

bundle plain
bundle ipus IPU_COUNT=4
for ((round = 0; round < rounds; ++round)); do
  for _ in 1 2 3 4 5; do
    measure version-direct "$runc" --version
    measure version-wrapped "$wrapper" --version
  done
  for variant in $(shuf -e run-direct run-wrapped run-ipus); do
    case $variant in
      run-direct) measure "$variant" run "$runc" plain ;;
      run-wrapped) measure "$variant" run "$wrapper" plain ;;
      run-ipus) measure "$variant" run "$wrapper" ipus ;;
    esac
  done
done

echo "medians of $rounds rounds; ratio and difference to runc alone"
row 'runc --version' version-direct version-direct
row 'passed through' version-wrapped version-direct
row 'runc run' run-direct run-direct
row 'without a request' run-wrapped run-direct
row 'with IPUs (start, release, controller)' run-ipus run-direct

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs inside the throw-away host: measure.sh PAIRED STAND-IN WRAPPER CGROUP ROUNDS CONTROLLER. Compares commands side by side,
# and appends the figures to /run/bench/figures.json.
set -euo pipefail
paired=$1 stand_in=$2 wrapper=$3 cgroup=$4 rounds=$5 controller=$6
cd /run/bench
runc=$(command -v runc)
# The kernel removes the namespaces of a container for some time after its end, and so do we. A start from a warm
# partition begins a refill 200 ms later.
REST=300

bundle() { # DIRECTORY [VARIABLE...]: a bundle that runs `true` in a network namespace of its own
  local variables
  variables=$(printf '%s\n' "${@:2}" | jq -R . | jq -sc 'map(select(. != ""))')
  mkdir -p "$1/rootfs/bin"
  cp "$(command -v busybox)" "$1/rootfs/bin/busybox"
  # busybox's libraries, if it is not linked statically.
  ldd "$(command -v busybox)" 2>/dev/null | grep -o '/[^ ]*' | xargs -r cp --parents -t "$1/rootfs" || true
  (cd "$1" && runc spec && jq --arg cgroup "$cgroup/bench" --argjson env "$variables" '
    .process.terminal = false | .process.args = ["/bin/busybox", "true"]
    | .linux.cgroupsPath = $cgroup | .root.readonly = false | .process.env += $env' config.json >new && mv new config.json)
  cp "$1/config.json" "$1.json"
  # The wrapper edits a config.json with a request.
  restore+=(--restore "$1/config.json=$1.json")
}

crowd_bundle() { # DIRECTORY [VARIABLE...]: a bundle with a cgroup of its own
  bundle "$@"
  jq --arg cgroup "$cgroup/$1" '.linux.cgroupsPath = $cgroup' "$1.json" >"$1/config.json"
  cp "$1/config.json" "$1.json"
}

compare() { # TITLE ROUNDS REST VARIANT=COMMAND...
  "$paired" --title "$1" --json figures.json --rounds "$2" --rest "$3" "${restore[@]}" "${@:4}"
}

restore=()
bundle plain
# From the first container on, the wrapper knows the low-level runtime.
"$wrapper" run --bundle plain first
compare 'what the wrapper passes through' "$((rounds * 5))" 0 \
  "runc=$runc --version" "stand-in=$stand_in --version" "wrapper=$wrapper --version"

bundle slices IPU_POOL=slices IPU_COUNT=4
bundle instant IPU_COUNT=4
bundle warm IPU_POOL=warm IPU_COUNT=4
compare 'a container from start to end by runc run' "$rounds" "$REST" \
  "runc=$runc run --bundle plain b{}" "stand-in=$stand_in run --bundle plain b{}" \
  "no-request=$wrapper run --bundle plain b{}" "local-provider=$wrapper run --bundle slices b{}" \
  "vipu-instant=$wrapper run --bundle instant b{}" "vipu-warm=$wrapper run --bundle warm b{}"

# A third of a millisecond is asked for: that takes many rounds of these two alone.
compare 'a container without a request, over the C stand-in' "$((rounds * 5))" "$REST" \
  "stand-in=$stand_in run --bundle plain b{}" "no-request=$wrapper run --bundle plain b{}"

echo 'the peak resident memory of each program of a start, in KiB'
for kind in slices instant; do
  cp "$kind.json" "$kind/config.json"
  ./resident "$wrapper" run --bundle "$kind" "resident-$kind"
done

restore=()
for ((i = 1; i <= 64; ++i)); do crowd_bundle "plain-$i"; done
compare '8 containers at once' "$((rounds / 5 + 3))" "$REST" \
  "runc=bash crowd.sh 8 plain $runc" "no-request=bash crowd.sh 8 plain $wrapper"
compare '64 containers at once' "$((rounds / 10 + 3))" "$REST" \
  "runc=bash crowd.sh 64 plain $runc" "no-request=bash crowd.sh 64 plain $wrapper"
for ((i = 1; i <= 8; ++i)); do crowd_bundle "slices-$i" IPU_POOL=slices IPU_COUNT=1; done
compare '8 containers at once, with IPUs by the local provider' "$((rounds / 5 + 3))" "$REST" \
  "runc=bash crowd.sh 8 plain $runc" "local-provider=bash crowd.sh 8 slices $wrapper"

restore=()
echo 'the steps of a start, by ipuctl trace, in milliseconds; "plain" is without a request'
bash phases.sh "$wrapper" "$rounds" plain slices instant warm
docker run --detach --network none --runtime=ipu --name traced -e IPU_COUNT=4 busybox sleep 1000 >/dev/null
compare 'a container without a request, beside one with IPUs' "$rounds" "$REST" \
  "runc=$runc run --bundle plain b{}" "stand-in=$stand_in run --bundle plain b{}" \
  "no-request=$wrapper run --bundle plain b{}"
docker rm --force traced >/dev/null

# shellcheck source=tests/bench/fleet.sh
. ./fleet.sh
started=()
trap '[ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null' EXIT
echo 'what a start stands on, one at a time, on this host'
if command -v etcd >/dev/null; then
  fleet_up
  ./floors /run/bench/nothing /var/lib/ipu-container-toolkit "$controller" "$etcd_at"
  restore=(--restore instant/config.json=instant.json)
  compare_fleet "$wrapper" "$rounds"
else
  ./floors /run/bench/nothing /var/lib/ipu-container-toolkit "$controller"
fi

restore=()
echo 'the sizes of the programs, in bytes, without symbols'
find /usr/local/bin /usr/local/libexec -type f -name '*ipu*' -printf '%s %f\n' | sort -k 2 | sed 's/^/  /'

docker=(docker run --rm --network none)
compare 'docker run --rm busybox true' "$((rounds / 3 + 3))" "$REST" \
  "runc=${docker[*]} --runtime=runc busybox true" "no-request=${docker[*]} --runtime=ipu busybox true" \
  "local-provider=${docker[*]} --runtime=ipu -e IPU_POOL=slices -e IPU_COUNT=4 busybox true" \
  "with-ipus=${docker[*]} --runtime=ipu -e IPU_COUNT=4 busybox true"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts containers of hostile images on throw-away hosts, and prints TAP: tests/hostile/check.sh [STARTS]
#   STARTS               how many; if it is absent, as many as begin within HOSTILE_SECONDS (25)
#   HOSTILE_SEED=N       the first seed (1); a failure names its own, so that N and STARTS=1 repeat it
#   HOSTILE_HOSTS=N      hosts side by side; one for each processor by default
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/host.sh
. tests/support/host.sh

starts=${1:-}
seed=${HOSTILE_SEED:-1}
hosts=${HOSTILE_HOSTS:-$(nproc)}
seconds=${HOSTILE_SECONDS:-25}
[[ $starts =~ ^[0-9]*$ ]] || { echo 'usage: tests/hostile/check.sh [STARTS]' >&2; exit 2; }
export HOST_CHANGES=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046
trap 'kill $(jobs -p); wait; exit 130' INT TERM

# Two pools without a controller: slices of a partition, whose containers get files and interfaces, and a card, whose
# containers get device nodes.
configure() {
  # shellcheck disable=SC2016
  host_run sh -c '
    set -e
    mkdir -p /etc/ipu-container-toolkit /etc/ipuof.conf.d
    mount -t tmpfs tmpfs /sys/bus
    for card in $(seq 0 7); do
      device=/sys/bus/pci/devices/0000:8$card:00.0
      mkdir -p "$device"
      echo "$card" >"$device/file_name"
      echo 0 >"$device/numa_node"
      echo 0x1d95 >"$device/vendor"
      mknod "/dev/ipu$card" c 60 "$card"
    done' &&
    jq -n '{attributes: {}, devices: [range(64) | {ip: "10.5.1.\(. / 4 + 1 | floor)", server_port: (4096 + .), device_id: (. % 4)}]}' |
    host_run tee /etc/ipuof.conf.d/p64.conf >/dev/null &&
    host_run tee /etc/ipu-container-toolkit/config.toml >/dev/null <<'END'
[[pool]]
name = "slices"
provider = "ipuof"
file = "/etc/ipuof.conf.d/p64.conf"
[[pool]]
name = "cards"
provider = "pcie"
[network]
duplicate_probe = "0s"
[[network.rail]]
parent = "rnic0"
subnet = "10.5.0.0/16"
range = "10.5.201.0-10.5.254.255"
END
}

# crun 1.8 knows no cgroup version 1 beside version 2.
install_crun() {
  # shellcheck disable=SC2016
  host_run install -m 0755 /dev/stdin /run/hostile/crun <<'END'
#!/bin/sh
[ -e /sys/fs/cgroup/cgroup.controllers ] ||
  exec unshare --mount sh -c 'umount --recursive /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$0" "$@"' /run/hostile/crun "$@"
exec /usr/bin/crun "$@"
END
}

prepare_host() {
  host_up && host_install && configure || return 1
  host_run mkdir -p /run/hostile && install_crun &&
    host_run install -m 0755 /dev/stdin /run/hostile/hostile <"$O/bin/hostile"
}

# Prints what is on the host besides files: mounts, interfaces, processes, cgroups of containers.
state() {
  host_run sh -c "
    awk '{ print \"mount\", \$5 }' /proc/self/mountinfo | sort
    ip -o link show | sed -E 's/^[0-9]+: ([^:@]*).*/link \\1/' | sort
    ps -eo comm= | grep -E '^(runc|crun|ipu|hostile|x)' | sort | sed 's/^/process /'
    find /sys/fs/cgroup -type d -path '*/$HOST_CGROUP/hostile-*' | sed 's/^/cgroup /'
    find /run/oci /run/oci-crun /run/ipu-container-toolkit/leases -mindepth 1 2>/dev/null | sed 's/^/left /'"
}

# Prints the files that changed after MARK, but those that the program looks at after each start, those of the product, of
# the low-level runtimes, of this test and of its shell.
changed_files() { # MARK
  # shellcheck disable=SC2016
  host_run sh -c '
    find /dev /run /usr/local /var/tmp /etc/ipuof.conf.d -path /run/changes -prune -o -cnewer "$1" -print
    cd /run/changes && find . -cnewer "$1" | sed "s,^[.],,"' sh "$1" |
    grep -vE '^/(|run|run/(hostile|service|ipu|ipu-container-toolkit|oci|oci-crun|runc|crun|lock)(/.*)?|var/(lib|log)(/ipu-container-toolkit(/.*)?)?|etc/ipuof.conf.d(/.*)?)$'
}

is_calm() {
  local now
  now=$(state)
  ! grep -qE '^(process|left|cgroup) ' <<<"$now"
}

gave_all_back() {
  host_run ipuctl gc >/dev/null 2>&1
  [ "$(host_run ipuctl ps --output json)" = '[]' ] && [ "$(state)" = "$before" ]
}

# One after the other in batches, until there were enough or the time is over. Prints the lines of the program.
start_all() { # FIRST COUNT
  local first=$1 left=$2 batch status
  while [ "$left" -gt 0 ] && [ "$SECONDS" -lt "$until" ]; do
    batch=$((left < 20 ? left : 20))
    host_run /run/hostile/hostile "/run/hostile/$first" "$first" "$batch" "/$HOST_CGROUP"
    status=$?
    [ "$status" -le 1 ] || echo "not ok the program ended with exit status $status in the seeds from $first"
    host_run rm -rf "/run/hostile/$first"
    first=$((first + batch))
    left=$((left - batch))
  done
}

# Prints the results of one host.
worker() { # NUMBER
  local share=1000000 until before
  trap host_down EXIT
  trap 'exit 143' TERM
  prepare_host >"$work/host.$1" 2>&1 || { cat "$work/host.$1"; echo 'not ok the host did not start'; return; }
  [ -z "$starts" ] || share=$(((starts + hosts - 1 - $1) / hosts))
  # The first start makes what stays: directories and tables.
  host_run /run/hostile/hostile /run/hostile/warm 0 6 "/$HOST_CGROUP" >/dev/null
  host_run ipuctl gc >/dev/null 2>&1
  wait_until 10 is_calm || echo 'not ok something runs before the first start'
  before=$(state)
  until=$((SECONDS + seconds))
  [ -z "$starts" ] || until=$((SECONDS + 100000))
  host_run touch /run/hostile/mark
  start_all "$((seed + $1 * 1000000))" "$share"
  wait_until 20 gave_all_back || { echo 'not ok something is left:'; diff <(echo "$before") <(state); host_run ipuctl ps; }
  changed_files /run/hostile/mark | sed 's/^/not ok a file of the host changed: /'
}

for ((i = 0; i < hosts; ++i)); do worker "$i" >"$work/lines.$i" & done
wait
cat "$work"/lines.* | grep -E '^not ok|^[<>]' | head -n 50
totals=$(cat "$work"/lines.* | awk '
  / started, / { way = $0; sub(/:.*/, "", way); n = split($0, word, " "); started[way] += word[n - 3]; refused[way] += word[n - 1] }
  /^the slowest: / { if ($3 > slowest) slowest = $3; swaps += $5; old += $7 }
  END {
    for (way in started) { printf "# %s: %d started, %d refused\n", way, started[way], refused[way]; s += started[way]; r += refused[way] }
    printf "# %d starts, %d of them refused; the slowest took %d ms; %d swaps\n", s + r, r, slowest, swaps
    if (old > 0) printf "# in %d of them the low-level runtime itself was led outside, to make /dev or the place of a mount (as in CVE-2024-45310)\n", old
    exit !(s > 0 && r > 0)
  }')
some=$?
echo "$totals"
if [ "$some" -eq 0 ] && ! grep -qhE '^not ok' "$work"/lines.*; then
  echo 'ok 1 - hostile images change nothing outside their containers, do not hang, and leave nothing'
else
  echo 'not ok 1 - hostile images change nothing outside their containers, do not hang, and leave nothing'
  exit 1
fi

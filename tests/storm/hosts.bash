# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A storm of many hosts on the throw-away host of tests/support/host.sh, for sourcing after it and storm.bash. Hosts with
# a state directory, a network and a pid 1 of their own share a simulated POD256 and three members of etcd. Workers start
# containers with the low-level runtime, while hosts lose power, and members of etcd, the controller and links fail. Then
# all who know of the containers must agree. Each function that can fail prints what it found wrong.

# In the throw-away host.
HOSTS_FOLDER=/run/hosts-storm

in_hosts_folder() { # COMMAND...
  # shellcheck disable=SC2016
  host_run sh -e -c 'cd "$0" && exec "$@"' "$HOSTS_FOLDER" "$@"
}

# Returns when all is over: after SECONDS, or up to six times as long until STARTS containers were started, and the time
# to come to rest. All that it starts is in namespaces of its own, and ends with their pid 1, or after three minutes more.
hosts_rage() { # HOSTS WORKERS SECONDS SEED STARTS
  hosts_clean
  host_run mkdir -p "$HOSTS_FOLDER" /run/netns /run/oci /etc/ipu-container-toolkit /run/ipu-container-toolkit \
    /var/lib/ipu-container-toolkit
  tar -C "$STORM" -c . | host_run tar -C "$HOSTS_FOLDER" -x --no-same-owner
  # shellcheck disable=SC2016
  in_hosts_folder sh -e -c '
    cd hosts
    mkdir -p log held rest events findings fences rootfs/bin
    cp "$(command -v busybox)" rootfs/bin
    ln -s busybox rootfs/bin/sleep
    runc spec
    jq --arg cgroup "/$0" ".process.terminal = false | .process.args = [\"sleep\", \"3600\"] |
      .process.env = [\"PATH=/bin\", \"@ENV@\"] | .root = {path: \"$PWD/rootfs\", readonly: true} |
      .linux.cgroupsPath = \$cgroup + \"/@CGROUP@\"" config.json >bundle.json
    rm config.json' "$HOST_CGROUP"
  in_hosts_folder timeout --kill-after 5 $((6 * $3 + 420)) unshare --mount --net --pid --ipc --uts --propagation private \
    --fork --kill-child bash hosts/world.sh "$@" || return 1
  in_hosts_folder test -e hosts/finished || { echo 'the storm did not end'; return 1; }
}

hosts_clean() { host_run rm -rf "$HOSTS_FOLDER"; }

hosts_outcomes() {
  # shellcheck disable=SC2016
  in_hosts_folder sh -c 'cd hosts && touch log/troubles && crowd=$(($(cat workers) * $(ls -d host[0-9]* | wc -l))) &&
    awk -v crowded=$((crowd > 2 * $(nproc))) -f ../outcomes.awk -f errors.awk log/troubles log/*' |
    sort -t $'\t' -k 1,1 -k 2,2nr -k 3
}

hosts_started() { # AT-LEAST
  local started
  started=$(hosts_outcomes | awk -F '\t' '$1 == "worked" && $3 ~ /^run/ { n += $2 } END { print n + 0 }')
  [ "$started" -ge "$1" ] || { echo "only $started containers were started"; return 1; }
}

# For a storm that is long enough: the judge has something to judge.
hosts_served_large() {
  # shellcheck disable=SC2016
  in_hosts_folder sh -c 'cat hosts/log/*.*.*' | awk -F '\t' '$3 ~ /^run/ && $5 == 0 && $7 ~ /^64/ { n++ } END { exit n == 0 }' ||
    { echo 'no request for 64 IPUs was served'; return 1; }
}

# So it has of backfill: smaller requests got IPUs while others were pinned for a larger one.
hosts_passed() {
  # shellcheck disable=SC2016
  in_hosts_folder sh -c 'jq -r -f hosts/history.jq hosts/etcd.jsonl' | awk -F '\t' '
    $2 == "queue" && $9 != "" { pinned[$3] }
    $2 == "no-queue" || ($2 == "queue" && $9 == "") { delete pinned[$3] }
    $2 == "grants" && $4 < 64 && !($3 in seen) { for (one in pinned) { n++; break } }
    $2 == "grants" { seen[$3] }
    END { exit n == 0 }' || { echo 'no request passed a larger one'; return 1; }
}

# So it has of the warm pool: partitions were taken by a host that had not made them, and given back.
hosts_shared_warm() {
  # shellcheck disable=SC2016
  in_hosts_folder sh -c 'jq -r -f hosts/history.jq hosts/etcd.jsonl' | awk -F '\t' '
    { n = split($3, part, "/"); name = part[n] }
    $2 == "warm" { maker[name] = $6 }
    $2 == "warm" && $4 == "removing" { removed = 1 }
    $2 == "grants" && $7 in maker && maker[$7] != $6 { taken = 1 }
    END { exit !(taken && removed) }' || { echo 'no warm partition was taken from another host, or none given back'; return 1; }
}

# Each trouble that there is came at least once.
hosts_had_all_troubles() {
  local kind kinds
  # shellcheck disable=SC2016
  kinds=$(in_hosts_folder awk -F '\t' '{ print $3 }' hosts/log/troubles)
  for kind in host member quorum controller cut fence unplug; do
    grep -qx "$kind" <<<"$kinds" || { echo "there was no trouble of the kind '$kind'"; return 1; }
  done
}

hosts_had_no_other_errors() {
  if hosts_outcomes | grep '^unexpected'; then
    in_hosts_folder cat hosts/log/troubles
    return 1
  fi
}

hosts_never_shared() {
  local findings
  findings=$(in_hosts_folder bash hosts/judge.sh hosts) || return 1
  [ -z "$findings" ] || { head -n 40 <<<"$findings"; return 1; }
}

hosts_agree() { ! in_hosts_folder grep . hosts/findings/agreement; }
hosts_leave_nothing() { ! in_hosts_folder grep . hosts/findings/remains; }

# For people: what happened how often.
hosts_figures() {
  in_hosts_folder cat hosts/rest/figures
  # shellcheck disable=SC2016
  in_hosts_folder awk -F '\t' '{ n[$3]++; s[$3] += $2 - $1 } END { for (k in n) printf "%6d %s, %.1f s\n", n[k], k, s[k] }' \
    hosts/log/troubles
  hosts_outcomes | awk -F '\t' '{ printf "%6d %s %s%s\n", $2, $3, $1, $4 == "" ? "" : ": " $4 }'
}

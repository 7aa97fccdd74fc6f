# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An etcd for the hosts of a test. For sourcing after support.

CONFIG=/etc/ipu-container-toolkit/config.toml
ENDPOINT=127.0.0.1:23790       # where it listens,
ETCD_NETNS=/proc/self/ns/net   # in this network namespace,
ETCD_SCHEME=http
ETCD_OPTIONS=()
ETCDCTL_OPTIONS=()

# Adds [fleet] to the configuration, as its last section.
configure_fleet() { in_host sh -c "printf '[fleet]\nendpoints = [\"%s\"]\n' $ENDPOINT >>$CONFIG"; }

# Takes [fleet] out again.
# shellcheck disable=SC2016
unconfigure_fleet_only() { in_host sed -i '/^\[fleet\]/,$d' "$CONFIG"; }

unconfigure_fleet() {
  unconfigure_fleet_only
  in_host rm -rf /run/etcd
  forget_fleet
}

# The hosts of the test join another fleet next.
forget_fleet() {
  in_host python3 -c '
import os, sqlite3, sys
for path in sys.argv[1:]:
    if os.path.exists(path):
        ledger = sqlite3.connect(path)
        ledger.execute("DELETE FROM meta WHERE name IN (?, ?, ?, ?)", ["fleet", "fleet_mark", "own_fence", "suspects"])
        ledger.execute("DELETE FROM meta WHERE name GLOB ?", ["fenced/*"])
        ledger.commit()' /var/lib/ipu-container-toolkit/ledger.db /run/hostb/lib/ledger.db /run/other-host/state/ledger.db
}

etcd_start() {
  # shellcheck disable=SC2016
  in_host sh -e -c '
    mkdir -p /run/etcd
    url=$1 netns=$2
    shift 2
    setsid nsenter --net="$netns" etcd --data-dir /run/etcd/data --listen-client-urls "$url" --advertise-client-urls "$url" \
      --listen-peer-urls http://127.0.0.1:23800 "$@" >>/run/etcd/log 2>&1 &
    echo $! >/run/etcd/pid' sh "$ETCD_SCHEME://$ENDPOINT" "$ETCD_NETNS" "${ETCD_OPTIONS[@]}"
  wait_until 20 etcd_answers || fail "$(in_host tail -n 5 /run/etcd/log)"
}

etcd_answers() { etcd_control get / >/dev/null 2>&1; }

etcd_stop() {
  # shellcheck disable=SC2016
  in_host sh -c '
    [ -e /run/etcd/pid ] || exit 0
    pid=$(cat /run/etcd/pid)
    kill -9 "$pid" || true
    for _ in $(seq 400); do [ -e "/proc/$pid" ] || break; sleep 0.05; done
    rm -f /run/etcd/pid'
}

etcd_control() {
  in_host env ETCDCTL_API=3 etcdctl --endpoints "$ETCD_SCHEME://$ENDPOINT" "${ETCDCTL_OPTIONS[@]}" "$@"
}

# Ends all leases of etcd, as a leader may that goes on after a stall. Such a leader may be faster with some of them.
revoke_all() {
  local lease said
  for lease in $(etcd_control lease list | sed -n 's/^[0-9a-f]\{8,\}$/&/p'); do
    said=$(etcd_control lease revoke "$lease" 2>&1) || [[ $said == *'requested lease not found'* ]] || fail "$said"
  done
}

# The keys of the fleet below KIND/, a line each. It fails if etcd does not answer.
etcd_keys() { # KIND
  local all
  all=$(etcd_control get --prefix --keys-only "/ipu-container-toolkit/$1/") || {
    echo 'etcd does not answer'
    return 1
  }
  sed '/^$/d' <<<"$all"
}
# Prints how many of them match PATTERN.
count_keys() { # KIND [PATTERN]
  local all
  all=$(etcd_keys "$1") || return 1
  awk -v pattern="${2:-.}" '$0 ~ pattern { n++ } END { print n + 0 }' <<<"$all"
}
has_keys() { [ "$(count_keys "$1")" = "$2" ]; } # KIND NUMBER
claims() { count_keys partitions /claims/; }

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For sourcing by measure.sh, with its functions and variables. Makes another host in a mount namespace: its configuration
# is this host's with a fleet, and its ledger its own. Sets FLEET to that namespace.
etcd_at=127.0.0.1:23790

fleet_up() {
  local folder
  etcd --data-dir /run/bench/etcd --listen-client-urls "http://$etcd_at" --advertise-client-urls "http://$etcd_at" \
    --listen-peer-urls http://127.0.0.1:23800 --log-level error >etcd.log 2>&1 &
  started+=($!)
  for folder in etc lib run; do mkdir -p "other/$folder"; done
  {
    cat one_pool.toml
    printf '[host]\nid = "bench"\n'
    printf '[fleet]\nendpoints = ["%s"]\n' "$etcd_at"
  } >other/etc/config.toml
  # shellcheck disable=SC2016
  unshare --mount --propagation private sh -e -c '
    mount --bind other/etc /etc/ipu-container-toolkit
    mount --bind other/lib /var/lib/ipu-container-toolkit
    mount --bind other/run /run/ipu-container-toolkit
    touch other/ready
    exec sleep 36000' &
  FLEET=/proc/$!/ns/mnt
  started+=($!)
  for ((i = 0; i < 100; ++i)); do
    [ -e other/ready ] && ETCDCTL_API=3 etcdctl --endpoints "http://$etcd_at" get / >/dev/null 2>&1 && return
    sleep 0.1
  done
  echo 'etcd does not answer' >&2
  return 1
}

compare_fleet() { # WRAPPER ROUNDS
  local id here="nsenter --mount=/proc/1/ns/mnt" there="nsenter --mount=$FLEET"
  compare 'a container with IPUs, and with a fleet, from start to end by runc run' "$2" "$REST" \
    "alone=$here $1 run --bundle /run/bench/instant b{}" "fleet=$there $1 run --bundle /run/bench/instant b{}"
  echo 'resident memory of ipu-agent in a fleet, in KiB'
  grep -q "^ipu:" /etc/group || groupadd --system ipu
  id ipu-agent >/dev/null 2>&1 || useradd --system ipu-agent
  $there ipu-agent >agent.log 2>&1 &
  started+=($!)
  sleep 12
  # Its door is another process.
  for id in $! $(pgrep -P $!); do sed -n "s/^VmRSS:[[:space:]]*\([0-9]*\).*/  \1 $(cat "/proc/$id/comm")/p" "/proc/$id/status"; done
}

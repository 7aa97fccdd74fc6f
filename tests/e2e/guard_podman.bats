#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The guard beside an engine that is not docker: podman, with a bridge of the CNI plugins, or of netavark.

load support
load podman

setup() {
  set_up_podman
  make_network
  ipuctl runtime configure podman
}

make_network() {
  if [ "$(network_backend)" = netavark ]; then
    in_host podman network create --disable-dns --interface-name cni-guarded --subnet 10.99.0.0/24 guarded
    # docker drops what the host forwards for others, and netavark's own table cannot undo this as the CNI plugin does.
    in_host iptables -I DOCKER-USER -i cni-guarded -j ACCEPT
    in_host iptables -I DOCKER-USER -o cni-guarded -j ACCEPT
    return
  fi
  in_host mkdir -p /etc/cni/net.d
  in_host tee /etc/cni/net.d/87-guarded.conflist >/dev/null <<END
{"cniVersion": "0.4.0", "name": "guarded", "plugins": [
  {"type": "bridge", "bridge": "cni-guarded", "isGateway": true, "ipMasq": true,
   "ipam": {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "10.88.0.0/24"}]]}},
  {"type": "firewall"}]}
END
}

teardown() {
  host_config
  ipuctl gc
  remove_containers
  if [ "$(network_backend)" = netavark ]; then
    in_host podman network rm --force guarded
    in_host iptables -D DOCKER-USER -i cni-guarded -j ACCEPT
    in_host iptables -D DOCKER-USER -o cni-guarded -j ACCEPT
  fi
  in_host ip link delete cni-guarded || true
  in_host rm -f /etc/cni/net.d/87-guarded.conflist
  tear_down_podman
  assert_nothing_left
}

guard_forwarding() { # true or false
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[network]\nguard_forwarding = '"$1"
  ipuctl gc
  host_config
}

@test "a container without IPUs on the bridge of podman reaches the fabric only if the host does not guard it" {
  local endpoint
  start web -e IPU_COUNT=4
  endpoint=$(first_endpoint web)
  # shellcheck disable=SC2086
  {
    run_podman_in guarded -- nc -w 2 $endpoint
    guard_forwarding true
    run ! run_podman_in guarded -- nc -w 2 $endpoint
    in_host busybox nc -w 2 $endpoint
    guard_forwarding false
    run_podman_in guarded -- nc -w 2 $endpoint
  }
}

# SPDX-License-Identifier: Apache-2.0
# podman of the throw-away host, with storage of its own.
# shellcheck shell=bash

set_up_podman() {
  in_host mkdir -p /etc/containers /run/podman-e2e
  in_host cp -a /run/busybox/bin /run/busybox/lib /run/busybox/lib64 /run/podman-e2e
  in_host tee /etc/containers/storage.conf >/dev/null <<END
[storage]
driver = "vfs"
runroot = "/run/podman-e2e/run"
graphroot = "/run/podman-e2e/root"
END
  in_host tee /etc/containers/containers.conf >/dev/null <<END
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "$(network_backend)"
END
}

# From version 5 on, podman has no networks of the CNI plugins.
network_backend() {
  local version
  version=$(in_host podman --version)
  version=${version##* }
  if [ "${version%%.*}" -lt 5 ]; then echo cni; else echo netavark; fi
}

tear_down_podman() {
  in_host rm -rf /etc/containers/containers.conf.d/ipu-container-toolkit.conf /etc/containers/storage.conf \
    /etc/containers/containers.conf /run/podman-e2e
}

# Starts a container of busybox.
run_podman_in() { # NETWORK [OPTION...] -- COMMAND...
  local network=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  in_host timeout "$LIMIT" podman --runtime ipu run --rm --cgroup-parent "/$HOST_CGROUP" --network "$network" \
    "${options[@]}" --rootfs /run/podman-e2e /bin/busybox "$@"
}

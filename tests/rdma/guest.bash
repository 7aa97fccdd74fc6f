# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The virtual machine as a host with an RDMA device, for sourcing in it after tests/support/host.sh,
# whose words it gives a meaning here: the machine itself is the host, and systemd runs docker.
#
#   host                                        network namespace "pod"
#   rnic0  10.5.200.1/16, MTU 9000, rxe0 ----   fab0: all IPU-Machines, 10.5.1.0/24
#   mgmt0  10.1.3.1/24                   ----   ctl0: the V-IPU controller, 10.1.3.101
#   docker0, eth0 (the way in), lo

# What containers run; all of it is put into the image "busybox".
TOOLS=(ibv_devinfo ibv_rc_pingpong ib_write_bw rping rdma /usr/local/libexec/resolve)
PRODUCT_CONFIG=/etc/ipu-container-toolkit/config.toml
# All waiting is for an emulated processor.
GID_WAIT=8s
RAIL_RANGE=10.5.200.10-10.5.200.200

host_run() { env -i PATH="$HOST_PATH" HOME=/root LC_ALL=C.UTF-8 "$@"; }

guest_network() {
  modprobe --all ib_uverbs ib_umad rdma_ucm rdma_rxe macvlan veth
  ip netns add pod
  ip link add rnic0 mtu 9000 type veth peer name fab0 mtu 9000 netns pod
  ip link add mgmt0 type veth peer name ctl0 netns pod
  ip address add 10.5.200.1/16 dev rnic0
  ip address add 10.1.3.1/24 dev mgmt0
  ip link set rnic0 up
  ip link set mgmt0 up
  ip -n pod address add 10.1.3.101/24 dev ctl0
  local link
  for link in lo fab0 ctl0; do
    ip -n pod link set "$link" up
  done
  ip -n pod route add local 10.5.1.0/24 dev lo
  ip -n pod route add 10.5.0.0/16 dev fab0
  rdma link add rxe0 type rxe netdev rnic0
}

# The units of the product run as README.md says, for the users alice, of the group ipu, and carol. make install has made
# no users, because of its DESTDIR.
guest_units() {
  systemd-sysusers
  local user
  for user in alice carol; do
    getent passwd "$user" >/dev/null || useradd "$user"
  done
  readme 'systemctl enable'
  readme usermod
}

# Runs the commands of README.md that begin with these words, as root.
readme() { # WORDS
  local commands
  commands=$(sed -n ":a; /\\\\\$/ { N; s/\\\\\n *//; ba }; s/^ *sudo \($1\b\)/\1/p" README.md)
  [ -n "$commands" ] || { echo "README.md has no '$1'" >&2; return 1; }
  bash -exc "$commands"
}

# Makes the machine such that it is the same host after a reboot, with docker as it is on most hosts. Two containers have
# IPUs.
guest_before_reboot() {
  cat >/etc/systemd/system/guest.service <<END
[Unit]
Description=Network and simulator of the tests
Before=network-online.target ipu-border.service

[Service]
Type=oneshot
RemainAfterExit=yes
WorkingDirectory=$PWD
Environment=BINDIR=$BINDIR
ExecStart=bash -c '. tests/support/host.sh; . tests/rdma/guest.bash; guest_network && sim_start'

[Install]
WantedBy=multi-user.target
END
  # TEST may have left out all tests so far.
  [ -e /sys/class/net/rnic0 ] || guest_network
  guest_docker
  configure_rail 'parent = "rnic0"'
  sed -i 's/^\[network\]$/&\nguard_forwarding = true/' "$PRODUCT_CONFIG"
  guest_units
  systemctl enable guest.service docker.service
  sim_start
  docker run --detach --runtime=ipu --name once -e IPU_COUNT=4 busybox sleep 3600
  docker run --detach --runtime=ipu --name again --restart always -e IPU_COUNT=4 busybox sleep 3600
}

guest_docker() {
  mkdir -p /etc/docker
  jq -n --arg path "$BINDIR/ipu-container-runtime" '{runtimes: {ipu: {path: $path}}}' >/etc/docker/daemon.json
  systemctl start docker.service
  import_tools
}

# The files that a program needs to run: itself, its libraries, the loader.
files_of() { # PROGRAM...
  printf '%s\n' "$@"
  ldd "$@" | awk '$2 == "=>" { print $3 } $1 ~ "^/.*ld-linux" { print $1 }'
}

# An image "busybox" that holds busybox, a link to it for each of its commands, and TOOLS.
import_tools() {
  local root command tools=() drivers=(/usr/lib/*/libibverbs/librxe*.so)
  root=$(mktemp -d)
  for command in "${TOOLS[@]}"; do
    tools+=("$(command -v "$command")")
  done
  # pthread_exit loads libgcc_s by itself.
  { files_of "${tools[@]}" "${drivers[@]}"; echo /etc/libibverbs.d/rxe.driver; echo /usr/lib/*/libgcc_s.so.1; } |
    sort -u | tar -C / -ch --absolute-names --files-from - | tar -C "$root" -x
  mkdir -p "$root/bin" "$root/tmp"
  install "$(command -v busybox)" "$root/bin/busybox"
  for command in $(busybox --list | grep -vx busybox); do
    ln -s busybox "$root/bin/$command"
  done
  tar -C "$root" -c . | docker import -c 'ENV PATH=/bin:/usr/bin:/usr/local/libexec' - busybox >/dev/null
  rm -r "$root"
}

# Configures the product: one pool on the simulator, and one rail with these lines.
configure_rail() { # LINE...
  host_config
  sed -i '/^\[\[network.rail\]\]/,$d' "$PRODUCT_CONFIG"
  printf '%s\n' '[network]' "gid_wait = \"$GID_WAIT\"" '[[network.rail]]' 'subnet = "10.5.0.0/16"' \
    "range = \"$RAIL_RANGE\"" "$@" >>"$PRODUCT_CONFIG"
}

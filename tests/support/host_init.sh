#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pid 1 of a throw-away host (see host.sh). It starts in the new namespaces, prepares file systems and network, and
# writes "PID CGROUP". Then it reaps orphaned processes until SIGTERM. When it ends, all that runs in the host ends.
set -euo pipefail

# /proc is still the outer one: field 1 is the pid there, field 22 the start time.
read -ra stat </proc/self/stat
identity="${stat[0]} ipu-host-${stat[0]}-${stat[21]}"

# /mnt is only the place for it: this mount namespace is private.
scratch=/mnt
mount -t tmpfs -o mode=0755 ipu-host "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
# HOST_LAYER: a root file system with engines of another release, which hides this machine's (tests/engines).
mount -t overlay -o "lowerdir=${HOST_LAYER:+$HOST_LAYER:}/,upperdir=$scratch/upper,workdir=$scratch/work" ipu-host "$scratch/root"
cd "$scratch/root"

mount -t proc proc proc
# A new sysfs shows the interfaces of the new network namespace; securityfs is left out, so that dockerd
# loads no AppArmor profile into the machine's kernel.
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup

mount -t tmpfs -o mode=0755 tmpfs dev
for device in null zero full random urandom tty; do
  cp -a "/dev/$device" dev/
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr

# The host must not see what this machine has of docker's and ours. And an overlay cannot be the upper layer of another
# one, so dockerd needs a real file system.
mkdir -p var/lib/docker
for place in run tmp var/tmp var/lib/docker var/lib/containerd usr/local etc/docker etc/vipu \
  etc/ipuof.conf.d; do
  [ ! -d "$place" ] || mount -t tmpfs -o "mode=$(stat -c %a "$place")" tmpfs "$place"
done
rm -rf etc/ipu-container-toolkit var/lib/ipu-container-toolkit
# HOST_TREE: a folder of this machine that the host may read at /srv/tree.
if [ -n "${HOST_TREE:-}" ]; then
  mkdir -p srv/tree
  mount --bind "$HOST_TREE" srv/tree
  mount -o remount,bind,ro srv/tree
fi
# HOST_CHANGES: shows at /run/changes what the host wrote into its root file system, without what others write into the
# machine's meanwhile.
if [ -n "${HOST_CHANGES:-}" ]; then
  mkdir run/changes
  mount --bind "$scratch/upper" run/changes
  mount -o remount,bind,ro run/changes
fi
sed -i -E '/^(ipu-vipu-client|ipu-vipu-endpoint|ipu-agent|ipu):/d' etc/passwd etc/group etc/shadow etc/gshadow
# The tests name runc as Debian's package does; that of containerd.io is in /usr/bin alone.
[ -e usr/sbin/runc ] || ln -s ../bin/runc usr/sbin/runc

mkdir run/machine
pivot_root . run/machine
umount -l /run/machine
rmdir /run/machine
cd /
hostname ipu-host

ip link set lo up
ip netns add pod
ip link add rnic0 mtu 9000 type veth peer name fab0 mtu 9000 netns pod
ip link add mgmt0 type veth peer name ctl0 netns pod
ip address add 10.5.200.1/16 dev rnic0
ip address add 10.1.3.1/24 dev mgmt0
ip link set rnic0 up
ip link set mgmt0 up
ip -n pod address add 10.1.3.101/24 dev ctl0
for link in lo fab0 ctl0; do
  ip -n pod link set "$link" up
done
# With this route, each address of the IPU-Machines is pod's own, without 256 lines of `ip address`.
ip -n pod route add local 10.5.1.0/24 dev lo
ip -n pod route add 10.5.0.0/16 dev fab0

exec 2>/run/init.log
echo "$identity"
exec >/dev/null </dev/null
trap 'exit 0' TERM
# While bash waits, it reaps every child that dies, also adopted ones.
while :; do
  sleep infinity &
  wait $! || true
done

#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# Pid 1 of the virtual machine's initrd: loads the modules for disk and network, gives the system on the disk the keys
# of this run, and becomes that system.
set -e

/bin/busybox --install -s /bin
mkdir -p /dev /proc /sys /disk
mount -t devtmpfs devtmpfs /dev
mount -t proc proc /proc
mount -t sysfs sysfs /sys
echo 'initrd: started'

while read -r module; do
  insmod "/modules/$module"
done </modules/order
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
mount -t ext4 /dev/vda /disk

mkdir -p /disk/root/.ssh
chmod 0700 /disk/root/.ssh
cp /keys/authorized_keys /disk/root/.ssh/
cp /keys/ssh_host_ed25519_key /disk/etc/ssh/
chmod 0600 /disk/etc/ssh/ssh_host_ed25519_key
umount /dev /proc /sys
exec switch_root /disk /sbin/init

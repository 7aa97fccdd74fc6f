# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions for a virtual machine, for sourcing. The machine boots an image of image.sh, and what it writes is lost. It
# lives in a network namespace of its own that has only loopback: ssh through that namespace is the way in, and there is
# no way out. The machine ends in vm_stop, and by itself when the shell that called vm_start dies.

VM_MEMORY=3072
VM_CPUS=2
# In seconds: emulation is slow.
VM_BOOT_LIMIT=180
# On some machines that have kvm, it runs no kernel, or one that soon panics. So if the machine does not boot with the
# first accelerator, the second is tried.
VM_ACCELERATORS=('kvm -cpu host' 'tcg,thread=multi -cpu max')

# Makes the keys of both sides in FOLDER, which all boots share.
vm_init() { # FOLDER
  VM=$1
  ssh-keygen -q -t ed25519 -N '' -f "$VM/key"
  ssh-keygen -q -t ed25519 -N '' -f "$VM/host_key"
  mkdir "$VM/keys"
  cp "$VM/key.pub" "$VM/keys/authorized_keys"
  cp "$VM/host_key" "$VM/keys/ssh_host_ed25519_key"
  echo "127.0.0.1 $(cat "$VM/host_key.pub")" >"$VM/known_hosts"
}

# Boots IMAGE with KERNEL-PARAMETERs; returns when the machine takes commands.
vm_start() { # IMAGE [KERNEL-PARAMETER...]
  local accelerator begin=$SECONDS
  for accelerator in "${VM_ACCELERATORS[@]}"; do
    vm_launch "$accelerator" "$@"
    if vm_boots "$accelerator"; then
      VM_ACCELERATORS=("$accelerator")
      echo "# booted in $((SECONDS - begin)) s, ${accelerator%% *}: $(vm_run uname -r)"
      return
    fi
    echo "# no boot with ${accelerator%% *}: $(vm_last_words)"
    vm_stop
  done
  echo 'vm_start: the virtual machine does not start; its last words:' >&2
  tail -n 40 "$VM/qemu.log" "$VM/console.log" >&2
  return 1
}

vm_boots() { # ACCELERATOR
  wait_until "$(vm_patience "$1")" vm_runs_or_ends && vm_runs &&
    wait_until "$VM_BOOT_LIMIT" vm_answers_or_ends && vm_is_alive
}

# Prints why the machine ended, as far as its kernel or QEMU says.
vm_last_words() {
  grep -hm 1 -E 'BUG:|Oops|Kernel panic' "$VM/console.log" || tail -qn 1 "$VM/qemu.log" "$VM/console.log"
}

# Prints how many seconds the machine's system may take to its first line of output.
vm_patience() { # ACCELERATOR
  case $1 in kvm*) echo 10 ;; *) echo 60 ;; esac
}

vm_launch() { # ACCELERATOR IMAGE [KERNEL-PARAMETER...]
  local accelerator image=$2
  read -ra accelerator <<<"$1"
  shift 2
  cat "$image/initrd.img" <(cd "$VM" && find keys | busybox cpio -o -H newc 2>/dev/null) >"$VM/initrd.img"
  [ -e "$VM/disk.qcow2" ] || qemu-img create -q -f qcow2 -F raw -b "$image/disk.img" "$VM/disk.qcow2"
  : >"$VM/console.log"
  # setpriv: the end of this shell is the end of the machine. setsid: Ctrl-C is for this shell alone.
  # shellcheck disable=SC2016
  setpriv --pdeathsig KILL setsid unshare --net sh -c 'ip link set lo up && exec "$@"' sh \
    qemu-system-x86_64 -pidfile "$VM/pid" -accel "${accelerator[@]}" -smp "$VM_CPUS" -m "$VM_MEMORY" \
    -nodefaults -no-user-config -display none -no-reboot -serial "file:$VM/console.log" \
    -kernel "$image/vmlinuz" -initrd "$VM/initrd.img" \
    -append "console=ttyS0 quiet panic=-1 net.ifnames=0 rdinit=/init $*" \
    -drive "file=$VM/disk.qcow2,format=qcow2,if=virtio,cache=unsafe" \
    -netdev user,id=net,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:22-10.0.2.15:22 \
    -device virtio-net-pci,netdev=net,romfile= \
    </dev/null >"$VM/qemu.log" 2>&1 &
  VM_CHILD=$!
}

vm_is_alive() { [ -n "${VM_CHILD:-}" ] && kill -0 "$VM_CHILD" 2>/dev/null && ! grep -q 'emulation failure' "$VM/qemu.log"; }
vm_runs() { grep -q '^initrd: started' "$VM/console.log"; }
vm_runs_or_ends() { vm_runs || ! vm_is_alive; }
vm_answers() { vm_run true 2>/dev/null; }
vm_answers_or_ends() { vm_answers || ! vm_is_alive; }

# Runs a command line in the machine, as root.
vm_run() { # COMMAND...
  nsenter --target "$(cat "$VM/pid")" --net \
    ssh -F none -i "$VM/key" -o IdentitiesOnly=yes -o BatchMode=yes -o "UserKnownHostsFile=$VM/known_hosts" \
    -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o LogLevel=ERROR \
    root@127.0.0.1 "$@"
}

# Takes the machine's power away when all that it has written is on its disk, and boots it again from there.
vm_lose_power() { # IMAGE [KERNEL-PARAMETER...]
  # By sysrq: sync, remount read-only, reset, which ends QEMU.
  # shellcheck disable=SC2016
  vm_run 'sleep 1; for key in s u b; do echo $key >/proc/sysrq-trigger; sleep 1; done' 2>/dev/null &
  local cut=$!
  wait_until "$VM_BOOT_LIMIT" vm_has_ended || return 1
  kill "$cut" 2>/dev/null
  rm -f "$VM/pid"
  vm_start "$@"
}

vm_has_ended() { ! vm_is_alive; }

# Ends the machine, if there is one. Returns when it is gone.
vm_stop() {
  local pid
  [ -n "${VM_CHILD:-}" ] || return 0
  pid=$(cat "$VM/pid" 2>/dev/null) || pid=$VM_CHILD
  kill -KILL "$pid" 2>/dev/null || true
  wait "$VM_CHILD" 2>/dev/null || true
  unset VM_CHILD
  rm -f "$VM/pid" "$VM/disk.qcow2" "$VM/initrd.img"
}

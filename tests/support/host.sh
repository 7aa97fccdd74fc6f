# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions for a throw-away host, for sourcing. On the host the product is installed, configured and used at its real
# paths by a real dockerd. The host does not change this machine: it is one tree of processes in namespaces of its own
# (mount, network, pid, ipc, uts) over an overlay of the root file system, and what it writes goes to memory. When its
# pid 1 dies, all of it is gone. This happens in host_down, and by itself when the shell that called host_up dies, by
# whatever signal. Only empty cgroups may then stay behind, which the next host_up removes. Several hosts may exist at
# once.
#
#   host                                      network namespace "pod"
#   rnic0  10.5.200.1/16, MTU 9000   ------   fab0: all IPU-Machines, 10.5.1.0/24
#   mgmt0  10.1.3.1/24               ------   ctl0: the V-IPU controller, 10.1.3.101
#   docker0, lo

HOST_SUPPORT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Where the build put the programs, and where they are installed in the host.
O=${O:-build/${FLAVOR:-release}}
BINDIR=${BINDIR:-${PREFIX:-/usr/local}/bin}
HOST_PATH=/usr/sbin:/usr/bin:/sbin:/bin:$BINDIR
CONTROLLER=10.1.3.101:8090
SIM_LOG=/run/service/simulator.jsonl
SIM_OPTIONS=()
DOCKER_OPTIONS=()
# The options that tell dockerd about the runtime. If empty, its daemon.json must do so.
DOCKER_RUNTIME=(--add-runtime "ipu=$BINDIR/ipu-container-runtime")

# Runs CONDITION... every 50 ms until it is true; fails after SECONDS, which are those of a fast machine.
wait_until() {
  local deadline=$((SECONDS + 3 * $1 + 1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

# Makes the host, without docker, product and simulator. Sets HOST_PID (its pid 1) and HOST_CGROUP;
# a child process that inherits these can use the host too.
host_up() {
  host_sweep
  local ready
  # setpriv: the end of this shell is the end of the host. setsid: Ctrl-C is for this shell alone.
  exec {ready}< <(exec setsid setpriv --pdeathsig KILL \
    unshare --mount --net --pid --ipc --uts --propagation private --fork --kill-child \
    bash "$HOST_SUPPORT/host_init.sh" 3>&- 4>&-)
  HOST_SHELL_CHILD=$!
  if ! read -r -t 30 HOST_PID HOST_CGROUP <&"$ready"; then
    kill -KILL "$HOST_SHELL_CHILD" 2>/dev/null || true
    unset HOST_PID HOST_CGROUP HOST_SHELL_CHILD
    echo 'host_up: the throw-away host did not start' >&2
    return 1
  fi
  exec {ready}<&-
  export HOST_PID HOST_CGROUP
}

# Runs a command in the host, with a clean environment.
host_run() {
  nsenter --target "$HOST_PID" --mount --net --pid --ipc --uts --root --wd \
    env -i PATH="$HOST_PATH" HOME=/root LC_ALL=C.UTF-8 PODMAN_IGNORE_CGROUPSV1_WARNING=1 "$@"
}

# Prints the highest RLIMIT_MEMLOCK, in bytes, that the host can give to a container. It is "unlimited", unless root has
# no CAP_SYS_RESOURCE here, as in some sandboxes.
highest_memlock() {
  if host_run prlimit --memlock=unlimited:unlimited true 2>/dev/null; then
    echo unlimited
  else
    host_run prlimit --memlock --raw --noheadings --output HARD
  fi
}

# Starts a command in the host's background; its output goes to the host's /run/service/NAME.log. The command inherits
# no other descriptor: a reader of the caller's pipe must not have to wait for it.
host_spawn() { # NAME COMMAND...
  # shellcheck disable=SC2016
  host_run setsid bash -c 'log=/run/service/$1.log; pid=/run/service/$1.pid; shift; mkdir -p /run/service
    for fd in /proc/self/fd/*; do [ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"; done
    "$@" >"$log" 2>&1 </dev/null & echo $! >"$pid"' bash "$@"
}

host_signal() { # NAME SIGNAL
  # shellcheck disable=SC2016
  host_run sh -c 'kill "-$2" "$(cat "/run/service/$1.pid")"' sh "$@"
}

# Ends what host_spawn started, by SIGTERM, and by SIGKILL after 10 s. Does nothing if it is not running.
host_stop() { # NAME
  # shellcheck disable=SC2016
  host_run bash -c '
    pid=$(cat "/run/service/$1.pid" 2>/dev/null) || exit 0
    rm -f "/run/service/$1.pid"
    kill "$pid" 2>/dev/null || exit 0
    for _ in {1..200}; do [ -e "/proc/$pid" ] || exit 0; sleep 0.05; done
    kill -KILL "$pid" 2>/dev/null || true' bash "$1"
}

# Ends the host that this shell made, if any, and not one that it inherited. Returns when its processes and cgroups are gone.
host_down() {
  [ -n "${HOST_SHELL_CHILD:-}" ] || return 0
  kill -TERM "$HOST_PID" 2>/dev/null || true
  wait_until 5 host_is_gone || kill -KILL "$HOST_PID" 2>/dev/null || true
  wait_until 15 host_is_gone || echo "host_down: pid 1 of the host, $HOST_PID, does not end" >&2
  wait "${HOST_SHELL_CHILD:-}" 2>/dev/null || true
  remove_cgroups "$HOST_CGROUP"
  unset HOST_PID HOST_CGROUP HOST_SHELL_CHILD
}

host_is_gone() { ! is_host_alive "$HOST_CGROUP"; }

# Succeeds if the pid 1 of a host lives. The name of the host's cgroup identifies it: ipu-host-PID-STARTTIME.
is_host_alive() { # CGROUP
  local stat pid=${1#ipu-host-}
  stat=$(cat "/proc/${pid%-*}/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  # Without "pid (comm) ", field 1 is the state and field 20 the start time.
  read -ra stat <<<"$stat"
  [ "${stat[0]}" != Z ] && [ "${stat[19]}" = "${pid#*-}" ]
}

# Removes the cgroups of hosts that died without host_down.
host_sweep() {
  local path
  for path in /sys/fs/cgroup/ipu-host-* /sys/fs/cgroup/*/ipu-host-*; do
    [ -d "$path" ] || continue
    is_host_alive "${path##*/}" || remove_cgroups "${path##*/}"
  done
}

remove_cgroups() { # CGROUP
  local path
  for path in "/sys/fs/cgroup/$1" /sys/fs/cgroup/*/"$1"; do
    [ ! -d "$path" ] || wait_until 5 remove_cgroup "$path" || echo "cannot remove $path" >&2
  done
}

# A cgroup whose last process has just died may be busy for a moment.
remove_cgroup() {
  find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
  [ ! -d "$1" ]
}

# Installs the built product in the host. Run it in the project's folder. Only one runs at a time, because make writes
# there.
host_install() {
  flock "$O" env MAKEFLAGS='' make --no-print-directory -s O="$O" DESTDIR="/proc/$HOST_PID/root" BINDIR="$BINDIR" \
    PREFIX="${PREFIX:-/usr/local}" install >/dev/null
}

# Configures the product: one pool on the simulator, one rail. The file is a new one that everybody may read, whatever a
# test before made of the old one.
host_config() {
  host_run install -D -m 0644 /dev/stdin /etc/ipu-container-toolkit/config.toml <<END
[pool]
name = "pod64"
provider = "vipu"
controller = "$CONTROLLER"
timeout = "20s"

[[network.rail]]
parent = "rnic0"
subnet = "10.5.0.0/16"
range = "10.5.200.10-10.5.200.200"
END
}

# Starts the V-IPU controller and the IPU-Machines of a POD64, with the options in SIM_OPTIONS. Returns when the
# controller answers. Its log, $SIM_LOG in the host, starts anew. One that runs already ends.
sim_start() {
  sim_stop
  host_run rm -f "$SIM_LOG"
  host_spawn simulator ip netns exec pod vipu-simulator --listen "$CONTROLLER" --pod "${SIM_POD:-pod64}" \
    --create-delay "${SIM_CREATE_DELAY:-50ms}" --state /var/lib/vipu-simulator.json --log "$SIM_LOG" \
    --endpoints --fabric 10.5.1.0/24 "${SIM_OPTIONS[@]}"
  wait_until 30 sim_answers && return
  echo 'sim_start: vipu-simulator does not answer' >&2
  host_run cat /run/service/simulator.log >&2
  return 1
}

sim_stop() { host_stop simulator; }
sim_answers() { host_run busybox nc -w 1 "${CONTROLLER%:*}" "${CONTROLLER#*:}" </dev/null >/dev/null 2>&1; }

# Starts dockerd with the options in DOCKER_RUNTIME and DOCKER_OPTIONS, and with one image, "busybox". Returns when
# dockerd answers.
docker_start() {
  host_spawn docker dockerd --data-root /var/lib/docker --exec-root /run/docker \
    -H unix:///run/docker.sock --pidfile /run/docker.pid --storage-driver overlay2 \
    --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$HOST_CGROUP" \
    "${DOCKER_RUNTIME[@]}" "${DOCKER_OPTIONS[@]}"
  if ! wait_until 30 docker_answers; then
    echo 'docker_start: dockerd does not answer' >&2
    host_run tail -n 20 /run/service/docker.log >&2
    return 1
  fi
  host_run docker image inspect busybox >/dev/null 2>&1 || import_busybox
}

docker_stop() { host_stop docker; }

docker_answers() { host_run timeout 5 docker version >/dev/null 2>&1; }

# Makes an image of busybox, a link to it for each of its commands and, if it is not linked statically, its libraries.
# The image leaves out what low-level runtimes made in this root file system for bundles that use it.
import_busybox() {
  # shellcheck disable=SC2016
  host_run sh -c '
    set -e
    busybox=$(command -v busybox)
    mkdir -p /run/busybox/bin /run/busybox/lib /run/busybox/lib64 /run/busybox/tmp
    cp "$busybox" /run/busybox/bin/busybox
    for command in $(busybox --list | grep -vx busybox); do
      ln -sf busybox "/run/busybox/bin/$command"
    done
    ldd "$busybox" 2>/dev/null | grep -o "/[^ ]*" | xargs -r cp --parents -t /run/busybox
    tar -C /run/busybox -c bin lib lib64 tmp | docker import -c "ENV PATH=/bin" - busybox >/dev/null'
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing for: build, deb, demo (a real engine), e2e (tests on all engines, demo
# included), rdma (tests in a virtual machine), engines (of other releases), browser (tests of the page), fuzz, lint.
# It never removes or downgrades a package: if apt would have to, it installs nothing and names what is in the
# way. It starts no service. If nothing is missing, it does nothing. Run by a user who is not root, it prints the
# command to run.
set -euo pipefail

# The package of PACKAGE:PROGRAM,... is not necessary if other packages have brought these programs. Some other
# packages conflict with those of this list: docker-ce, containerd.io, make-guile, busybox.
declare -A packages=(
  [build]='g++ make:make pkg-config nlohmann-json3-dev libtomlplusplus-dev libsqlite3-dev nettle-dev libnl-3-dev
    libnl-route-3-dev libcap-dev libseccomp-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev
    libnghttp2-dev libssl-dev libc-ares-dev libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc
    openssl'
  [deb]='debhelper dpkg-dev jq'
  [rpm]='rpm:rpmbuild,rpm'
  [demo]='docker.io:dockerd,docker containerd:containerd,ctr,containerd-shim-runc-v2 runc:runc iptables iproute2
    util-linux mount procps busybox-static:busybox jq'
  [e2e]='crun:crun podman:podman conmon:conmon containernetworking-plugins bats strace valgrind logrotate python3-jsonschema git
    systemd:systemctl etcd-server:etcd etcd-client:etcdctl prometheus:prometheus,promtool zsh fish debhelper lintian tmux
    docker-compose ansible-core rpm rpmlint slurmctld:slurmctld slurmd:slurmd slurm-client:sbatch,scancel,scontrol,sinfo,squeue
    libslurm-dev munge:munged'
  [rdma]='mmdebstrap debian-archive-keyring qemu-system-x86 qemu-utils e2fsprogs xz-utils busybox-static:busybox
    openssh-client iproute2 util-linux librdmacm-dev'
  [engines]='mmdebstrap debian-archive-keyring'
  [browser]='chromium:chromium python3:python3'
  [fuzz]='clang-14 libclang-rt-14-dev llvm-14'
  [lint]='clang-format clang-tidy shellcheck git man-db systemd libslurm-dev'
)
# DPKG_ROOT is dpkg's own variable. It is empty, except in tests.
root=${DPKG_ROOT:-}
packages[e2e]+=" ${packages[demo]}"

die() { # MESSAGE
  echo "deps.sh: $1" >&2
  exit 1
}

# Joins lines with ", ".
join_lines() { paste -sd, | sed 's/,/, /g'; }

# Succeeds if the system has all these programs. /usr/local does not count: the tests' throw-away host hides it.
has_programs() { # PROGRAM,...
  local names PATH=$root/usr/sbin:$root/usr/bin:$root/sbin:$root/bin
  IFS=, read -ra names <<<"$1"
  type -P "${names[@]}" >/dev/null
}

# Prints the items whose packages have to be installed.
find_missing() { # PACKAGE[:PROGRAM,...]...
  local item installed
  # dpkg-query fails if it does not know one of the packages.
  installed=$(dpkg-query -W -f ' ${Package}:${db:Status-Status} ' "${@%%:*}" 2>/dev/null) || true
  for item in "$@"; do
    [[ $installed == *" ${item%%:*}:installed "* ]] ||
      { [[ $item == *:* ]] && has_programs "${item#*:}"; } || echo "$item"
  done
}

# Keeps configuration files as the administrator has them.
apt_install() { # OPTION|PACKAGE...
  apt-get --no-install-recommends --no-auto-remove -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install "$@"
}

# Downgrades are allowed here so that apt lists them instead of failing.
simulate() { # PACKAGE...
  apt_install -qq --simulate --allow-downgrades "$@"
}

# Prints "remove NAME" or "downgrade NAME" for each package that apt's simulation removes or downgrades.
find_harm() { # < SIMULATION
  local verb package old new
  while read -r verb package old new _; do
    case "$verb $old" in
      Remv* | Purg*) echo "remove $package" ;;
      # A line is "Inst NAME [OLD] (NEW ...". A new package has no OLD.
      'Inst ['*)
        old=${old#[}
        ! dpkg --compare-versions "${new#(}" lt "${old%]}" || echo "downgrade $package"
        ;;
    esac
  done
}

refuse() { # HARM ITEM...
  local harm=$1 item elsewhere culprits=() programs=()
  shift
  for item in "$@"; do
    [ -n "$(simulate "${item%%:*}" 2>/dev/null | find_harm)" ] || continue
    culprits+=("${item%%:*}")
    [[ $item != *:* ]] || programs+=("${item#*:}")
  done
  # If no package alone causes the harm, all together do.
  [ ${#culprits[@]} -gt 0 ] || culprits=("${@%%:*}")
  elsewhere="install other packages that have the programs '${programs[*]}' (docker-ce goes with containerd.io), or"
  die "nothing was installed: to install '${culprits[*]}', apt would $harm. Next: ${programs[*]:+$elsewhere }use another \
machine, and run this again. If you can do without what is in the way: apt-get install ${culprits[*]}"
}

# Keeps packages from starting services: docker.io would change the host's network. A policy-rc.d forbids
# services while this run, or an apt-get that it started, holds a lock on the file. If this run is killed, the
# file stays behind. It removes itself when somebody calls it and nobody holds the lock.
forbid_services() {
  local lock policy=$root/usr/sbin/policy-rc.d mark='Made by packaging/deps.sh of ipu-container-toolkit'
  if [ -e "$policy" ]; then
    # The administrator's own file stays in force. If the file is another run's, waits until that run ends.
    grep -qs "$mark" "$policy" || return 0
    flock "$policy" rm -f "$policy"
  fi
  temporary+=("$policy" "$policy.new")
  # shellcheck disable=SC2016
  printf '%s\n' '#!/bin/sh' "# $mark" 'exec flock --nonblock --conflict-exit-code 101 "$0" rm -f "$0"' >"$policy.new"
  chmod 0755 "$policy.new"
  exec {lock}<"$policy.new"
  flock "$lock"
  mv "$policy.new" "$policy"
}

items=()
for group in "$@"; do
  [ -n "${packages[$group]:-}" ] || { echo "deps.sh: unknown group '$group': use build, deb, rpm, demo, e2e, rdma, engines, browser, fuzz or lint" >&2; exit 2; }
  read -rd '' -a more <<<"${packages[$group]}" || true
  items+=("${more[@]}")
done
[ ${#items[@]} -gt 0 ] || exit 0
mapfile -t items < <(find_missing "${items[@]}" | sort -u)
[ ${#items[@]} -gt 0 ] || exit 0
missing=("${items[@]%%:*}")
[ "$(id -u)" -eq 0 ] || die "these packages are missing: ${missing[*]}. To install them, run as root: $0 $*"

export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
quiet=()
[ -t 1 ] || quiet=(-qq)
advice="fix what apt reports above (often the network, the proxy or /etc/apt/sources.list), and run this again"

stale=''
apt-get "${quiet[@]}" -o APT::Update::Error-Mode=any update || stale="'apt-get update' failed, and "
simulation=$(simulate "${missing[@]}") || die "${stale}apt cannot install '${missing[*]}': $advice"
harm=$(find_harm <<<"$simulation" | sort | join_lines)
[ -z "$harm" ] || refuse "$harm" "${items[@]}"
[ -z "$stale" ] || echo "deps.sh: 'apt-get update' failed: it goes on with the package lists from before" >&2

# With --print-uris, apt-get prints the sizes and installs nothing.
sizes=$(apt_install --print-uris "${missing[@]}" | sed -n 's/^Need to get \(.*\) of archives\.$/\1 to download/p
  s/^After this operation, \(.*\) of additional disk space will be used\.$/\1 on disk/p' | join_lines) || true
echo "deps.sh: installing $(grep -c '^Inst ' <<<"$simulation") packages${sizes:+ ($sizes)}: ${missing[*]} and what they need"

temporary=("$(mktemp)")
trap 'rm -f "${temporary[@]}"' EXIT
# With these traps, bash waits for apt-get before it exits.
trap 'exit 130' INT
trap 'exit 143' HUP TERM
forbid_services
if [ -t 1 ]; then
  apt_install --yes --no-remove "${missing[@]}" || true
else
  apt_install -qq --yes --no-remove "${missing[@]}" >"${temporary[0]}" 2>&1 || tail -n 30 "${temporary[0]}" >&2
fi
# apt-get's exit status does not matter: it fails because of other broken packages, and may succeed when interrupted.
mapfile -t items < <(find_missing "${items[@]}")
[ ${#items[@]} -eq 0 ] || die "could not install '${items[*]%%:*}': $advice"
[[ " ${missing[*]} " != *' docker.io '* ]] ||
  echo "deps.sh: dockerd and containerd were not started. The next boot starts them, unless you run:" \
    "systemctl disable docker.socket docker.service containerd.service"

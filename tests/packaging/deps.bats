#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# packaging/deps.sh with the real apt and dpkg, on made-up packages. APT_CONFIG and DPKG_ROOT, which apt and dpkg read
# themselves, lead to a root and to a package source of the test. Nothing of this machine changes, and no network is used.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

bats_require_minimum_version 1.5.0

# Of e2e, what no test is about: installed.
OTHERS=(git systemd crun podman conmon containernetworking-plugins iptables iproute2 util-linux mount procps bats jq
  valgrind logrotate python3-jsonschema etcd-server etcd-client prometheus zsh fish debhelper lintian tmux docker-compose
  ansible-core rpm rpmlint slurmctld slurmd slurm-client libslurm-dev munge)
DEPS=$BATS_TEST_DIRNAME/../../packaging/deps.sh

setup_file() {
  export WORK=$BATS_FILE_TMPDIR
  mkdir -p "$WORK/source" "$WORK/elsewhere" "$WORK/bin"
  make_packages
  make_programs
}

setup() {
  export ROOT=$BATS_TEST_TMPDIR/root
  export DPKG_ROOT=$ROOT APT_CONFIG=$BATS_TEST_TMPDIR/apt.conf LOG=$BATS_TEST_TMPDIR/log
  export PATH=$WORK/bin:$PATH TMPDIR=$BATS_TEST_TMPDIR
  mkdir -p "$ROOT"/var/lib/dpkg/{info,updates,triggers} "$ROOT"/var/lib/apt/lists/partial \
    "$ROOT"/var/cache/apt/archives/partial "$ROOT"/var/log/apt "$ROOT"/etc/apt/{apt.conf,preferences}.d "$ROOT"/usr/sbin
  touch "$LOG"
  printf 'Package: %s\nStatus: install ok installed\nVersion: 0\nArchitecture: all\nMaintainer: x\nDescription: x\n\n' \
    "${OTHERS[@]}" >"$ROOT/var/lib/dpkg/status"
  (cd "$ROOT/var/lib/dpkg/info" && touch "${OTHERS[@]/%/.list}")
  POLICY=$ROOT/usr/sbin/policy-rc.d
  cat >"$APT_CONFIG" <<END
Dir "$ROOT/";
Dir::State::status "$ROOT/var/lib/dpkg/status";
Dir::Bin::dpkg "$WORK/dpkg";
APT::Sandbox::User "root";
Acquire::Retries "0";
END
  use_source "file:$WORK/source"
}

# Packages named as Debian's are the source; those that users have instead come from elsewhere. A package has nothing but
# its programs.
make_packages() {
  cd "$WORK/source" || return
  package strace 1 strace 'Depends: libshared (= 1)'
  package libshared 1 shared
  package docker.io 20 'dockerd docker' 'Depends: containerd (>= 1), runc (>= 1)' 'Conflicts: docker-ce, docker-ce-cli'
  package containerd 1 'containerd ctr containerd-shim-runc-v2' 'Depends: runc (>= 1)'
  package runc 1 runc
  package busybox-static 1 busybox 'Conflicts: busybox'
  cd "$WORK/elsewhere" || return
  package docker-ce 24 dockerd 'Depends: containerd.io, docker-ce-cli' 'Conflicts: docker.io'
  package docker-ce-cli 24 docker 'Conflicts: docker.io'
  package containerd.io 1.6 'containerd ctr containerd-shim-runc-v2 runc' 'Conflicts: containerd, runc' \
    'Provides: containerd, runc' 'Replaces: containerd, runc'
  package busybox 1 busybox 'Conflicts: busybox-static'
  package libshared 2 shared
}

# Makes NAME.deb here, and its entry in Packages.
package() { # NAME VERSION PROGRAMS [FIELD...]
  local name=$1 version=$2 program
  mkdir -p "tree/$name/DEBIAN" "tree/$name/usr/bin"
  for program in $3; do
    install -m 0755 /dev/null "tree/$name/usr/bin/$program"
  done
  shift 3
  printf '%s\n' "Package: $name" "Version: $version" 'Architecture: all' 'Maintainer: nobody <nobody@localhost>' \
    'Description: made up' 'Installed-Size: 1000' "$@" >"tree/$name/DEBIAN/control"
  dpkg-deb --root-owner-group -Znone --build "tree/$name" "$name.deb" >/dev/null
  {
    cat "tree/$name/DEBIAN/control"
    printf '%s\n' "Filename: ./$name.deb" "Size: $(stat -c %s "$name.deb")" "SHA256: $(sha256sum <"$name.deb" | cut -c 1-64)" ''
  } >>Packages
}

# apt-get, which writes its arguments into the log and runs BEFORE_INSTALL when it is to install. The dpkg that it calls: it
# has no root but the test's, waits while there is a file "hold", and writes into the log whether a service may start.
make_programs() {
  cat >"$WORK/bin/apt-get" <<'END'
#!/bin/bash
[ "$APT_CONFIG" = "${DPKG_ROOT%/root}/apt.conf" ] || exit 99
echo "apt-get $*" >>"$LOG"
[[ $* != *--yes* ]] || eval "${BEFORE_INSTALL:-}" >/dev/null
exec /usr/bin/apt-get "$@"
END
  cat >"$WORK/dpkg" <<'END'
#!/bin/bash
if [[ $* == *--unpack* || $* == *--configure* ]]; then
  touch "$ROOT/working"
  for ((i = 0; i < 600; ++i)); do [ ! -e "$ROOT/hold" ] || sleep 0.1; done
  "$ROOT/usr/sbin/policy-rc.d" docker.service start
  echo "policy $?" >>"$LOG"
fi
exec /usr/bin/dpkg --root="$ROOT" --force-unsafe-io "$@"
END
  chmod 0755 "$WORK/bin/apt-get" "$WORK/dpkg"
}

use_source() { # URI
  echo "deb [trusted=yes] $1 ./" >"$ROOT/etc/apt/sources.list"
}

# What the machine has: packages of the folder "elsewhere", installed by dpkg.
has() { # NAME...
  (cd "$WORK/elsewhere" && dpkg --root="$ROOT" --force-unsafe-io --install "${@/%/.deb}" >/dev/null)
}

# "NAME VERSION, " of each package that is installed, without OTHERS.
installed() { dpkg-query -W -f '${Package} ${Version}, ' | sed 's/[^ ]* 0, //g'; }

assert_equal() { # ACTUAL EXPECTED
  [ "$1" = "$2" ] || { printf 'got:      %s\nexpected: %s\n' "$1" "$2"; return 1; }
}

assert_contains() { # TEXT PART...
  local part
  for part in "${@:2}"; do
    [[ $1 == *"$part"* ]] || { printf 'text: %s\ndoes not contain: %s\n' "$1" "$part"; return 1; }
  done
}

assert_lacks() { # TEXT PART
  [[ $1 != *"$2"* ]] || { printf 'text: %s\ncontains: %s\n' "$1" "$2"; return 1; }
}

# It fails with a line that has each TEXT in it, and leaves all as it was.
assert_refused() { # TEXT...
  local before
  before=$(installed)
  run -1 --separate-stderr "$DEPS" e2e
  # shellcheck disable=SC2154
  assert_contains "$(tail -n 1 <<<"$stderr")" 'deps.sh: ' "$@"
  assert_equal "$output" ''
  assert_equal "$(installed)" "$before"
  [ ! -e "$POLICY" ]
  assert_lacks "$(cat "$LOG")" --no-remove
}

# Starts deps.sh in the background, and returns when dpkg works and waits.
start_installing() {
  touch "$ROOT/hold"
  "$DEPS" e2e >"$BATS_TEST_TMPDIR/output" 2>&1 3>&- &
  RUN=$!
  for _ in {1..600}; do [ ! -e "$ROOT/working" ] || return 0; sleep 0.1; done
  cat "$BATS_TEST_TMPDIR/output"
  return 1
}

teardown() {
  rm -f "$ROOT/hold"
  [ -z "${RUN:-}" ] || wait "$RUN" || true
}

@test "an unknown group is an error" {
  run -2 "$DEPS" e2e nonsense
  assert_equal "$output" "deps.sh: unknown group 'nonsense': use build, deb, rpm, demo, e2e, rdma, engines, browser, fuzz or lint"
}

@test "what is missing is installed, no service may start meanwhile, and then nothing is missing" {
  run -0 --separate-stderr "$DEPS" e2e
  assert_equal "$stderr" ''
  assert_contains "${lines[0]}" 'deps.sh: installing 6 packages (' ' to download, ' ' on disk): busybox-static containerd'
  assert_contains "${lines[1]}" 'dockerd and containerd were not started. The next boot starts them, unless'
  assert_equal "${#lines[@]}" 2
  assert_equal "$(installed)" 'busybox-static 1, containerd 1, docker.io 20, libshared 1, runc 1, strace 1, '
  assert_equal "$(grep ^policy "$LOG" | sort -u)" 'policy 101'
  [ ! -e "$POLICY" ]
  : >"$LOG"
  run -0 "$DEPS" e2e
  assert_equal "$output$(cat "$LOG")" ''
}

@test "on a terminal apt shows what it does" {
  run -0 script --quiet --return --command "$DEPS e2e" /dev/null
  assert_contains "$output" 'deps.sh: installing 6 packages' 'Unpacking docker.io' 'Setting up docker.io'
}

@test "docker-ce, containerd.io and busybox stay: they have the programs of Debian's packages" {
  has docker-ce docker-ce-cli containerd.io busybox
  run -0 "$DEPS" e2e
  assert_equal "${#lines[@]}" 1
  assert_equal "$(installed)" 'busybox 1, containerd.io 1.6, docker-ce 24, docker-ce-cli 24, libshared 1, strace 1, '
  : >"$LOG"
  run -0 "$DEPS" e2e
  assert_equal "$output$(cat "$LOG")" ''
}

@test "containerd.io alone: docker.io would replace it, which is refused with the way out" {
  has containerd.io
  assert_refused "nothing was installed: to install 'docker.io', apt would remove containerd.io." \
    "have the programs 'dockerd,docker' (docker-ce goes with containerd.io)" 'apt-get install docker.io'
}

@test "docker-ce is not replaced either where a program of it is missing" {
  has docker-ce docker-ce-cli containerd.io busybox
  rm "$ROOT/usr/bin/dockerd"
  assert_refused "to install 'docker.io', apt would remove containerd.io, remove docker-ce, remove docker-ce-cli."
}

@test "a downgrade is refused" {
  has libshared
  printf 'Package: libshared\nPin: version 1\nPin-Priority: 1001\n' >"$ROOT/etc/apt/preferences.d/older"
  assert_refused "to install 'strace', apt would downgrade libshared. Next: use another machine"
}

@test "what comes into the way after the plan was made is not removed" {
  export BEFORE_INSTALL="cd '$WORK/elsewhere' && dpkg --root='$ROOT' --install busybox.deb"
  run -1 "$DEPS" e2e
  assert_contains "$output" 'E: Packages need to be removed but remove is disabled.' 'deps.sh: could not install ' ': fix what apt reports'
  assert_equal "$(installed)" 'busybox 1, '
  [ ! -e "$POLICY" ]
}

@test "what apt-get leaves out without an error is an error" {
  export BEFORE_INSTALL='set -- install --yes runc'
  run -1 "$DEPS" e2e
  assert_contains "${lines[1]}" "deps.sh: could not install 'busybox-static containerd docker.io strace': fix what apt reports"
}

@test "no package source answers: what apt says, and what to do" {
  use_source "http://127.0.0.1:1"
  assert_refused "'apt-get update' failed, and apt cannot install 'busybox-static " 'fix what apt reports above (often the network, '
  assert_contains "$stderr" 'E: '
}

@test "one package source of two does not answer: the other one will do" {
  echo "deb [trusted=yes] file:$WORK/none ./" >>"$ROOT/etc/apt/sources.list"
  run -0 --separate-stderr "$DEPS" e2e
  assert_contains "$stderr" 'E: ' "deps.sh: 'apt-get update' failed: it goes on"
  assert_contains "$(installed)" 'docker.io 20,'
}

@test "a package that no source has" {
  mkdir "$ROOT/source"
  sed 's/^Package: strace$/Package: no-strace/' "$WORK/source/Packages" >"$ROOT/source/Packages"
  use_source "file:$ROOT/source"
  assert_refused "deps.sh: apt cannot install 'busybox-static "
  assert_contains "$stderr" 'E: Unable to locate package strace'
}

@test "a user is told what to run" {
  id() { echo 1000; }
  export -f id
  assert_refused 'these packages are missing: busybox-static ' "run as root: $DEPS e2e"
  assert_equal "$(cat "$LOG")" ''
}

@test "the administrator's own policy-rc.d decides, and stays" {
  printf '#!/bin/sh\nexit 104\n' >"$POLICY"
  chmod 0755 "$POLICY"
  run -0 "$DEPS" e2e
  assert_equal "$(grep ^policy "$LOG" | sort -u)" 'policy 104'
  assert_equal "$(tail -n 1 "$POLICY")" 'exit 104'
}

@test "a run that is interrupted lets apt-get end, and then forbids nothing" {
  start_installing
  kill -TERM "$RUN"
  rm "$ROOT/hold"
  wait "$RUN" && status=0 || status=$?
  assert_equal "$status" 143
  [ ! -e "$POLICY" ]
  assert_equal "$(grep ^policy "$LOG" | sort -u)" 'policy 101'
  assert_contains "$(installed)" 'docker.io 20,'
}

@test "a run that is killed forbids services until apt-get has ended" {
  start_installing
  kill -KILL "$RUN"
  run -101 "$POLICY" docker.service start
  rm "$ROOT/hold"
  flock "$POLICY" true
  run -0 "$POLICY" docker.service start
  [ ! -e "$POLICY" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `make install` of the built programs. /etc and /usr/local are the test's own, in a mount namespace.

bats_require_minimum_version 1.5.0

PROJECT=$BATS_TEST_DIRNAME/../..
CLIENT=/usr/local/libexec/ipu-container-toolkit/ipu-vipu-client

# Runs SCRIPT in bash, with copies of what it may change.
alone() { # SCRIPT
  # shellcheck disable=SC2016
  MAKEFLAGS='' unshare --mount --propagation private bash -euc '
    mount -t tmpfs tmpfs /mnt
    cp -a /etc /mnt/etc
    mkdir /mnt/log
    mount --bind /mnt/etc /etc
    mount --bind /mnt/log /var/log
    mount -t tmpfs tmpfs /usr/local
    sed -i -E "/^(ipu-vipu-client|ipu-vipu-endpoint|ipu-agent|ipu):/d" /etc/passwd /etc/group /etc/shadow /etc/gshadow
    users() { cat /etc/passwd /etc/group /etc/shadow /etc/gshadow; }
    # Only one runs at a time, because make writes there.
    run_make() { flock "$O" make --no-print-directory -s O="$O" "$@" >/dev/null; }
    cd "$1"
    eval "$2"' bash "$PROJECT" "$1"
}

setup() {
  export O=${O:-build/${FLAVOR:-release}}
}

@test "install makes the users and the group, and makes them once" {
  # shellcheck disable=SC2016
  alone '
    run_make install
    grep -x "ipu-vipu-client:x:[1-9][0-9]*:[1-9][0-9]*:IPU container toolkit, V-IPU client:/:/usr/sbin/nologin" /etc/passwd
    grep -x "ipu-vipu-endpoint:x:[1-9][0-9]*:[1-9][0-9]*:IPU container toolkit, V-IPU endpoint:/:/usr/sbin/nologin" /etc/passwd
    grep -x "ipu-agent:x:[1-9][0-9]*:[1-9][0-9]*:IPU container toolkit, agent:/:/usr/sbin/nologin" /etc/passwd
    grep -x "ipu:x:[1-9][0-9]*:" /etc/group
    before=$(users)
    run_make install
    [ "$(users)" = "$before" ]
    run_make uninstall
    [ "$(users)" = "$before" ]'
}

@test "the user gets the group of its name that is there" {
  # shellcheck disable=SC2016
  alone '
    groupadd --system ipu-vipu-client
    packaging/make_user.sh
    [ "$(id -g ipu-vipu-client)" = "$(getent group ipu-vipu-client | cut -d: -f3)" ]'
}

@test "install below DESTDIR makes no user" {
  # shellcheck disable=SC2016
  alone '
    before=$(users)
    run_make install DESTDIR=/mnt/destination
    [ "$(users)" = "$before" ]
    [ -e /mnt/destination/usr/local/lib/sysusers.d/ipu-container-toolkit.conf ]'
}

@test "each program says its name and the version, but for those that become another one" {
  # shellcheck disable=SC2016
  alone '
    run_make install DESTDIR=/mnt/destination
    version=$(cat VERSION)
    mapfile -t programs < <(find /mnt/destination/usr/local/bin /mnt/destination/usr/local/libexec ! -type d)
    [ "${#programs[@]}" -eq 14 ]
    # The wrapper and its start pass --version on to runc, and poststop becomes the hook.
    for program in "${programs[@]}"; do
      [[ ${program##*/} != ipu-container-@(runtime|start|poststop) ]] || continue
      said=$("$program" --version </dev/null)
      [ "$said" = "${program##*/} $version" ] || { echo "$program says: $said" >&2; exit 1; }
    done'
}

@test "nobody but root may read the clients, and only they are so" {
  # shellcheck disable=SC2016
  alone '
    run_make install DESTDIR=/mnt/destination
    for client in "/mnt/destination'"$CLIENT"'" "/mnt/destination'"$CLIENT"'-plain"; do
      [ "$(stat -c "%a %u" "$client")" = "711 0" ]
    done
    [ "$(find /mnt/destination/usr/local/bin -type f ! -perm 0755)" = "" ]'
}

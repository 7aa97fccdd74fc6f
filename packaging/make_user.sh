#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the system users that ipu-vipu-client and ipu-vipu-endpoint run as, as packaging/sysusers.d describes them. Does
# nothing about a user that the host has. Packages call it after installation (root).
set -eu
has() { grep -q "^$1:" "$2"; } # NAME FILE

make_user() { # NAME COMMENT
  if has "$1" /etc/passwd; then return; fi
  group=--user-group
  if has "$1" /etc/group; then group=--gid=$1; fi
  useradd --system "$group" --no-create-home --home-dir / --shell /usr/sbin/nologin --comment "$2" "$1"
}

make_user ipu-vipu-client 'IPU container toolkit, V-IPU client'
make_user ipu-vipu-endpoint 'IPU container toolkit, V-IPU endpoint'

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the system users that ipu-vipu-client, ipu-vipu-endpoint and ipu-agent run as, and the group of those who may ask
# ipu-agent, as packaging/sysusers.d describes them. Leaves those that the host has as they are. Packages call it after
# installation (root).
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
make_user ipu-agent 'IPU container toolkit, agent'
has ipu /etc/group || groupadd --system ipu

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the system user that ipu-vipu-client runs as, as packaging/sysusers.d describes it. Does nothing if the host has
# this user. Packages call it after installation (root).
set -eu
name=ipu-vipu-client
has() { grep -q "^$name:" "$1"; } # FILE

if has /etc/passwd; then exit 0; fi
group=--user-group
if has /etc/group; then group=--gid=$name; fi
useradd --system "$group" --no-create-home --home-dir / --shell /usr/sbin/nologin \
  --comment 'IPU container toolkit, V-IPU client' "$name"

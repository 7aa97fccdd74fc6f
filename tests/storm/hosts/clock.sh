#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes the time into etcd again and again, so that its history tells when a revision was. The next time is taken after
# etcd has answered; so what has a smaller revision than a time was before the next one, and what has a larger one after it.
set -u
cd /run/hosts-storm/hosts || exit 1
# shellcheck source=tests/storm/hosts/parts.bash
source parts.bash
while [ ! -e finished ]; do
  etcd_control --command-timeout 2s put /clock "$EPOCHREALTIME" >/dev/null 2>&1
  sleep 0.3
done

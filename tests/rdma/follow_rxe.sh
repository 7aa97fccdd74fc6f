#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes macvlans behave like functions of an RNIC: follow_rxe.sh NAME... The RDMA device of a function goes where its
# interface goes, but software RoCE forgets an interface that changes its network namespace. So this script makes
# rxe-NAME anew wherever the interface NAME is: on the host, or in a container, where it is roce0 and its alias tells
# its name.
set -uo pipefail

# Prints a process of each container that has a roce0.
containers() {
  local pid namespace
  declare -A seen=()
  while IFS=/ read -r _ _ pid _; do
    namespace=$(readlink "/proc/$pid/ns/net") || continue
    [ -n "${seen[$namespace]:-}" ] || echo "$pid"
    seen[$namespace]=yes
  done < <(grep -ls 'roce0:' /proc/[0-9]*/net/dev)
}

follow() { # NAME
  local pid
  [ ! -e "/sys/class/infiniband/rxe-$1" ] || return 0
  if [ -e "/sys/class/net/$1" ]; then
    rdma link add "rxe-$1" type rxe netdev "$1"
    return
  fi
  for pid in $(containers); do
    nsenter --target "$pid" --net ip -o link show roce0 2>/dev/null | grep -qw "alias $1" || continue
    nsenter --target "$pid" --net rdma link add "rxe-$1" type rxe netdev roce0
    return
  done
}

while :; do
  for name; do
    follow "$name"
  done
  sleep 0.1
done

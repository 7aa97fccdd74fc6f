#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the throw-away host after the storm. Removes the containers that change by themselves and about half of the
# others, kills a few, waits until the engine and the product have nothing to do, and cleans up once.
set -eu -o pipefail

# Succeeds if, in four looks, nothing changes, nothing is under way, and no program of ours or of runc's runs.
is_quiet() {
  local look before='' same=0
  for _ in {1..10}; do
    look=$(docker ps --all --no-trunc --format '{{.ID}} {{.State}}' | sort)
    if [ "$look" != "$before" ] || grep -qE ' (restarting|removing)$' <<<"$look" || works; then same=0; fi
    same=$((same + 1))
    [ "$same" -lt 4 ] || return 0
    before=$look
    sleep 0.3
  done
  return 1
}

# A V-IPU endpoint runs as long as its container.
works() { grep -qsxE 'ipu-(container|vipu-client).*|runc.*' /proc/[0-9]*/comm; }

wait_until_quiet() {
  local deadline=$((SECONDS + 60))
  until is_quiet; do
    [ "$SECONDS" -lt "$deadline" ] || { echo 'docker does not come to rest' >&2; return 1; }
  done
}

# Prints the containers whose place in the list is REST modulo 4.
every_fourth() { # REST
  docker ps --all --quiet --no-trunc --filter name=worker | sort | awk -v rest="$1" 'NR % 4 == rest'
}

docker ps --all --quiet --filter label=mortal | xargs -r docker rm --force >/dev/null
{ every_fourth 1; every_fourth 3; } | xargs -r docker rm --force >/dev/null
for container in $(every_fourth 0); do
  docker kill "$container" >/dev/null 2>&1 || true # one that does not run
done
wait_until_quiet
ipuctl gc
wait_until_quiet

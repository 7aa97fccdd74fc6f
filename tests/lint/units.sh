#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd accepts the units as they are installed, and knows every setting in them. Each service is as hardened as before,
# by the figure of `systemd-analyze security` in tenths: 0 is the best, and 96 is that of a service without a setting.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

installed=$(mktemp -d) || exit 1
trap 'rm -rf "$installed"' EXIT
mkdir "$installed/bin"
for program in ipuctl ipu-agent vipu-simulator; do install -m 0755 /bin/true "$installed/bin/$program"; done
mapfile -t units < <(files 'packaging/systemd/*')
for unit in "${units[@]}"; do
  sed "s|@BINDIR@|$installed/bin|g; s|@[A-Z]*@|/var/lib|g" "$unit" >"$installed/${unit##*/}"
done
while IFS= read -r warning; do
  finding "packaging/systemd" "${warning//"$installed/"/}"
done < <(systemd-analyze verify --man=no "${units[@]/#*\//$installed/}" 2>&1)
# What starts or ends containers' processes has more power: ipu-agent and gc enter network namespaces, release mounts and
# move addresses, so they keep these capabilities and the kernel's namespaces. ipu-border changes the host's packet filter.
declare -A most=([ipu-agent]=62 [ipu-container-toolkit-gc]=61 [ipu-border]=48 [ipu-metrics]=37)
for service in "$installed"/*.service; do
  name=$(basename "$service" .service)
  systemd-analyze security --offline=true --threshold="${most[$name]:-34}" "$service" >/dev/null 2>&1 ||
    finding "packaging/systemd/$name.service:1" "less hardened than before: see 'systemd-analyze security --offline=true'"
done
finish

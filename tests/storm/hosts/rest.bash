# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the storm's world comes to rest, and what must be true then. For sourcing by world.sh after parts.bash.
# shellcheck disable=SC2154 # world.sh sets hosts, and parts.bash boot_of

PREFIX=/ipu-container-toolkit/

nobody_works() { ! pgrep -f '^bash (worker|operator)\.sh' >/dev/null; }
nothing_ends() {
  ! grep -qsxE 'ipu-(container|vipu-client).*|runc.*' /proc/[0-9]*/comm && ! pgrep -f '^ipuctl pool refill' >/dev/null
}

# Removes a partition as a person does: where the command says, if another host is to do it.
remove_by_hand() { # N PARTITION
  local n error
  error=$(on "$1" ipuctl partition remove "$2" 2>&1) && return
  [[ $error =~ is\ being\ removed\ by\ host\ ([0-9a-f]+) ]] || { echo "host $1: $error" >&2; return 1; }
  for ((n = 1; n <= hosts; ++n)); do
    [ "$(cat "host$n/tag")" != "${BASH_REMATCH[1]}" ] || on "$n" ipuctl partition remove "$2"
  done
}

# Lets host N reconcile once. A partition whose creation or removal was cut short is a person's to remove: see ipuctl(8).
reconcile() { # N
  local line cut_short="partition '([^']*)' of pool .* (may be another host's, because its (creation|removal) here was cut short|is half removed: its removal)"
  on "$1" ipuctl gc >"rest/gc.$1" 2>&1 && return
  while read -r line; do
    [[ $line =~ $cut_short ]] || { echo "host $1: gc: $line" >&2; return 1; }
    remove_by_hand "$1" "${BASH_REMATCH[1]}" || return 1
  done <"rest/gc.$1"
  on "$1" ipuctl gc
}

# Waits for those who work, then lets each host reconcile.
settle() {
  local n
  wait_until 90 nobody_works && wait_until 30 nothing_ends || return 1
  for ((n = 1; n <= hosts; ++n)); do reconcile "$n" >/dev/null || return 1; done
  # The others hear of what was removed.
  for ((n = 1; n <= hosts; ++n)); do on "$n" ipuctl gc >/dev/null || return 1; done
  wait_until 30 nothing_ends
}

# Prints the lines that are in one of two files only.
compare() { # WHAT ONE OTHER
  comm -23 <(sort "$2") <(sort "$3") | sed "s/^/$1: only $2 has: /"
  comm -13 <(sort "$2") <(sort "$3") | sed "s/^/$1: only $3 has: /"
}

etcd_keys() { etcd_control get --prefix "$1" -w json | jq -r '.kvs[]? | [.key, .value] | map(@base64d) | @tsv'; }

containers_of() { on "$1" runc --root /run/oci/root list --format json | jq -r ".[]? | select(.status == \"running\") | \"$1 \(.id)\""; }

# Prints each difference between what ledgers, low-level runtimes, the controller, its file and etcd say of who has what.
agreement() {
  local n number ipus
  cd rest || return 1
  for ((n = 1; n <= hosts; ++n)); do
    on "$n" ipuctl ps --output json >"leases.$n" || echo "host $n: 'ipuctl ps' failed"
    jq -r ".[] | \"$n \(.container)\"" "leases.$n" >>ledgers
    jq -r ".[] | select(.state != \"RUNNING\") | \"host $n: lease \(.lease) of \(.container) is \(.state): \(.obstacle)\"" "leases.$n"
    containers_of "$n" >>containers
    on "$n" ipuctl ledger check >check.out 2>&1 || sed "s/^/host $n: ledger check: /" check.out
    on "$n" ipuctl fleet check >check.out 2>&1 || sed "s/^/host $n: fleet check: /" check.out
    on "$n" ipuctl queue --output json | jq -r ".[] | \"host $n: a place in the queue: \(.container)\""
    on "$n" find /run/ipu-container-toolkit -mindepth 2 -maxdepth 2 -path '*/leases/*' -printf "$n %f\n" >>folders
    on "$n" ipuctl events --since 1 --output json >"../events/$n"
    jq -r ".[] | \"$n \(.lease)\"" "leases.$n" >>leases
  done
  compare 'running containers' containers ledgers
  compare 'folders of leases' folders leases

  on 1 ipuctl partition list --output json | jq -r '.[] | "\(.partition) \([.ipus[] | .domain * 64 + .ipu] | sort | tojson)"' >listed
  jq -r '.partitions[] | "\(.id) \([.ipus[] | .domain * 64 + .ipu] | sort | tojson)"' ../controller.json >stored
  compare partitions listed stored
  etcd_keys "${PREFIX}partitions/" >keys
  etcd_keys "${PREFIX}warm/" | grep -v '/turn' >warm
  grep -v '"phase":"idle"' warm | sed 's/^/warm, and not idle: /'
  sed -n 's/.*"ipus":\([0-9]*\).*/\1/p' warm | sort | uniq -c | while read -r number ipus; do
    [ "$number" -le "$(sed -n "s/^warm = .*\"$ipus\" = \([0-9]*\).*/\1/p" ../etc/config.toml)" ] || echo "$number partitions of $ipus IPUs are warm"
  done
  { jq -r '.[] | select(.origin == "OWN") | .partition' leases.*; sed -n 's|.*/partitions/[^/]*/\([^/]*\)/record.*|\1|p' keys
    cut -f 1 warm | sed 's|.*/||'; } | sort -u >known
  jq -r '.partitions[].id' ../controller.json >controller
  compare 'whose partitions are' known controller
  # Of each that only one side knows: what the fleet and the hosts say of it.
  comm -3 <(sort known) <(sort controller) | tr -d '\t' | while read -r id; do
    grep -F "/$id/" keys
    jq -r --arg id "$id" 'select(.partition == $id) | "\(input_filename): \(.)"' ../events/* | tail -n 12
  done
  jq -r '.[] | select(.origin != "OWN") | "\(.lease) \(.partition) \(.gcd)"' leases.* >named
  sed -n 's|.*/partitions/[^/]*/\([^/]*\)/claims/\([0-9a-z-]*\).*"gcd":\([0-9]*\).*|\2 \1 \3|p' keys >claims
  compare claims named claims
  echo "$(wc -l <ledgers) containers, $(wc -l <controller) partitions, $(grep -c /claims/ keys) claims, $(wc -l <warm) warm partitions" >figures
  cd ..
}

clear_all() {
  local n id name
  for ((n = 1; n <= hosts; ++n)); do printf '%s\tended\t-\t%s.%s\n' "$EPOCHREALTIME" "$n" "${boot_of[$n]}" >>held/world; done
  for ((n = 1; n <= hosts; ++n)); do
    for id in $(on "$n" runc --root /run/oci/root list --quiet); do
      on "$n" ipu-container-runtime --root /run/oci/root delete --force "$id"
    done
  done
  wait_until 30 nothing_ends
  for ((n = 1; n <= hosts; ++n)); do on "$n" ipuctl gc >/dev/null; done
  # Each gives back what it made.
  sed -i '/^warm = /d' etc/config.toml
  for ((n = 1; n <= hosts; ++n)); do on "$n" ipuctl pool refill >/dev/null; done
  for name in $(on 1 ipuctl partition list --output json | jq -r '.[].partition'); do
    on 1 ipuctl partition remove "$name" >/dev/null
  done
}

# Prints what is still there.
remains() {
  local n name
  for ((n = 1; n <= hosts; ++n)); do
    on "$n" ipuctl ps --output json | jq -r ".[] | \"host $n: lease \(.lease) \(.state)\""
    on "$n" find /run/ipu-container-toolkit -mindepth 2 -path '*/leases/*' -printf "host $n: file %p\n"
    on "$n" sh -c 'ip -o link show type macvlan; [ ! -e /run/ipu-container-toolkit/forbidden-calls ] || cat /run/ipu-container-toolkit/forbidden-calls' |
      sed "s/^/host $n: /"
    on "$n" ipuctl ledger check >rest/check.out 2>&1 || sed "s/^/host $n: ledger check: /" rest/check.out
  done
  jq -r '.partitions[] | "partition \(.id)"' controller.json
  for name in partitions warm grants queue fences; do etcd_keys "$PREFIX$name/"; done | grep -v '/warm/[^/]*/turn' | sed 's/^/key /'
}

# Prints all that etcd has ever had, one revision a line.
history_of_etcd() {
  etcd_control put /end of-history >/dev/null
  ETCDCTL_API=3 timeout 20 etcdctl --endpoints "$ENDPOINTS" watch --prefix --rev 1 -w json '' | sed '/L2VuZA==/q'
}

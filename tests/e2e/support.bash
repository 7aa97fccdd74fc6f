# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests of this folder: words for the host that setup_suite made, and what must hold after each.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/support/host.sh
source "$BATS_TEST_DIRNAME/../support/host.sh"

# Nothing that is called here takes so long, unless it hangs.
LIMIT=60

in_host() { host_run "$@"; }
docker() { host_run timeout "$LIMIT" docker "$@"; }
ipuctl() { host_run timeout "$LIMIT" ipuctl "$@"; }

# Starts a container NAME that stays until it is removed.
start() { # NAME [DOCKER-OPTION...]
  local name=$1
  shift
  docker run --detach --runtime=ipu --name "$name" -v /run/dial:/bin/dial:ro "$@" busybox sleep 3600 >/dev/null
}

# Runs a command in a running container.
inside() { # NAME COMMAND...
  docker exec "$@"
}

# "ADDRESS PORT" of each IPU of a running container, as its ipuof.conf has them.
endpoints() { # NAME
  inside "$1" cat /etc/ipuof.conf.d/ipuof.conf | jq -r '.devices[] | "\(.ip) \(.server_port)"'
}

container_id() { docker inspect -f '{{.Id}}' "$1" | cut -c 1-12; }

# The part of a running container's lease.json that the jq FILTER selects.
lease_of() { # NAME FILTER
  inside "$1" cat /run/ipu/lease.json | jq -er "$2"
}

address_in() { lease_of "$1" '.rails[0].address'; }

first_endpoint() { # NAME
  local all
  all=$(endpoints "$1")
  echo "${all%%$'\n'*}"
}

# Fails if the target answers NAME: as programs connect, from roce0's address, and bound to roce0, which
# passes by the routing tables.
assert_unreachable() { # NAME ADDRESS PORT
  local name=$1 source
  shift
  source=$(address_in "$name")
  assert_no_answer "$name" nc -w 2 "$@"
  assert_no_answer "$name" dial "$@" "$source"
  assert_no_answer "$name" dial "$@" "$source" roce0
  assert_no_answer "$name" dial "$@" 0.0.0.0 roce0
}

assert_no_answer() { # NAME COMMAND...
  local answer
  if answer=$(inside "$@" 2>/dev/null) || [ -n "$answer" ]; then
    fail "'${*:2}' in $1 got an answer: $answer"
  fi
}

fail() {
  printf '%s\n' "$@" >&2
  return 1
}

assert_equal() { # ACTUAL EXPECTED
  [ "$1" = "$2" ] || fail "got:      $1" "expected: $2"
}

assert_contains() { # TEXT PART
  [[ $1 == *"$2"* ]] || fail "text: $1" "does not contain: $2"
}

# Adds a [[tenant]] to the configuration, which host_config makes as it was.
with_tenant() { # NAME LIMIT
  printf '\n[policy]\ntenant_variable = true\n\n[[tenant]]\nname = "%s"\nlimit = %s\n' "$@" |
    in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null
}

# A container does not start, and the error that docker shows has each TEXT in it.
assert_refused() { # DOCKER-OPTION... -- TEXT...
  local options=() text
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  run -125 docker run --rm --runtime=ipu "${options[@]}" busybox true
  # shellcheck disable=SC2154
  assert_equal "$(grep -c 'ipu: ' <<<"$output")" 1
  for text in "$@"; do
    assert_contains "$output" "$text"
  done
}

# Runs jq with the ARGUMENTS on the simulator's log, all lines as one array.
sim_log() { # ARGUMENT...
  in_host cat "$SIM_LOG" | jq --slurp --raw-output "$@"
}

restart_sim() {
  sim_stop
  sim_start
}

has_waiters() { [ "$(ipuctl queue -o json | jq length)" = "$1" ]; }
# Asked again and again, and jq takes longer to start than ipuctl for its work.
leases() {
  local all
  all=$(ipuctl ps --output json) && grep -c '^    "lease": ' <<<"$all"
}
has_leases() { [ "$(leases)" = "$1" ]; }

# Adds a pool "slices" of an IPUoF file.
configure_slices() { # FILE
  in_host sed -i 's/^\[pool\]/[[pool]]/' /etc/ipu-container-toolkit/config.toml
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<END

[[pool]]
name = "slices"
provider = "ipuof"
file = "$1"
END
}

# What of the product is still there, one line each.
leftovers() {
  local leases partitions
  leases=$(ipuctl ps --output json) || echo "'ipuctl ps' failed"
  partitions=$(ipuctl partition list --output json) || echo "'ipuctl partition list' failed"
  [ "$leases" = '[]' ] || jq -r '.[] | "lease \(.)"' <<<"$leases"
  [ "$partitions" = '[]' ] || jq -r '.[] | "partition \(.)"' <<<"$partitions"
  # shellcheck disable=SC2016
  in_host sh -c '
    ip -o link show type macvlan
    for namespace in $(awk "\$3 == \"nsfs\" { print \$2 }" /proc/self/mounts); do
      nsenter --net="$namespace" ip -o link show type macvlan
    done
    [ ! -d /run/ipu-container-toolkit/leases ] || find /run/ipu-container-toolkit/leases -mindepth 1
    # A program of the product made a system call that its phase has not.
    [ ! -e /run/ipu-container-toolkit/forbidden-calls ] || cat /run/ipu-container-toolkit/forbidden-calls'
}

nothing_is_left() {
  local left
  has_leases 0 || return 1
  left=$(set -e -o pipefail; leftovers 2>&1) && [ -z "$left" ]
}

# docker reports the end of a container before its last hook has run. In a teardown this comes last:
# bats takes its last status alone.
assert_nothing_left() {
  wait_until 10 nothing_is_left || fail 'still there:' "$(leftovers 2>&1)"
}

gc_leaves_nothing() {
  ipuctl gc >/dev/null && nothing_is_left
}

# Those that `ipuctl partition create` made, and what `adopt` made known.
remove_partitions() {
  local name
  for name in $(ipuctl partition list --output json |
    jq -r '.[] | select(.kind == "NAMED" or .kind == "FOREIGN").partition'); do
    # An adopted one not before its last container has ended.
    wait_until 10 remove_partition "$name"
  done
  ! in_host test -d /run/other-host || remove_other_host
}

remove_partition() { ipuctl partition remove "$1" --force >/dev/null; }

# Runs a command with the ledger and the machine-id of another host, which has no containers and uses the same
# controller.
on_other_host() { # COMMAND...
  # shellcheck disable=SC2016
  in_host unshare --mount sh -c '
    set -e
    mkdir -p /run/other-host/state /run/other-host/run /var/lib/ipu-container-toolkit /run/ipu-container-toolkit
    mount --bind /run/other-host/state /var/lib/ipu-container-toolkit
    mount --bind /run/other-host/run /run/ipu-container-toolkit
    for engine in /run/docker /run/containerd /run/runc; do
      ! [ -d "$engine" ] || mount -t tmpfs tmpfs "$engine"
    done
    echo 0123456789abcdef0123456789abcdef >/run/other-host/machine-id
    mount --bind /run/other-host/machine-id /etc/machine-id
    ! [ -e /run/other-host/config.toml ] ||
      mount --bind /run/other-host/config.toml /etc/ipu-container-toolkit/config.toml
    exec "$@"' sh "$@"
}

# And what that has made.
remove_other_host() {
  local name
  for name in $(on_other_host ipuctl partition list --output json |
    jq -r '.[] | select(.kind == "NAMED").partition'); do
    on_other_host ipuctl partition remove "$name" --force >/dev/null
  done
  in_host rm -r /run/other-host
}

# What packaging/make_user.sh makes. Other files make some of it themselves.
remove_users() {
  # shellcheck disable=SC2016
  in_host sh -c '
    for user in ipu-vipu-client ipu-vipu-endpoint ipu-agent; do
      ! getent passwd "$user" >/dev/null || userdel "$user"
    done
    ! getent group ipu >/dev/null || groupdel ipu'
}

remove_containers() {
  local containers
  mapfile -t containers < <(docker ps --all --quiet)
  [ ${#containers[@]} -eq 0 ] || docker rm --force "${containers[@]}" >/dev/null 2>&1 || true
}

# ---- IPU cards -----------------------------------------------------------------------------------------

# For local use: no driver has this major.
export CARD_MAJOR=60

# Gives the host four IPU cards, or more, linked in pairs. The kernel has no driver for them, so a made-up sysfs tells of them.
# Card N has the minors 3*N to 3*N + 2. The device nodes, the rules of cgroups and refusals are real.
# shellcheck disable=SC2016
make_cards() { # [COUNT]
  in_host sh -c '
    set -e
    mount -t tmpfs tmpfs /sys/bus
    minor=0
    for card in $(seq 0 $(($2 - 1))); do
      device=/sys/bus/pci/devices/0000:8$card:00.0
      mkdir -p "$device"
      echo "$card" >"$device/file_name"
      echo $((card / 2)) >"$device/numa_node"
      echo 0x1d95 >"$device/vendor"
      for suffix in "" _ex _mem; do
        mknod "/dev/ipu$card$suffix" c "$1" "$minor"
        minor=$((minor + 1))
      done
    done' sh "$CARD_MAJOR" "${1:-4}"
}

remove_cards() {
  in_host umount /sys/bus
  in_host find /dev -name 'ipu*' -delete
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Debian packages on a throw-away host, with dockerd and the simulator: installation, upgrade, downgrade, removal and
# purge, with and without a running container. The tests go on from one another.
# shellcheck disable=SC2154,SC2016 # bats sets output; the host's programs expand

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/deb.bash"
export PREFIX=/usr BINDIR=/usr/bin
# shellcheck source=tests/support/host.sh
source "$BATS_TEST_DIRNAME/../support/host.sh"

TOOLKIT=(ipuctl ipu-container-toolkit ipu-vipu-simulator)

setup_file() {
  export DEBS=$BATS_FILE_TMPDIR/debs
  make_debs "$DEBS/now"
  repack now next 99.0
  cd "$PROJECT" || return
  HOST_TREE=$DEBS host_up
  engines >"$BATS_FILE_TMPDIR/engines"
}

teardown_file() {
  host_down
}

# Makes packages of the same files with another version.
repack() { # FROM TO VERSION
  local deb tree=$BATS_FILE_TMPDIR/tree old
  mkdir "$DEBS/$2"
  for deb in "$DEBS/$1"/*.deb; do
    rm -rf "$tree"
    dpkg-deb --raw-extract "$deb" "$tree"
    old=$(dpkg-deb --field "$deb" Version)
    sed -i "s/^Version: .*/Version: $3/; s/(= $old)/(= $3)/g" "$tree/DEBIAN/control"
    dpkg-deb --root-owner-group -Znone --build "$tree" "$DEBS/$2" >/dev/null
  done
}

install_debs() { # FOLDER
  host_run sh -c 'cd "/srv/tree/$1" && shift && dpkg --force-confold --install $(printf "%s_*.deb " "$@") </dev/null' sh "$1" "${TOOLKIT[@]}"
}

docker() { host_run timeout 60 docker "$@"; }
ipuctl() { host_run timeout 60 ipuctl "$@"; }

# All that configures an engine; dockerd makes key.json itself.
engines() { host_run sh -c 'find /etc/docker /etc/containerd /etc/containers /etc/crio /usr/share/containers -type f ! -name key.json -exec sha256sum {} + 2>/dev/null; ls /usr/share/containers/oci/hooks.d 2>/dev/null; true'; }

state_of() { host_run dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null; }

is_free() { [ "$(ipuctl ps --output json)" = '[]' ]; }

@test "installation makes users and folders, and changes no engine" {
  run -0 install_debs now
  assert_contains "$output" "'ipuctl runtime configure docker'"
  for user in ipu-vipu-client ipu-vipu-endpoint ipu-agent; do host_run getent passwd "$user"; done
  host_run getent group ipu
  assert_equal "$(host_run stat -c '%a %U' /run/ipu-container-toolkit /var/lib/ipu-container-toolkit)" $'711 root\n700 root'
  assert_equal "$(engines)" "$(cat "$BATS_FILE_TMPDIR/engines")"
  # The configuration that comes with it says nothing, and the programs say what is missing.
  run ! ipuctl pool list
  assert_contains "$output" 'no source of IPUs: no [pool] is configured'
}

@test "a container gets IPUs from the installed packages" {
  host_config
  host_run sed -i 's/^\[\[network.rail\]\]/[network]\nguard_forwarding = true\n\n&/' /etc/ipu-container-toolkit/config.toml
  sim_start
  docker_start
  docker run --detach --runtime=ipu --name first -e IPU_COUNT=4 busybox sleep 3600
  assert_equal "$(docker exec first cat /run/ipu/lease.json | jq -r '.ipus | length')" 4
}

@test "removal fails while a container holds IPUs, says what holds them, and changes nothing" {
  run -1 host_run dpkg --remove ipu-container-toolkit
  assert_contains "$output" 'ipu-container-toolkit: not removed, because it is in use:' \
    'container first holds 4 IPUs of pool pod64: end it with its engine' "run 'ipuctl drain'" IPU_REMOVE_IN_USE=1
  assert_lacks "$output" 'inet ipu-guard'
  assert_equal "$(state_of ipu-container-toolkit)" installed
  docker exec first true
  [ "$(docker run --rm --runtime=ipu -e IPU_COUNT=1 busybox echo works)" = works ]
}

@test "removal fails if nobody can say whether something uses the toolkit, and keeps the CDI files" {
  ipuctl partition create p0 --size 4
  ipuctl cdi generate --output /etc/cdi
  run -1 host_run dpkg --remove ipu-container-toolkit
  host_run test -e /etc/cdi/graphcore.ai-partition.json
  host_run sh -c 'mv /usr/bin/ipuctl /usr/bin/ipuctl.kept; printf "#!/bin/sh\nkill -KILL \$\$\n" >/usr/bin/ipuctl; chmod +x /usr/bin/ipuctl'
  run -1 host_run dpkg --remove ipu-container-toolkit
  host_run mv /usr/bin/ipuctl.kept /usr/bin/ipuctl
  assert_contains "$output" 'not removed, because it is in use:' "'ipuctl drain --dry-run' failed with exit status 137"
  assert_equal "$(state_of ipu-container-toolkit)" installed
  ipuctl partition remove p0
}

@test "an upgrade keeps running containers, the configuration and the leases" {
  local before
  before=$(ipuctl ps --output json)
  run -0 install_debs next
  assert_equal "$(host_run dpkg-query -W -f '${Version}' ipu-container-toolkit)" 99.0
  assert_equal "$(ipuctl ps --output json)" "$before"
  docker exec first cat /run/ipu/lease.json
  host_run grep -q '^guard_forwarding' /etc/ipu-container-toolkit/config.toml
  assert_equal "$(engines)" "$(cat "$BATS_FILE_TMPDIR/engines")"
}

@test "an older version that cannot use the ledger says so in one line" {
  local ledger=/var/lib/ipu-container-toolkit/ledger.db
  change() { host_run python3 -c "import sqlite3; d = sqlite3.connect('$ledger'); d.execute('PRAGMA user_version = $1'); d.execute(\"UPDATE meta SET value = '$2' WHERE name = 'compatible_from'\"); d.commit()"; }
  read_meta() { host_run python3 -c "import sqlite3; d = sqlite3.connect('$ledger'); print(d.execute('PRAGMA user_version').fetchone()[0], d.execute(\"SELECT value FROM meta WHERE name = 'compatible_from'\").fetchone()[0])"; }
  local schema compatible
  read -r schema compatible < <(read_meta)
  change 999 999
  run -0 install_debs now
  assert_contains "$output" 'replaces the newer 99.0'
  assert_equal "$(grep -c 'written by a newer version of ipu-container-toolkit (schema 999' <<<"$output")" 1
  # The container runs on, and the newer version goes on where it was.
  docker exec first true
  change "$schema" "$compatible"
  run -0 install_debs next
  assert_lacks "$output" 'newer version'
  ipuctl ps | grep -q first
}

@test "the variable overrides, and a purge then fails while the container runs" {
  host_run env IPU_REMOVE_IN_USE=1 dpkg --remove ipu-container-toolkit
  assert_equal "$(state_of ipu-container-toolkit)" config-files
  # It runs on. docker asks the runtime for all else.
  assert_equal "$(docker inspect --format '{{.State.Running}}' first)" true
  run -1 host_run dpkg --purge ipu-container-toolkit
  assert_contains "$output" 'not purged, because processes of containers with IPUs run' 'IPU_REMOVE_IN_USE=1 dpkg --purge'
  host_run test -e /var/lib/ipu-container-toolkit/ledger.db
  # dpkg removes the configuration before it asks the package.
  assert_contains "$output" /var/lib/ipu-container-toolkit/config.toml.removed
  host_run grep -q '^guard_forwarding' /var/lib/ipu-container-toolkit/config.toml.removed
  host_run mkdir -p /etc/ipu-container-toolkit
  host_run cp -p /var/lib/ipu-container-toolkit/config.toml.removed /etc/ipu-container-toolkit/config.toml
  # The file says the same, where nobody sets a variable, and holds for one removal.
  run -0 install_debs next
  host_run touch /run/ipu-container-toolkit/remove-in-use
  host_run dpkg --remove ipu-container-toolkit
  assert_equal "$(docker inspect --format '{{.State.Running}}' first)" true
  run -0 install_debs next
  run ! host_run test -e /run/ipu-container-toolkit/remove-in-use
  run -1 host_run dpkg --remove ipu-container-toolkit
}

@test "after the last container, removal takes the packet filter along, and purge the state" {
  docker rm --force first
  wait_until 20 is_free
  # The forced removal has removed them.
  ipuctl cdi generate --output /etc/cdi
  run ipuctl drain --dry-run
  assert_contains "$output" 'inet ipu-guard'
  assert_contains "$output" "the host keeps CDI files in /etc/cdi: run 'ipuctl cdi remove'"
  ipuctl partition create p0 --size 4
  host_run test -e /etc/cdi/graphcore.ai-partition.json
  ipuctl partition remove p0
  run -0 host_run dpkg --remove ipu-container-toolkit
  run ipuctl drain --dry-run
  assert_lacks "$output" 'inet ipu-guard'
  assert_lacks "$output" 'CDI files'
  host_run test -e /var/lib/ipu-container-toolkit/ledger.db
  host_run test -e /etc/ipu-container-toolkit/config.toml
  run -0 host_run dpkg --purge ipu-container-toolkit ipuctl ipu-vipu-simulator
  for place in /var/lib/ipu-container-toolkit /run/ipu-container-toolkit /etc/ipu-container-toolkit \
    /etc/logrotate.d/ipu-container-toolkit /usr/libexec/ipu-container-toolkit /usr/share/ipu-container-toolkit /usr/bin/ipuctl; do
    run ! host_run test -e "$place"
  done
  assert_equal "$(engines)" "$(cat "$BATS_FILE_TMPDIR/engines")"
}

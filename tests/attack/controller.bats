#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A controller that lies, and users of the host who look for what its client knows.

load attack

# The controllers here have no TLS.
CLIENT=/usr/local/libexec/ipu-container-toolkit/ipu-vipu-client-plain

teardown() {
  host_stop liar
  in_host chmod 0711 "$CLIENT"
  host_config
  remove_containers
  ! in_host test -e /run/hosts || one_address
  # What the liar made is its own.
  assert_nothing_left
}

# A second pool, whose controller says that its IPU-Machines have addresses in FABRIC.
believe() { # FABRIC [TEXT]: a line of the rail
  host_stop liar
  host_spawn liar ip netns exec pod vipu-simulator --listen 10.1.3.101:8091 --pod pod16 --create-delay 0ms --fabric "$1"
  wait_until 10 in_host busybox nc -w 1 10.1.3.101 8091 </dev/null >/dev/null 2>&1
  host_config
  in_host sed -i 's/^\[pool\]/[[pool]]/' /etc/ipu-container-toolkit/config.toml
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<END
${2:-}
[[pool]]
name = "liar"
provider = "vipu"
controller = "10.1.3.101:8091"
END
}

# What a container gets from the liar.
given() {
  answer given refused docker run --rm --runtime=ipu -e IPU_POOL=liar -e IPU_COUNT=4 busybox true
}

@test "attack: a controller that names IPUs of another tenant as its own" {
  row - 'the answer of a controller'
  believe 10.5.1.0/24
  undefended given given
  start victim -e IPU_POOL=pod64 -e IPU_COUNT=4
  assert_contains "$(first_endpoint victim)" 10.5.1.1
  defended refused given
}

@test "attack: a controller that names the host as an IPU-Machine" {
  row - 'the answer of a controller'
  believe 10.5.7.0/24
  undefended given given
  believe 10.5.200.0/24
  defended refused given
}

@test "attack: a controller that names any other host of the fabric, where 'machines' is set" {
  row - 'the answer of a controller'
  believe 10.5.7.0/24
  undefended given given
  believe 10.5.7.0/24 'machines = "10.5.1.0/24"'
  defended refused given
}

# ---- a controller with several addresses ----------------------------------------------------------------

SECOND=10.1.3.102

# The controller has two addresses and a name, and answers at both.
two_addresses() {
  in_host ip -n pod address add "$SECOND/24" dev ctl0
  host_spawn second ip netns exec pod vipu-simulator --listen "$SECOND:8090" --pod pod16
  wait_until 10 in_host busybox nc -w 1 "$SECOND" 8090 </dev/null >/dev/null 2>&1
  in_host sh -c "cp /etc/hosts /run/hosts && printf '%s vipu.test\n' 10.1.3.101 $SECOND >>/etc/hosts"
}

# A lease that ends needs the name.
one_address() {
  wait_until 10 has_leases 0 || true
  host_stop second
  in_host ip -n pod address delete "$SECOND/24" dev ctl0
  in_host sh -c 'cat /run/hosts >/etc/hosts && rm /run/hosts'
}

second_address() { answer reached unreachable inside web nc -w 1 "$SECOND" 8090; }

# Where the configuration does not have the name, the toolkit does not know the second address.
@test "attack: a connection to another address of a controller that is configured by name" {
  row - 'the container with IPUs'
  two_addresses
  start web -e IPU_COUNT=4
  undefended reached second_address
  docker rm --force web
  in_host sed -i 's/^controller = .*/controller = "vipu.test:8090"/' /etc/ipu-container-toolkit/config.toml
  start web -e IPU_COUNT=4
  defended unreachable second_address
  docker rm --force web
}

# Who is attacked started before the name had that address.
@test "attack: a connection to an address that the name of a controller got later" {
  row - 'the container with IPUs'
  two_addresses
  in_host sh -c 'cat /run/hosts >/etc/hosts && echo "10.1.3.101 vipu.test" >>/etc/hosts'
  in_host sed -i 's/^controller = .*/controller = "vipu.test:8090"/' /etc/ipu-container-toolkit/config.toml
  start web -e IPU_COUNT=4
  undefended reached second_address
  in_host sh -c "echo '$SECOND vipu.test' >>/etc/hosts"
  ipuctl gc
  defended unreachable second_address
  docker rm --force web
}

# ---- the client's memory ------------------------------------------------------------------------------

# What the client's own user finds in at most SECONDS, while one client after the other runs.
traced() { # SECONDS
  host_spawn trace setpriv --reuid 65534 --regid 65534 --clear-groups /run/attack/intruder trace "$1" ipu-vipu-client
  wait_until "$(($1 + 5))" has_traced
  in_host tail -n 1 /run/service/trace.log
}

has_traced() {
  ipuctl partition list >/dev/null 2>&1
  in_host grep -qE '^(read|kept out|never saw it)$' /run/service/trace.log
}

@test "attack: a read of the memory of ipu-vipu-client, where the credentials are" {
  row - 'a process of the same user, by ptrace and /proc/PID/mem'
  in_host chmod 0755 "$CLIENT"
  undefended read traced 20
  in_host chmod 0711 "$CLIENT"
  defended 'kept out' traced 10
}

# A program of that user with the client's limit, counted by user.
limited() {
  # shellcheck disable=SC2016
  answer starts 'cannot start' in_host prlimit --nproc=4096 setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'true & wait $!'
}

started() { answer starts 'cannot start' docker run --rm --runtime=ipu -e IPU_COUNT=4 busybox true; }

is_crowded() { docker logs crowd | grep -q crowded; }

@test "attack: as many tasks of the user of ipu-vipu-client as its limit allows, in a container" {
  row - 'a container that chooses its user'
  assert_equal "$(limited)" starts
  docker run --detach --name crowd --user 65534 -v /run/attack:/run/attack:ro busybox /run/attack/intruder crowd 4200 >/dev/null
  wait_until 30 is_crowded
  undefended 'cannot start' limited
  defended starts started
}

# ---- the host's time ----------------------------------------------------------------------------------

# Where the host has FILE of the lease.
lease_file() { echo "/run/ipu-container-toolkit/leases/$(lease_of web .lease)/$1"; }

hold() { # FILE LEASE
  in_host docker exec --detach web sh -c "/run/attack/intruder hold $1 $2 >/tmp/held.$2"
  wait_until 10 inside web grep -q held "/tmp/held.$2"
}

# shellcheck disable=SC2016
opened_for_writing() { answer 'at once' 'after 45 s' in_host timeout 2 sh -c ': >>"$1"' sh "$1"; }

refreshed() { answer 'at once' 'after 45 s' in_host timeout 20 ipuctl lease refresh; }

@test "attack: a lease (fcntl) on ipuof.conf, which would make the host wait" {
  local before
  row - 'root in the container'
  start web -e IPU_COUNT=4 -v /run/attack:/run/attack:ro
  before=$(endpoints web)
  hold /run/ipu/lease.json read
  undefended 'after 45 s' opened_for_writing "$(lease_file ipu/lease.json)"
  # As if a refresh had been interrupted, so that the next one writes.
  in_host truncate -s 0 "$(lease_file ipuof.conf.d/ipuof.conf)"
  hold /etc/ipuof.conf.d/ipuof.conf read
  defended 'at once' refreshed
  hold /etc/ipuof.conf.d/ipuof.conf write
  assert_equal "$(refreshed)" 'at once'
  assert_equal "$(endpoints web)" "$before"
}

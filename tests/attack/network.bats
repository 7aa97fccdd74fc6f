#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What somebody reaches who got hold of CAP_NET_RAW or CAP_NET_ADMIN in the network namespace of a container with
# IPUs. `web` is attacked or taken over, `victim` is another tenant, and `side` is a container of plain runc in the
# network of web. Frames are carried out twice in setup_file: on an open host, without the border, and on a closed one.

load attack
load ../e2e/bundle

BESIDE='a container of plain runc in the network'

setup_file() {
  host_spawn hear ip netns exec pod /run/attack/frame hear fab0
  configure $'[network]\nfilter = "namespace"'
  start_all
  carry_out open
  assert_equal "$(raw_flush)" flushed
  open_web
  plain_tcp >"$BATS_FILE_TMPDIR/open-tcp"
  ping_of side >"$BATS_FILE_TMPDIR/open-ping"
  remove_containers
  close_host
  start_all
  carry_out closed
}

teardown_file() {
  host_stop hear
  host_config
  remove_containers
  assert_nothing_left
}

configure() { # TEXT: further lines of the configuration
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<"$1"
}

# As SECURITY.md tells to configure a shared host.
close_host() {
  host_config
  configure 'others = "drop"'
}

# A container in the network of web, or of another.
beside() { # RUNTIME NETWORK [DOCKER-OPTION...]
  docker run --runtime="$1" --net="container:$2" -v /run/attack:/run/attack:ro "${@:3}"
}

start_all() {
  start victim -e IPU_COUNT=4
  start web -e IPU_COUNT=4 --security-opt seccomp=unconfined -v /run/attack:/run/attack:ro
  beside runc web --detach --name side --cap-add NET_ADMIN busybox sleep 3600
}

# The MAC behind which the fabric of the tests has all its addresses.
fabric_mac() {
  # shellcheck disable=SC2046
  inside web dial $(first_endpoint web) >/dev/null
  inside web cat /proc/net/arp | awk '$6 == "roce0" && $4 != "00:00:00:00:00:00" {print $4; exit}'
}

# ---- frames -----------------------------------------------------------------------------------------

# Sends frames from side, each with a mark PHASE-NAME, and one of the host's at the end.
carry_out() { # PHASE
  local mac own theirs victim_mac mine foreign
  mac=$(fabric_mac)
  own=$(address_in web)
  theirs=$(address_in victim)
  victim_mac=$(lease_of victim '.rails[0].mac')
  mine=$(first_endpoint web)
  foreign=$(first_endpoint victim)
  while read -r name kind as source target; do
    echo "/run/attack/frame send roce0${as#-} $kind $mac $source $target $1-$name"
  done <<END | docker exec --interactive side sh -e >/dev/null
own       syn        - $own $mine
foreign   syn        - $own $foreign
tenant    syn        - $theirs $foreign
host      syn        - 10.5.200.1 $foreign
port      syn        - $own ${mine% *} 22
bypass    bypass     - $own $foreign
vlan      vlan       - $own $mine
broadcast broadcast  - $own $mine
fragment  fragment   - $own $mine
options   options    - $own $mine
udp       udp        - $own ${mine% *} 53
ipv6      ipv6       - $own $mine
other     experiment - $own $mine
ask       ask        - $own $foreign
claim     claim      - $theirs $mine
made-up   syn        ,02:00:00:00:00:77 $own $foreign
twin      syn        ,$victim_mac $theirs $foreign
END
  in_host /run/attack/frame send rnic0 udp "$mac" 10.5.200.1 10.5.1.1 9 "$1-end"
  wait_until 5 was_heard "$1-end"
}

was_heard() { in_host grep -qx "$1" /run/service/hear.log; }

came() { answer arrived dropped was_heard "$1"; } # PHASE-NAME

frame_row() { # NAME [WITH-THE-DEFENCE]
  row - "$BESIDE"
  undefended arrived came "open-$1"
  defended "${2:-dropped}" came "closed-$1"
}

@test "a raw SYN to the own IPUs arrives in both cases" {
  assert_equal "$(came open-own) $(came closed-own)" 'arrived arrived'
}
@test "attack: a raw SYN to IPUs of another tenant" { frame_row foreign; }
@test "attack: a raw SYN to IPUs of another tenant, sent with that tenant's address" { frame_row tenant; }
@test "attack: a raw SYN to IPUs of another tenant, sent with the host's address" { frame_row host; }
@test "attack: a raw SYN to IPUs of another tenant, sent past the queues (PACKET_QDISC_BYPASS)" { frame_row bypass; }
@test "attack: a raw SYN to IPUs of another tenant, sent with a made-up MAC" { frame_row made-up; }
@test "attack: a raw SYN to IPUs of another tenant, sent with that tenant's MAC and address" { frame_row twin arrived; }
@test "attack: a raw SYN to another port of its own IPU-Machine" { frame_row port; }
@test "attack: a raw frame with a VLAN tag" { frame_row vlan; }
@test "attack: a raw broadcast frame" { frame_row broadcast; }
@test "attack: a raw fragment of an IP packet" { frame_row fragment; }
@test "attack: a raw packet with IP options" { frame_row options; }
@test "attack: a raw UDP packet to its own IPU-Machine" { frame_row udp; }
@test "attack: a raw IPv6 packet to all nodes" { frame_row ipv6; }
@test "attack: a raw frame of an unknown kind" { frame_row other; }
@test "attack: a raw ARP request for the IPU-Machine of another tenant" { frame_row ask; }
@test "attack: a raw ARP answer that claims the address of another tenant" { frame_row claim; }

# ---- what the container's own filter and capabilities keep ---------------------------------------------

raw_flush() { docker exec side /run/attack/raw flush; }

# Takes the filter of web away, and adds a route.
open_web() {
  assert_equal "$(raw_flush)" flushed
  docker exec side ip route add "$(first_endpoint victim | cut -d ' ' -f 1)" dev roce0
}

# shellcheck disable=SC2046
plain_tcp() { answer reached unreachable inside web dial $(first_endpoint victim); }

# shellcheck disable=SC2046
ping_of() { docker exec "$1" /run/attack/intruder ping $(first_endpoint victim | cut -d ' ' -f 1); }

@test "attack: a ping, sent without a capability, to the IPU-Machine of another tenant" {
  row - 'the container with IPUs'
  undefended answered cat "$BATS_FILE_TMPDIR/open-ping"
  defended 'not permitted' ping_of web
}

@test "attack: CAP_NET_ADMIN, gained in a new user namespace" {
  row - 'the container with IPUs, without seccomp'
  undefended flushed inside web unshare -U -r -n /run/attack/raw flush
  defended 'flush: not permitted' inside web unshare -U -r /run/attack/raw flush
}

# shellcheck disable=SC2046
joined() { # RUNTIME
  beside "$1" web --rm --cap-add NET_RAW --cap-add NET_ADMIN busybox \
    /run/attack/raw syn roce0 "$(fabric_mac)" "$(address_in web)" $(first_endpoint web)
}

@test "attack: a container that joins the network and asks for CAP_NET_RAW and CAP_NET_ADMIN" {
  row - 'a container without IPUs'
  undefended answered joined runc
  defended 'packet socket: not permitted' joined ipu
  assert_equal "$(beside ipu web --rm --cap-add NET_ADMIN busybox /run/attack/raw flush)" 'flush: not permitted'
}

# A start by the runtime's path of a container that has both capabilities and joins the network of CONTAINER, with the
# further FILTER of its config.json.
joins_with() { # RUNTIME CONTAINER FILTER
  make_bundle "
    .process.args = [\"/tmp/raw\", \"flush\"] |
    .process.capabilities |= map_values(. + [\"CAP_NET_ADMIN\", \"CAP_NET_RAW\"]) |
    .mounts += [{destination: \"/tmp/raw\", type: \"bind\", source: \"/run/attack/raw\", options: [\"bind\", \"ro\"]}] |
    .linux.namespaces |= map(if .type == \"network\" then .path = \"/proc/$(docker inspect -f '{{.State.Pid}}' "$2")/ns/net\" else . end) |
    $3"
  in_host timeout "$LIMIT" "$1" --root "$STATE" run --bundle "$BUNDLE" beside 2>&1 || true
  remove_bundle
  in_host rm -f /run/busybox/tmp/raw
}

joins_row() { # FILTER
  row - 'a container without IPUs'
  docker run --detach --runtime=runc --name another busybox sleep 3600 >/dev/null
  undefended flushed joins_with ipu-container-runtime another "$1"
  docker rm -f another >/dev/null
  defended 'flush: not permitted' joins_with ipu-container-runtime web "$1"
}

# 5,000 annotations are more than the toolkit reads for a request.
@test "attack: a container that joins the network with more annotations than the toolkit reads" {
  joins_row '.annotations = ([range(5000) | {key: "a\(.)", value: ""}] | from_entries)'
}

# containerd's CRI plugin writes a variable of the image before that of the pod, which counts: this one wants no IPUs.
@test "attack: a container that joins the network and has two values for IPU_VISIBLE_DEVICES" {
  joins_row '.annotations["io.kubernetes.cri.container-type"] = "container" |
    .process.env += ["IPU_VISIBLE_DEVICES=all", "IPU_VISIBLE_DEVICES=none"]'
}

@test "a container in another network keeps both" {
  run -0 docker run --rm --runtime=ipu --cap-add NET_ADMIN -v /run/attack:/run/attack:ro busybox /run/attack/raw flush
  assert_equal "$output" flushed
}

executed() { # NAME
  docker exec "$1" /run/attack/raw flush
}

@test "attack: an exec in the network, which docker gives capabilities" {
  row - 'docker exec'
  docker run --detach --runtime=ipu --name plain --cap-add NET_ADMIN -v /run/attack:/run/attack:ro busybox sleep 3600
  beside ipu web --detach --cap-add NET_ADMIN --name joined busybox sleep 3600
  undefended flushed executed plain
  defended 'flush: not permitted' executed joined
  assert_equal "$(executed web)" 'flush: not permitted'
  assert_equal "$(docker exec web /run/attack/raw syn roce0 02:00:00:00:00:01 10.0.0.1 10.0.0.2 80)" 'packet socket: not permitted'
  run -0 docker exec --user 7 --env A=b --workdir /tmp joined env
  assert_contains "$output" A=b
  assert_equal "$(docker exec --user 7 --workdir /tmp joined sh -c 'id -u; pwd')" $'7\n/tmp'
  docker rm --force plain joined
}

# Who has NET_ADMIN before IPUs join its network.
admin() { # NAME COMMAND...
  docker run --detach --runtime=ipu --cap-add NET_ADMIN -v /run/attack:/run/attack:ro --name "$1" busybox "${@:2}"
}

joins() { # NAME
  answer joined refused docker run --rm --runtime=ipu --net="container:$1" -e IPU_COUNT=4 busybox true
}

@test "attack: a container with IPUs that joins a network in which a process has CAP_NET_ADMIN" {
  row - 'the container that was there before'
  admin admin sleep 3600
  configure $'[policy]\nshared_net_admin = true'
  undefended joined joins admin
  close_host
  defended refused joins admin
  assert_refused --net=container:admin -e IPU_COUNT=4 -- 'CAP_NET_ADMIN' 'shared_net_admin = true in [policy]'
  docker rm --force admin
}

@test "attack: a container with IPUs that joins a network in which a hidden thread has CAP_NET_ADMIN" {
  row - 'the container that was there before'
  admin admin /run/attack/intruder hide /go /run/attack/raw flush
  configure $'[policy]\nshared_net_admin = true'
  undefended joined joins admin
  close_host
  defended refused joins admin
  docker exec admin touch /go
  assert_equal "$(docker wait admin)" 0
  assert_equal "$(docker logs admin)" $'hidden\nflushed'
  docker rm --force admin
}

@test "attack: plain TCP to another tenant, after CAP_NET_ADMIN removed the filter in the container" {
  row - "$BESIDE"
  undefended reached cat "$BATS_FILE_TMPDIR/open-tcp"
  open_web
  defended unreachable plain_tcp
  # shellcheck disable=SC2046
  inside web dial $(first_endpoint web) 0.0.0.0 roce0
  assert_equal "$(ping_of web)" silent
}

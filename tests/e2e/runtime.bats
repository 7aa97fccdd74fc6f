#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipu-container-runtime called as engines call it, with good and with hostile bundles.

load support
load bundle

# A config.json without what differs from lease to lease: its id.
SHAPE='walk(if type == "string" then gsub("[0-9a-f]{32}"; "ID") else . end)'

COPY=/run/copy-of-wrapper
START=/usr/local/libexec/ipu-container-toolkit/ipu-container-start

# What a test has changed of the installation comes back, also if the test failed.
bring_back() {
  host_config
  in_host rm -f "$COPY"
  ! in_host test -e "$START.away" || in_host mv "$START.away" "$START"
}

teardown() {
  bring_back
  remove_bundle
  assert_nothing_left
}

@test "a good bundle: create, start, kill and delete print nothing" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  run -0 create good
  assert_equal "$output" ''
  run -0 runtime start good
  assert_equal "$output" ''
  assert_equal "$(ipuctl ps --output json | jq length)" 1
  run -0 runtime kill good KILL
  assert_equal "$output" ''
  run -0 runtime delete --force good
  assert_equal "$output" ''
}

@test "a bundle that is started a second time has the second lease alone" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  create once
  runtime delete --force once
  create twice
  wait_until 10 has_leases 1
  run -0 in_host jq -r '[.annotations["graphcore.ai/ipu.lease"]] + [.hooks[][].args[-1]] | unique | .[]' "$BUNDLE/config.json"
  assert_equal "$output" "$(ipuctl ps --output json | jq -r '.[].lease')"
  assert_equal "$(in_host jq '[.mounts[] | select(.destination == "/run/ipu")] | length' "$BUNDLE/config.json")" 1
}

@test "the wrapper, or a copy of it, as its own low-level runtime is one line and no endless loop" {
  make_bundle .
  create old
  in_host cp "$BINDIR/ipu-container-runtime" "$COPY"
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[runtime]\npaths = ["/run/copy-of-wrapper"]'
  give_own_cgroup refused
  assert_create_refused "'$COPY' is this program itself; name runc or crun in runtime.paths"
  runtime state old | jq -e '.status == "created"'
  runtime delete --force old
  host_config
  # The copy as the engine's runtime, and the installed one as its low-level runtime.
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'[runtime]\npaths = ["'"$BINDIR"'/ipu-container-runtime"]'
  run -1 in_host timeout 10 "$COPY" --root "$STATE" create --bundle "$BUNDLE" refused
  assert_contains "$output" 'is this program itself'
  host_config
  create good
  # shellcheck disable=SC2016
  run -1 in_host timeout 10 unshare --mount sh -c '
    mount --bind "$1" "$(readlink /run/ipu-container-toolkit/runtime)"
    ipu-container-runtime --root "$2" state good' sh "$BINDIR/ipu-container-runtime" "$STATE"
  assert_contains "$output" 'is this program itself'
}

@test "without ipu-container-start, what it is needed for says so to the engine, and all else works" {
  make_bundle .
  create good
  in_host mv "$START" "$START.away"
  runtime state good | jq -e '.status == "created"'
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  assert_create_refused "execute '$START': No such file or directory; install the IPU container toolkit again"
}

@test "crun's logs that are no files" {
  make_bundle '.process.env += ["IPU_COUNT=3"]'
  run -1 in_host sh -c "cd /run && ipu-container-runtime --log=syslog:ipu create --bundle $BUNDLE refused"
  assert_contains "$output" "IPU_COUNT='3'"
  run ! in_host test -e /run/syslog:ipu
}

@test "explain --bundle shows what a start makes of a bundle, and takes nothing" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  run -0 ipuctl explain --bundle "$BUNDLE"
  assert_contains "$output" 'asks for 4 IPUs of pool "pod64"'
  assert_contains "$output" '+      "destination": "/run/ipu"'
  assert_contains "$output" '@@'
  assert_equal "$(ipuctl ps -o json)" '[]'
  shown=$(ipuctl explain --bundle "$BUNDLE" -o json | jq -cS ".config | $SHAPE")
  create good
  assert_equal "$shown" "$(in_host cat "$BUNDLE/config.json" | jq -cS "$SHAPE")"
  make_bundle .
  assert_contains "$(ipuctl explain --bundle "$BUNDLE")" 'asks for no IPUs'
  make_bundle '.process.env += ["IPU_COUNT=3"]'
  run -2 ipuctl explain --bundle "$BUNDLE"
  assert_contains "$output" "IPU_COUNT='3' is not accepted"
  run -1 ipuctl explain --bundle /run/nowhere
  assert_equal "$output" "ipuctl: '/run/nowhere' does not exist; give --bundle the folder of an OCI bundle, which has a config.json"
  run -2 ipuctl explain
}

@test "a directory of the host on /etc/ipuof.conf.d is not mounted, and gets no file" {
  in_host sh -c 'mkdir -p /run/theirs && echo "{}" >/run/theirs/p0.conf'
  make_bundle '.process.env += ["IPU_COUNT=4"] | .mounts += [{destination: "/etc/ipuof.conf.d", type: "bind", source: "/run/theirs", options: ["rbind"]}]'
  create good
  assert_equal "$(in_host runc --root "$STATE" exec good ls /etc/ipuof.conf.d)" ipuof.conf
  assert_equal "$(in_host ls /run/theirs)" p0.conf
  in_host rm -r /run/theirs
}

@test "delete twice is harmless" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  create good
  runtime delete --force good
  runtime delete --force good
}

@test "a refused value" {
  make_bundle '.process.env += ["IPU_COUNT=3"]'
  assert_create_refused "IPU_COUNT='3'" 'a power of two from 1 to 64'
}

@test "IPU_COUNT twice" {
  make_bundle '.process.env += ["IPU_COUNT=4", "IPU_COUNT=8"]'
  assert_create_refused 'IPU_COUNT' 'twice'
}

@test "an unknown annotation of ours" {
  make_bundle '.annotations = {"graphcore.ai/ipu.cuont": "4"}'
  assert_create_refused 'graphcore.ai/ipu.cuont'
}

@test "an annotation asks, and wins over the variable" {
  make_bundle '.annotations = {"graphcore.ai/ipu.count": "2"} | .process.env += ["IPU_COUNT=4"]'
  create good
  assert_equal "$(ipuctl ps --output json | jq '.[0].ipus')" 2
}

@test "config.json that is no JSON" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  in_host sed -i '1s/{/{{/' "$BUNDLE/config.json"
  assert_create_refused config.json
}

@test "config.json that ends in the middle" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  in_host truncate -s -20 "$BUNDLE/config.json"
  assert_create_refused config.json
}

@test "config.json with process twice" {
  make_bundle '.process.env += ["IPU_COUNT=4"]'
  in_host sed -i '1s/{/{"process": {"env": []},/' "$BUNDLE/config.json"
  assert_create_refused config.json process
}

@test "config.json with hooks twice" {
  make_bundle '.process.env += ["IPU_COUNT=4"] | .hooks = {}'
  in_host sed -i '1s/{/{"hooks": {},/' "$BUNDLE/config.json"
  assert_create_refused config.json hooks
}

@test "config.json with Process beside process" {
  make_bundle '.process.env += ["IPU_COUNT=4"] | .Process = .process'
  assert_create_refused config.json "'Process'" "'process'"
}

@test "config.json whose environment is no list" {
  make_bundle '.process.env = {"IPU_COUNT": "4"}'
  assert_create_refused config.json process.env
}

@test "5 MB of environment" {
  make_bundle '.process.env += ["IPU_COUNT=4"] + [range(50000) | "V\(.)=" + "x" * 95]'
  assert_create_refused process.env
}

@test "no network namespace, as with --net=host" {
  make_bundle '.process.env += ["IPU_COUNT=4"] | .linux.namespaces |= map(select(.type != "network"))'
  assert_create_refused network
}

@test "the host's network namespace by its path" {
  make_bundle '.process.env += ["IPU_COUNT=4"] |
    .linux.namespaces |= map(if .type == "network" then .path = "/proc/1/ns/net" else . end)'
  assert_create_refused network
}

@test "a bundle without config.json" {
  make_bundle .
  in_host rm "$BUNDLE/config.json"
  run -1 create refused
}

@test "large numbers, unknown members and their order stay as they are" {
  make_bundle '.process.env += ["IPU_COUNT=1"] | .linux.resources.unknown = {"z": "BIG", "a": -0.5}'
  # jq itself would round it.
  in_host sed -i 's/"BIG"/18446744073709551615/' "$BUNDLE/config.json"
  create good
  assert_contains "$(in_host cat "$BUNDLE/config.json" | tr -d ' \n')" \
    '"unknown":{"z":18446744073709551615,"a":-0.5}'
}

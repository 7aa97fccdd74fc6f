#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How the product lives with runc and with crun, which is another program: it loses what hooks say and runs
# no poststop after a create that failed.

# bats's run sets status, output and stderr; LOW_LEVEL is for remove_all.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load support
load bundle
load conformance

teardown() {
  note_conformance
  restore_host
  remove_all
  give_back
}

restore_host() {
  in_host sh -c 'ip netns delete shared; rm -rf /run/rootfs /run/victim' 2>/dev/null || true
  [ -z "${WITHOUT_SIMULATOR:-}" ] || sim_start
}

# ---- line 11: a broken configuration keeps nothing from ending ----

broken_configuration() { # LOW-LEVEL
  LOW_LEVEL=$1
  bundle_for "$1"
  create_by "$1" job
  in_host tee "$CONFIG" >/dev/null <<<'no configuration ['
  call "$1" start job
  assert_contains "$(call "$1" state job)" running
  call "$1" exec job true
  call "$1" kill job KILL
  call "$1" delete --force job
  host_config
  wait_until 10 nothing_is_left
}

@test "line 11, runc: a broken configuration: start, state, exec, kill and delete work, all comes back" {
  broken_configuration runc
}

@test "line 11, crun: a broken configuration: start, state, exec, kill and delete work, all comes back" {
  broken_configuration crun
}

# ---- line 12: a controller that is no good ----

bad_controller() { # LOW-LEVEL
  local before=$SECONDS
  LOW_LEVEL=$1
  bundle_for "$1"
  in_host sed -i 's/^timeout = .*/timeout = "3s"/' "$CONFIG"
  sim_stop
  WITHOUT_SIMULATOR=yes
  host_spawn garbage ip netns exec pod busybox nc -ll -s "${CONTROLLER%:*}" -p "${CONTROLLER#*:}" -e echo garbage
  run -1 --separate-stderr create_by "$1" job
  host_stop garbage
  # shellcheck disable=SC2154
  assert_equal "$(wc -l <<<"$stderr")" 1
  assert_contains "$stderr" "$CONTROLLER"
  [ $((SECONDS - before)) -le 20 ]
  change_bundle '.process.env = ["PATH=/bin"]'
  create_by "$1" job
}

@test "line 12, runc: garbage for a controller: one clear line in time; without a request no matter" {
  bad_controller runc
}

@test "line 12, crun: garbage for a controller: one clear line in time; without a request no matter" {
  bad_controller crun
}

# ---- line 13: the log file ----

refused_log() { # LOG [FORMAT]
  change_bundle '.process.env = ["IPU_COUNT=3"]'
  # shellcheck disable=SC2016
  run -1 --separate-stderr in_host timeout 10 "$RUNTIME" --log "$1" --log-format "${2:-json}" create --bundle "$BUNDLE" job
  assert_equal "$output" ''
  assert_equal "$(wc -l <<<"$stderr")" 1
  assert_contains "$stderr" "IPU_COUNT='3'"
}

@test "line 13, runc: a log file that is missing is made, one that is there gets one line more" {
  bundle_for runc
  refused_log "$LOG"
  refused_log "$LOG"
  assert_equal "$(in_host cat "$LOG" | jq -r '.level + " " + .msg' | sort -u)" "error $stderr"
  assert_equal "$(in_host cat "$LOG" | wc -l)" 2
  assert_equal "$(in_host stat -c %a "$LOG")" 644
  in_host cat "$LOG" | jq -es 'all(.[]; .time | fromdateiso8601? // (sub("\\.[0-9]+"; "") | fromdateiso8601))'
}

@test "line 13, runc: a log as text is one logrus line" {
  bundle_for runc
  refused_log "$LOG" text
  [[ $(in_host cat "$LOG") =~ ^time=\"[-0-9T:.]+Z\"\ level=error\ msg=\"ipu:\ IPU_COUNT=\'3\'[^\"]*\"$ ]]
}

@test "line 13, runc: a log that is a directory, cannot be made or written, a FIFO, a socket, a full file" {
  bundle_for runc
  refused_log /run
  refused_log /no/such/folder/log
  refused_log /proc/version
  refused_log /proc/no-such
  in_host sh -c 'rm -f /run/fifo && mkfifo /run/fifo'
  refused_log /run/fifo
  refused_log /run/docker.sock
  refused_log /dev/full
  in_host rm /run/fifo
}

@test "line 13, runc: a log that is standard error: the line stands there once" {
  bundle_for runc
  refused_log /dev/stderr
}

@test "line 13, crun: a refusal is in the log, and on standard error" {
  LOW_LEVEL=crun
  bundle_for crun '.process.env = ["IPU_COUNT=3"]'
  run -1 --separate-stderr create_by crun job
  assert_equal "$output" ''
  assert_equal "$(wc -l <<<"$stderr")" 1
  assert_contains "$stderr" "IPU_COUNT='3'"
  assert_equal "$(in_host jq -r .msg "$LOG")" "$stderr"
}

# ---- line 16 ----

@test "line 16, runc: LD_PRELOAD in the image reaches no hook of ours" {
  local library='__attribute__((constructor)) static void mark() { close(creat("/run/preloaded", 0600)); }'
  read -ra compiler <<<"${CXX:-g++}"
  "${compiler[@]}" -shared -fPIC -x c++ -o "$BATS_TEST_TMPDIR/evil.so" - <<<$'#include <fcntl.h>\n#include <unistd.h>\n'"$library"
  in_host tee /run/evil.so <"$BATS_TEST_TMPDIR/evil.so" >/dev/null
  in_host env LD_PRELOAD=/run/evil.so /usr/bin/env
  in_host rm /run/preloaded
  bundle_for runc '.process.env += ["LD_PRELOAD=/run/evil.so"]'
  create_by runc job
  call runc start job
  call runc delete --force job
  wait_until 10 nothing_is_left
  run ! in_host ls /run/preloaded
}

# crun fails where a hook does not read what it is given.
hook_entries() { # LOW-LEVEL
  LOW_LEVEL=$1
  bundle_for "$1" '.hooks = {poststop: [{path: "/usr/bin/wc"}], createRuntime: [{path: "/usr/bin/wc"}]}'
  create_by "$1" job
  in_host cat "$BUNDLE/config.json" | jq -e '[.hooks[][] | select(.path != "/usr/bin/wc")] as $ours |
    ($ours | length) == 2 and
    all($ours[]; (.path | startswith("/")) and (.env | length) > 0 and .timeout > 10 and
      all(.env[]; startswith("LD_") | not)) and
    .hooks.poststop[0].path != "/usr/bin/wc" and .hooks.poststop[1].path == "/usr/bin/wc"'
  # A program without an interpreter is loaded by the kernel alone.
  run ! grep INTERP < <(readelf --program-headers --wide "$O"/bin/ipu-container-{hook,poststop})
}

@test "line 16, runc: our hooks: absolute, static, with an environment and a time limit, poststop first" {
  hook_entries runc
}

@test "line 16, crun: our hooks: absolute, static, with an environment and a time limit, poststop first" {
  hook_entries crun
}

# A poststop that fails keeps youki's delete from ending, and runc's later hooks from running.
poststop_is_silent() { # PROGRAM
  local lease=0123456789abcdef0123456789abcdef state='{"id": "job", "bundle": "/b", "status": "stopped"}'
  bundle_for runc
  create_by runc job
  run -0 --separate-stderr in_host "$1" poststop --lease "$lease" <<<"$state"
  assert_equal "$output" ''
  lease=$(ipuctl ps -o json | jq -r '.[0].lease')
  for state in '' '{' 'no state' '[]' '{"id": 1}' '{"id": "other"}' "$(printf '%2000000s' x)"; do
    run -0 --separate-stderr in_host "$1" poststop --lease "$lease" <<<"$state"
    assert_equal "$output" ''
  done
  run -0 --separate-stderr in_host sh -c "$1 poststop --lease $lease <&-"
  in_host tee "$CONFIG" >/dev/null <<<'no configuration ['
  run -0 --separate-stderr in_host "$1" poststop --lease "$lease" <<<"$state"
  run -0 --separate-stderr in_host unshare --mount sh -c "
    mount -t tmpfs -o ro tmpfs /var/lib/ipu-container-toolkit && $1 poststop --lease $lease </dev/null"
  host_config
}

@test "line 18, runc: poststop exits 0 and says nothing on standard output, whatever it is given" {
  poststop_is_silent ipu-container-hook
}

@test "line 18, runc: so does the program that config.json names" {
  poststop_is_silent /usr/local/libexec/ipu-container-toolkit/ipu-container-poststop
}

# ---- line 17 ----

# What an image puts in the way leads out of it; nothing out there changes.
symlinks() { # LOW-LEVEL "PLACE TARGET"...
  local link before
  LOW_LEVEL=$1
  for link in "${@:2}"; do
    # shellcheck disable=SC2016
    in_host sh -c '
      rm -rf /run/victim /run/rootfs
      mkdir /run/victim && echo untouched >/run/victim/file
      cp -a /run/busybox /run/rootfs && mkdir -p "/run/rootfs/$(dirname "$1")"
      rm -rf "/run/rootfs/$1" && ln -sn "$2" "/run/rootfs/$1"
    ' sh "${link% *}" "${link#* }"
    before=$(in_host find /run/victim -printf '%p %i %m %U %s %t\n')
    bundle_for "$1" '.root = {path: "/run/rootfs", readonly: false}'
    if create_by "$1" job 2>/dev/null; then
      call "$1" start job
      call "$1" delete --force job
    fi
    assert_equal "$(in_host find /run/victim -printf '%p %i %m %U %s %t\n')" "$before"
    give_back
  done
}

FOLDERS=('etc /run/victim' 'etc/ipuof.conf.d ../../../../run/victim' 'run /run/victim' 'run/ipu /run/victim')
FILES=('run/ipu/lease.json /run/victim/file' 'etc/ipuof.conf.d/ipuof.conf ../../../run/victim/file' 'etc/ipuof.conf.d loop')

@test "line 17, runc: links in the image at the folders of our files lead nowhere" { symlinks runc "${FOLDERS[@]}"; }
@test "line 17, crun: links in the image at the folders of our files lead nowhere" { symlinks crun "${FOLDERS[@]}"; }
@test "line 17, runc: links in the image at our files lead nowhere" { symlinks runc "${FILES[@]}"; }
@test "line 17, crun: links in the image at our files lead nowhere" { symlinks crun "${FILES[@]}"; }

# ---- line 21: see conformance_passing.bats for a hook that is killed ----

@test "line 21, runc: a hook that cannot have the ledger says so before its time limit" {
  bundle_for runc
  in_host tee "$SPY/locking" >/dev/null <<'END'
#!/bin/sh
/usr/bin/python3 -c '
import os, sqlite3, time
ledger = sqlite3.connect("/var/lib/ipu-container-toolkit/ledger.db", isolation_level=None)
ledger.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
os.system("timeout 30 sh -c \"until pgrep -f [i]pu-container-hook; do sleep 0.05; done\"")
time.sleep(13)' >/run/locked 2>&1 </dev/null &
# Long enough for the hook, which has 10 s; poststop may have it again.
echo $! >/run/locking.pid
until grep -q locked /run/locked; do sleep 0.05; done
exec /usr/sbin/runc "$@"
END
  in_host chmod 0755 "$SPY/locking"
  use_spy "$SPY/locking"
  local before=$SECONDS
  run -1 --separate-stderr create_by runc job
  # shellcheck disable=SC2016
  in_host sh -c 'kill "$(cat /run/locking.pid)" 2>/dev/null; rm -f /run/locking.pid /run/locked'
  assert_contains "$stderr" 'ipu: '
  assert_contains "$stderr" ledger
  [ $((SECONDS - before)) -le 40 ]
}

# ---- line 20 ----

shared_namespace() { # LOW-LEVEL
  local filter='.linux.namespaces |= map(if .type == "network" then .path = "/run/netns/shared" else . end)'
  LOW_LEVEL=$1
  in_host ip netns add shared
  bundle_for "$1" "$filter"
  create_by "$1" one
  # Until then threads of the low-level runtime have CAP_NET_ADMIN there.
  call "$1" start one
  # runc 1.3 refuses a cgroup that has processes.
  bundle_for "$1" "$filter | .linux.cgroupsPath += \"-two\""
  create_by "$1" two
  assert_equal "$(in_host ip -n shared -o link show type macvlan | wc -l)" 1
  assert_equal "$(leases)" 2
  call "$1" delete --force one
  wait_until 10 has_leases 1
  assert_equal "$(in_host ip -n shared -o link show type macvlan | wc -l)" 1
  call "$1" delete --force two
  wait_until 10 nothing_is_left
}

@test "line 20, runc: two containers in one network namespace have one interface, until both have ended" {
  shared_namespace runc
}

@test "line 20, crun: two containers in one network namespace have one interface, until both have ended" {
  shared_namespace crun
}

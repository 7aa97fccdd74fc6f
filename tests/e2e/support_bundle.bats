#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The file for a supporter: what it says, and what it must not say.

load support

FILE=/run/support.txt
LOG=/var/lib/ipu-container-toolkit/debug.log

teardown() {
  in_host sed -i '/^tls = /d' /etc/ipu-container-toolkit/config.toml
  remove_containers
  wait_until 10 has_leases 0
  host_config
  remove_users
  in_host rm -rf "$FILE" /root/secrets /etc/containerd "$LOG" "$LOG.1" /run/elsewhere
  assert_nothing_left
}

@test "a support bundle says what is asked first, and only root can read it" {
  start job -e IPU_COUNT=4
  run ! docker run --rm --runtime=ipu -e IPU_COUNT=3 busybox true
  run -0 ipuctl support-bundle --file "$FILE"
  assert_contains "$output" "wrote $FILE; read it before you send it"
  assert_equal "$(in_host stat -c '%a %u' "$FILE")" '600 0'
  run -0 in_host cat "$FILE"
  local text
  for text in '==== kernel' '==== ipuctl doctor' 'RUNNING' 'job' '/usr/bin/docker: ' "IPU_COUNT='3' is not accepted" \
    'controller = "10.1.3.101:8090"' '10.1.3.101:8090 answers' 'rnic0' "docker"; do
    assert_contains "$output" "$text"
  done
  run -1 ipuctl support-bundle --file "$FILE"
  assert_contains "$output" 'it is there already'
}

# A certificate and its key, which the toolkit reads: OpenSSL takes what is before the first line of PEM for a comment.
make_key() {
  in_host sh -c '
    set -e
    cd /root/secrets
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=client -keyout plain.pem -out certificate.pem 2>/dev/null
    { echo S3CRET-key; cat plain.pem; } >key.pem
    grep -v ^----- plain.pem >secrets
    rm plain.pem'
}

@test "a support bundle has no secrets" {
  in_host mkdir -p -m 0700 /root/secrets /etc/containerd
  in_host tee /root/secrets/credentials >/dev/null <<<'authorization: S3CRET-credentials'
  make_key
  in_host chmod 0600 /root/secrets/credentials /root/secrets/key.pem
  in_host useradd --system --shell /usr/sbin/nologin ipu-vipu-client
  in_host sed -i 's|^timeout.*|&\ncredentials = "/root/secrets/credentials"\ninsecure_credentials = true|' \
    /etc/ipu-container-toolkit/config.toml
  in_host tee /etc/containerd/config.toml >/dev/null <<<$'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry.configs.x.auth]\npassword = "S3CRET-registry"'
  log_all
  start job -e IPU_COUNT=4 -e TOKEN=S3CRET-variable --label token=S3CRET-label
  # The simulator speaks no TLS: the client has read the key when its handshake fails.
  in_host sed -i 's|^credentials.*|&\ntls = { ca = "/root/secrets/certificate.pem", certificate = "/root/secrets/certificate.pem", key = "/root/secrets/key.pem" }|' \
    /etc/ipu-container-toolkit/config.toml
  run -0 ipuctl support-bundle --file "$FILE"
  run -0 in_host cat "$FILE"
  [[ $output != *S3CRET* ]] || fail "$(grep S3CRET <<<"$output")"
  run -1 in_host grep --text --fixed-strings --file /root/secrets/secrets "$FILE"
  run -0 in_host cat "$FILE"
  assert_contains "$output" '/root/secrets/credentials'
  assert_contains "$output" 'key = "/root/secrets/key.pem"'
  assert_contains "$output" 'TLS handshake failed'
  assert_contains "$output" "==== $LOG"
}

log_all() { # [KEYS]
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<<$'\n[log]\nlevel = "debug"\n'"${1-}"
}

# What the log says of steps of PROGRAM, without times.
steps_of() { # PROGRAM
  # shellcheck disable=SC2016
  in_host awk -v program="$1" '$3 == program { $1 = $2 = $3 = $4 = $5 = $6 = ""; sub(/^ +/, ""); print }' "$LOG"
}

@test "the log has each phase of a start and of its end, each question to the controller, and refusals" {
  local lease text
  log_all
  start job -e IPU_COUNT=4
  lease=$(lease_of job .lease)
  run ! docker run --rm --runtime=ipu -e IPU_COUNT=3 busybox true
  docker rm --force job
  wait_until 10 has_leases 0
  assert_equal "$(in_host stat -c '%a %u' "$LOG")" '600 0'
  run -0 steps_of ipu-container-runtime
  for text in 'create begins' 'config.json is parsed' 'it asks for IPUs' 'the host is inspected' 'INTENT' ': asks' \
    ': answered' 'ACTIVE after' 'ALLOCATED' 'the files of the lease are written' 'config.json is replaced' \
    'the ledger has it on disk' 'exec /usr/' "IPU_COUNT='3' is not accepted"; do
    assert_contains "$output" "$text"
  done
  run -0 steps_of ipu-container-hook
  for text in 'createRuntime begins' 'there after' 'RUNNING' 'release begins' 'RELEASING' 'undo interfaces: done' \
    'undo partition: done' 'it has ended'; do
    assert_contains "$output" "$text"
  done
  # Each line has its words, and the lease's changes its ID.
  run -0 in_host grep -Evc '^20[^ ]+Z (error|warning|info|debug) ip[^ ]+ [0-9]+ [^ ]+ [0-9]+\.[0-9] ' "$LOG" || [ "$output" = 0 ]
  run -0 in_host grep -E "info ipu-container-hook [0-9]+ $lease [0-9.]+ RUNNING" "$LOG"
  assert_contains "$(ipuctl doctor || true)" "steps of level debug and above go to $LOG"
}

@test "IPU_DEBUG=1 is the engine's or root's variable, never a container's" {
  start job -e IPU_COUNT=4 -e IPU_DEBUG=1
  in_host test ! -e "$LOG"
  in_host env IPU_DEBUG=1 ipuctl ps >/dev/null
  assert_contains "$(steps_of ipuctl)" 'ipuctl ps begins'
}

@test "a log that cannot be written stops no start, and doctor says why" {
  log_all 'file = "/run/elsewhere/debug.log"'
  in_host mkdir -m 0777 /run/elsewhere
  start job -e IPU_COUNT=4
  assert_equal "$(in_host ls -A /run/elsewhere)" ''
  assert_contains "$(ipuctl doctor || true)" "can be changed by others than root"
  in_host chmod 0755 /run/elsewhere
  in_host ln -s /run/elsewhere/victim /run/elsewhere/debug.log
  ipuctl ps >/dev/null
  in_host test ! -e /run/elsewhere/victim
  in_host rm /run/elsewhere/debug.log
  assert_contains "$(ipuctl doctor || true)" 'steps of level debug and above go to /run/elsewhere/debug.log'
}

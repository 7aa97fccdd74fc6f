#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The file for a supporter: what it says, and what it must not say.

load support

FILE=/run/support.txt

teardown() {
  remove_containers
  wait_until 10 has_leases 0
  host_config
  remove_users
  in_host rm -rf "$FILE" /root/secrets /etc/containerd
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

@test "a support bundle has no secrets" {
  in_host mkdir -m 0700 /root/secrets /etc/containerd
  in_host tee /root/secrets/credentials >/dev/null <<<'authorization: S3CRET-credentials'
  in_host tee /root/secrets/key.pem >/dev/null <<<'S3CRET-key'
  in_host chmod 0600 /root/secrets/credentials /root/secrets/key.pem
  in_host useradd --system --shell /usr/sbin/nologin ipu-vipu-client
  in_host sed -i 's|^timeout.*|&\ncredentials = "/root/secrets/credentials"\ninsecure_credentials = true|' \
    /etc/ipu-container-toolkit/config.toml
  in_host tee /etc/containerd/config.toml >/dev/null <<<$'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry.configs.x.auth]\npassword = "S3CRET-registry"'
  start job -e IPU_COUNT=4 -e TOKEN=S3CRET-variable --label token=S3CRET-label
  run -0 ipuctl support-bundle --file "$FILE"
  run -0 in_host cat "$FILE"
  [[ $output != *S3CRET* ]] || fail "$(grep S3CRET <<<"$output")"
  assert_contains "$output" '/root/secrets/credentials'
}

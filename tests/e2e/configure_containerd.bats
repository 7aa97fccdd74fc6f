#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipuctl runtime configure, status, unconfigure: containerd with its CRI plugin.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

load support

FILE=/etc/containerd/config.toml

setup() {
  in_host mkdir -p /etc/containerd
  in_host tee "$FILE" /etc/config.before >/dev/null <<END
version = 2
root = "/run/containerd-e2e/root"
state = "/run/containerd-e2e/state"
disabled_plugins = []
[grpc]
  address = "/run/containerd-e2e/socket"
END
}

teardown() {
  host_stop containerd
  in_host rm -rf /etc/containerd /run/containerd-e2e
}

start_containerd() {
  host_spawn containerd containerd
  wait_until 20 containerd_answers
}

containerd_answers() { in_host ctr --address /run/containerd-e2e/socket version >/dev/null 2>&1; }

in_use() { ipuctl runtime status containerd -o json | jq -r '.[].in_use'; }

# How many handlers of the product containerd has. Which quotes it prints depends on its version.
handlers() { in_host containerd --config "$FILE" config dump | grep -c "BinaryName = [\"']$BINDIR/ipu-container-runtime[\"']"; }

assert_as_before() {
  in_host cmp "$FILE" /etc/config.before
  assert_equal "$(in_host ls -A /etc/containerd | xargs)" config.toml
}

@test "containerd: a handler of its CRI plugin, which counts after a restart" {
  start_containerd
  assert_equal "$(in_use)" no
  run -0 ipuctl runtime configure containerd
  assert_contains "$output" "run 'systemctl restart containerd' to apply the change"
  assert_equal "$(handlers)" 1
  assert_equal "$(in_use)" unknown
  assert_contains "$(ipuctl runtime status containerd)" 'was written after containerd started'
  # The advice stays until it is followed.
  assert_contains "$(ipuctl runtime configure containerd)" "run 'systemctl restart containerd' to apply the change"
  host_stop containerd
  start_containerd
  assert_equal "$(in_use)" yes
  assert_equal "$(ipuctl runtime configure containerd)" "containerd: $FILE already has the runtime"
  ipuctl runtime unconfigure containerd
  assert_as_before
}

@test "containerd: where none runs it counts when one starts" {
  assert_contains "$(ipuctl runtime configure containerd)" 'the change takes effect when it starts'
  ipuctl runtime unconfigure containerd
  assert_as_before
}

@test "containerd: beside docker it counts as installed once its file has the runtime" {
  listed() { ipuctl runtime status -o json | jq -r '.[].engine' | xargs; }
  [[ $(listed) != *containerd* ]]
  ipuctl runtime configure containerd
  assert_contains "$(listed)" containerd
  assert_contains "$(ipuctl runtime unconfigure --dry-run)" "--- $FILE"
  ipuctl runtime unconfigure containerd
  assert_as_before
}

@test "containerd: an import that replaces the plugin is seen before anything is written" {
  # By a relative path, which leads somewhere from that directory alone.
  in_host sed -i '/^root = /i imports = ["other.toml"]' "$FILE" /etc/config.before
  printf 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "x"\n' |
    in_host tee /etc/containerd/other.toml >/dev/null
  run ipuctl runtime configure containerd
  # From version 2 on, containerd puts both files together. It is asked itself whether it then has the runtime.
  if [ "$status" -eq 0 ]; then
    assert_equal "$(handlers)" 1
    ipuctl runtime unconfigure containerd
  else
    assert_equal "$status" 2
    assert_contains "$output" 'a file that it imports replaces the whole plugin'
  fi
  in_host rm /etc/containerd/other.toml
  assert_as_before
}

@test "containerd: what it does not take is not written" {
  in_host sed -i 's/^root = .*/root = 7/' "$FILE" /etc/config.before
  run -2 ipuctl runtime configure containerd
  assert_contains "$output" 'rejects the new configuration'
  assert_as_before
}

@test "containerd: a handler of a plugin that is off is said to have no effect" {
  in_host sed -i 's/^disabled_plugins.*/disabled_plugins = ["io.containerd.grpc.v1.cri"]/' "$FILE" /etc/config.before
  run -0 ipuctl runtime configure containerd
  assert_contains "$output" "remove 'io.containerd.grpc.v1.cri' from disabled_plugins in $FILE"
  ipuctl runtime unconfigure containerd
  assert_as_before
}

@test "containerd: the file that k3s writes is refused, its template is not" {
  local folder=/var/lib/rancher/k3s/agent/etc/containerd
  in_host mkdir -p "$folder"
  printf 'version = 3\n' | in_host tee "$folder/config.toml" >/dev/null
  run -1 ipuctl runtime configure containerd --config "$folder/config.toml"
  assert_contains "$output" "--config $folder/config-v3.toml.tmpl"
  run -0 ipuctl runtime configure containerd --config "$folder/config-v3.toml.tmpl"
  assert_contains "$output" "run 'systemctl restart k3s'"
  in_host grep -q 'SystemdCgroup = {{ .SystemdCgroup }}' "$folder/config-v3.toml.tmpl"
  ipuctl runtime unconfigure containerd --config "$folder/config-v3.toml.tmpl"
  assert_equal "$(in_host ls -A "$folder")" config.toml
  in_host rm -r /var/lib/rancher
}

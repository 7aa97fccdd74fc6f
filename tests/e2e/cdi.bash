# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A stand-in for an engine that knows CDI: it merges the edits of devices into the bundle's config.json, as the
# specification says.

# The file of a kind, "vendor/class": that of /var/run/cdi, where both directories have one.
cdi_file() { # KIND
  local path
  for path in /var/run/cdi /etc/cdi; do
    if in_host test -f "$path/${1/\//-}.json"; then
      in_host cat "$path/${1/\//-}.json"
      return
    fi
  done
  fail "unresolvable CDI devices $1"
}

# The nodes of the host below /dev as {"/dev/a": [MAJOR, MINOR]}: a file need not have the numbers.
host_nodes() {
  in_host sh -c 'find /dev -maxdepth 1 -type c -exec stat -c "%n %Hr %Lr" {} +' |
    jq -R 'split(" ") | {(.[0]): [(.[1] | tonumber), (.[2] | tonumber)]}' | jq -s add
}

# Those of a file count once, those of a device each time that it is named.
inject_cdi() { # DEVICE...
  local device edits='[]' seen='' file config nodes
  for device in "$@"; do
    file=$(cdi_file "${device%=*}")
    if [[ $seen != *" ${device%=*} "* ]]; then
      edits=$(jq --argjson all "$edits" '$all + [.containerEdits // {}]' <<<"$file")
      seen+=" ${device%=*} "
    fi
    edits=$(jq -e --argjson all "$edits" --arg name "${device##*=}" \
      '$all + [.devices[] | select(.name == $name) | .containerEdits] | select(length > ($all | length))' <<<"$file") ||
      fail "unresolvable CDI devices $device"
  done
  nodes=$(host_nodes)
  config=$(in_host cat "$BUNDLE/config.json")
  jq --argjson edits "$edits" --argjson host "$nodes" '
    reduce $edits[] as $edit (.;
      reduce ($edit.env // [])[] as $variable (.;
        .process.env |= map(select(startswith(($variable | split("=")[0]) + "=") | not)) + [$variable]) |
      reduce ($edit.deviceNodes // [])[] as $node (.;
        ($host[$node.hostPath // $node.path]) as [$major, $minor] |
        .linux.devices = (.linux.devices // [] | map(select(.path != $node.path))) +
          [{path: $node.path, type: $node.type, major: $major, minor: $minor, fileMode: $node.fileMode}] |
        .linux.resources.devices += [{allow: true, type: $node.type, major: $major, minor: $minor,
          access: ($node.permissions // "rwm")}]) |
      reduce ($edit.hooks // [])[] as $hook (.;
        .hooks[$hook.hookName] += [$hook | del(.hookName)]))' <<<"$config" |
    in_host tee "$BUNDLE/config.json" >/dev/null
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What lists print for programs is what ipuctl(8) says of them.

load support
load page_members

CONFIG=/etc/ipu-container-toolkit/config.toml

teardown() {
  ipuctl queue cancel --all >/dev/null
  remove_containers
  host_stop later || true
  ipuctl reservation end night >/dev/null 2>&1 || true
  remove_partitions
  host_config
  assert_nothing_left
}

documented() { page_members 'LISTS FOR PROGRAMS'; }

# Fails unless each object of LIST has the members that MEMBERS names, in this order, and of those after "sometimes" any;
# and these members no others than those after "in them".
assert_members() { # LIST MEMBERS JSON
  local own=${2%%; in them: *} inner='' may=''
  [ "$own" = "$2" ] || inner=${2##*; in them: }
  local must=${own%%; sometimes: *}
  [ "$must" = "$own" ] || may=${own##*; sometimes: }
  jq -e 'length > 0' <<<"$3" >/dev/null || fail "'$1' lists nothing"
  assert_equal "$1: $(jq -r --arg may "$may" '[.[] | keys_unsorted - ($may / ", ") | join(", ")] | unique | join(" / ")' <<<"$3")" \
    "$1: $must"
  assert_has_members "$1" "; sometimes: $inner" \
    "$(jq '[.[] | map_values(select(type == "object" or (arrays | any(type == "object"))))]' <<<"$3")"
}

# Makes something for each list.
fill() {
  start job -e IPU_COUNT=4
  ipuctl partition create p0 --size 4 >/dev/null
  ipuctl reserve night --ipus 4 >/dev/null
  host_spawn later docker run --rm --runtime=ipu --name later -e IPU_COUNT=64 -e IPU_WAIT=10m busybox true
  wait_until 10 has_waiters 1
  # What starts from here on would have to name a tenant.
  in_host tee -a "$CONFIG" >/dev/null <<<$'[[tenant]]\nname = "vision"\nguaranteed = 4'
}

@test "each list has the members that the page lists, and each list of the page is there" {
  local list members json count=0
  fill
  while IFS=$'\t' read -r list members; do
    [ "$list" != 'health list' ] || continue
    # shellcheck disable=SC2086
    json=$(ipuctl $list -o json </dev/null)
    assert_members "$list" "$members" "$json"
    count=$((count + 1))
  done < <(documented)
  assert_equal "$count" 10
}

@test "so has the list of tainted IPUs" {
  make_cards
  printf '[pool]\nname = "cards"\nprovider = "pcie"\n' | in_host tee "$CONFIG" >/dev/null
  ipuctl health taint 0000:80:00.0 --reason parity
  json=$(ipuctl health list -o json)
  ipuctl health clear 0000:80:00.0
  remove_cards
  host_config
  assert_members 'health list' "$(documented | sed -n 's/^health list\t//p')" "$json"
}

@test "YAML and CSV have what JSON has, and wide tables have more columns" {
  local list members json
  fill
  while IFS=$'\t' read -r list members; do
    case $list in 'health list' | 'network list') continue ;; esac
    # shellcheck disable=SC2086
    json=$(ipuctl $list -o json </dev/null)
    # shellcheck disable=SC2086
    assert_equal "$list: $(ipuctl $list -o csv </dev/null | head -n 1 | tr , '\n' | sort | xargs)" \
      "$list: $(jq -r '[.[] | keys[]] | unique | .[]' <<<"$json" | sort | xargs)"
    # shellcheck disable=SC2086
    assert_equal "$list: $(ipuctl $list -o yaml </dev/null | grep -c '^- ')" "$list: $(jq length <<<"$json")"
  done < <(documented)
  for list in ps queue 'pool list' 'partition list' 'device list' 'network list'; do
    # shellcheck disable=SC2086
    [ "$(ipuctl $list -o wide </dev/null | head -n 1 | wc -w)" -gt "$(ipuctl $list </dev/null | head -n 1 | wc -w)" ] ||
      fail "'$list' has no wide table"
  done
  assert_equal "$(ipuctl ps -o csv | grep -c '"\[{""interface"":""roce0"')" 1
}

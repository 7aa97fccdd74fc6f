#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs of `make bench` that compare: they see what is slower, and say what they cannot see.

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_DIRNAME/../.." || return
  PAIRED=$(realpath "${O:-build/${FLAVOR:-release}}/bin/paired")
}

figures() { # FILE SECONDS
  "$PAIRED" --title sleeps --rounds 15 --json "$1" 'nothing=sleep 0' "something=sleep $2" 'same=sleep 0'
}

added() { # FILE NAME BOUND
  jq ".variants[] | select(.name == \"$2\") | .added.$3" "$1"
}

@test "paired: what a command takes longer than another, with its interval" {
  local file=$BATS_TEST_TMPDIR/figures.json
  run -0 figures "$file" 0.3
  [[ $output == *'sleeps, 15 rounds'*something* ]]
  jq -e '.title == "sleeps" and ([.variants[].name] | . == ["nothing", "something", "same"])' "$file"
  awk "BEGIN { exit !($(added "$file" something low) > 150) }"
  awk "BEGIN { exit !($(added "$file" same low) < 150 && $(added "$file" nothing high) == 0) }"
}

@test "paired: each run has what it is to restore, and a number of its own" {
  cd "$BATS_TEST_TMPDIR"
  echo original >original
  touch seen
  cat >append.sh <<'END'
[ "$(cat file)" = original ] || exit 1
echo changed >file
echo "$1" >>seen
END
  "$PAIRED" --rounds 3 --restore file=original 'a=sh append.sh {}' 'b=sh append.sh {}'
  [ "$(sort -u seen | wc -l)" -eq 6 ]
}

@test "paired: a command that fails ends it" {
  run -1 "$PAIRED" --rounds 3 'good=true' 'bad=false'
  [[ $output == *'bad: its command failed'* ]]
}

# A run in which the variant "b" adds MILLISECONDS, give or take 1.
run_of() { # MILLISECONDS
  jq -cn --argjson ms "$1" '{title: "starts", variants: [{name: "a"},
    {name: "b", added: {median: $ms, low: ($ms - 1), high: ($ms + 1)}, added_cpu: {median: 1, low: 0, high: 2}}]}'
}

@test "compare: flags what became slower, and nothing else" {
  local fast=$BATS_TEST_TMPDIR/fast.json slow=$BATS_TEST_TMPDIR/slow.json near=$BATS_TEST_TMPDIR/near.json
  run_of 5 >"$fast"
  run_of 6.5 >"$near"
  run_of 9 >"$slow"
  run -1 tests/bench/compare.sh "$fast" "$slow"
  grep -q '^SLOWER *starts: b *wall  *5 (4 to 6) *-> 9 (8 to 10)' <<<"$output"
  grep -q '^same *starts: b *CPU' <<<"$output"
  run -0 tests/bench/compare.sh "$slow" "$fast"
  grep -q '^faster *starts: b *wall' <<<"$output"
  run -0 tests/bench/compare.sh "$fast" "$near"
  run -2 tests/bench/compare.sh "$fast"
  [[ $output == *'make bench-compare BEFORE=FILE AFTER=FILE'* ]]
}

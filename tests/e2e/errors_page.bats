#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ipu-errors(7), which is made from the sources, beside what the programs say.

load support

setup_file() {
  # "FAILED<tab>TODO", a line for each thing to do.
  export ENTRIES=$BATS_FILE_TMPDIR/entries
  in_host cat /usr/local/share/man/man7/ipu-errors.7 | sed -e 's/^\\&//; s/\\-/-/g; s/\\e/\\/g' | awk '
    /^\.(TP|SH)/ { state = $1 == ".TP"; next }
    $0 == ".br" { next }
    state == 1 { failed = $0; state = 2; next }
    state == 2 { print failed "\t" $0 }' >"$ENTRIES"
}

teardown() {
  remove_containers
  remove_partitions
}

# Fails unless an entry of the page has what LINE says, and what it says to do. A part of an entry that stands for others
# counts for nothing: the entry must have two fifths of the line.
assert_documented() { # LINE
  local line=${1#*ipuctl: } failed todo entry_failed entry_todo words
  line=${line#*ipu: }
  line=${line%: unknown.}
  failed=${line%%; *}
  todo=${line#"$failed"}
  todo=${todo#; }
  while IFS=$'\t' read -r entry_failed entry_todo; do
    words=${entry_failed//.../}
    [ $((${#words} * 5)) -ge $((${#failed} * 2)) ] || continue
    # shellcheck disable=SC2053 # patterns
    [[ $failed == $(pattern "$entry_failed") && ${todo^}${todo:+.} == $(pattern "$entry_todo") ]] && return
  done <"$ENTRIES"
  fail "the page does not have: $failed" "to do: $todo"
}

pattern() { # TEXT
  local text=${1//\\/\\\\}
  text=${text//[/\\[}
  text=${text//\?/\\?}
  echo "${text//.../*}"
}

# Of messages that are put together from parts, or with a value.
PARTS=('is kept to allocation' 'is not honoured, because' "pool 'NAME' is drained on this host since" 'write one with a [pool]')

@test "the page has the messages that README.md explains" {
  local page text part count=0
  page=$(sed 's/\t/; /' "$ENTRIES")
  # shellcheck disable=SC2016 # the quotes of README.md
  while read -r text; do
    count=$((count + 1))
    for part in "${PARTS[@]}"; do [ "$text" != "$part" ] || continue 2; done
    grep -qiF -- "$text" <<<"$page" || fail "the page lacks: $text"
  done < <(awk '/^\| the message contains/ { f = 1; next } f && !/^\|/ { exit } f' "$BATS_TEST_DIRNAME/../../README.md" |
    sed 's/^| \(.*\) | .*/\1/' | grep -o '`[^`]*`' | tr -d '`')
  [ "$count" -ge 40 ] || fail "README.md explains $count"
  [ "$(wc -l <"$ENTRIES")" -ge 800 ] || fail "$(wc -l <"$ENTRIES") entries"
  run ! grep -P '^\t|\t\.+$' "$ENTRIES"
}

@test "what programs say is on the page, with what to do" {
  local line
  ipuctl partition create p0 --size 16
  while IFS= read -r line; do
    run in_host timeout 60 bash -c "$line"
    [ "$status" -ne 0 ] || fail "$line succeeded"
    assert_documented "$(grep -m 1 -E 'ipu(ctl)?: ' <<<"$output")"
  done <<'END'
docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox true
docker run --rm --runtime=ipu -e IPU_PARTITION=none busybox true
docker run --rm --runtime=ipu -e IPU_PARTITION=p0 -e IPU_GCD=7 busybox true
docker run --rm --runtime=ipu --network host -e IPU_PARTITION=p0 busybox true
docker run --rm --runtime=ipu -e IPU_RESERVATION=none busybox true
docker run --rm --runtime=ipu -e IPU_PARTITION=p0 -e IPU_COUNT=4 busybox true
ipuctl explain has-never-been
ipuctl partition remove none
ipuctl partition create p0 --size 16
ipuctl reservation end none
ipuctl host forget 00000000
ipuctl queue cancel none
END
}

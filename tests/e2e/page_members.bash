# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The members of JSON that ipuctl(8) promises, for sourcing after support. "holders.gcd" is the member gcd of the object
# holders, or of each object of the array holders. "effects.*" are members whose names another command has, or that vary.

PAGE=$BATS_TEST_DIRNAME/../../man/ipuctl.8

# "COMMAND<tab>MEMBERS" of a section of the page, one a line.
page_members() { # SECTION
  awk -v section="$1" '
    /^\.(SH|TP)/ { if (name) print name "\t" members; name = members = "" }
    /^\.SH / { on = $0 == ".SH " section }
    on && /^\.TP/ { getline; name = substr($0, 4); next }
    name { members = members (members ? " " : "") $0 }' "$PAGE" | sed 's/\\-/-/g'
}

# Fails unless JSON has each of MEMBERS, no other, and of those after "sometimes" any. An empty array and null have none.
assert_has_members() { # COMMAND MEMBERS JSON
  local must=${2%%; sometimes: *} may='' wrong
  [[ $2 != *'; sometimes: '* ]] || may=${2##*; sometimes: }
  wrong=$(jq -rs --arg must "$must" --arg may "$may" '
    def is_empty: . == null or . == [] or . == {};
    def covers($found): . as $page | $page == $found.name or
      ($page | endswith(".*")) and ($found.name | startswith($page[:-1])) or
      $found.empty and ($page | startswith($found.name + "."));
    ($must / ", ") as $must | ($must + ($may / ", ")) as $all |
    [paths as $path | {name: [$path[] | strings] | join("."), value: getpath($path)} |
      select(.name != "" and (.value | is_empty or (type | IN("object", "array") | not))) |
      {name, empty: (.value | is_empty)}] | unique as $found |
    [($found[] | select(. as $one | any($all[]; covers($one)) | not) | "\(.name) is not on the page"),
     ($must[] | select(. as $page | any($found[]; . as $one | $page | covers($one)) | not) | "\(.) is not printed")] |
    join(", ")' <<<"$3")
  assert_equal "$1: $wrong" "$1: "
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# layering.pl finds nothing in a clean tree. In a tree with a planted violation, it finds exactly that.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/clean"
cd "$tree/clean"
shopt -s globstar nullglob
failures=0

write() { # FILE LINE...
  [ -d "${1%/*}" ] || [ "${1%/*}" = "$1" ] || mkdir -p "${1%/*}"
  printf '%s\n' "${@:2}" >"$1"
}

make_clean() {
  write table \
    'room low low' \
    'room mid mid low' \
    'room mid/part mid::part low' \
    'room top top mid mid/part' \
    'library ^<costly\.h>$ ^low/costly\.cc$' \
    'heavy low/heavy.h'
  write low/low.h 'namespace low {' 'struct Low {};' '}  // namespace low'
  write low/heavy.h 'namespace low {' 'struct Heavy {};' '}  // namespace low'
  write low/costly.cc '#include <costly.h>'
  write mid/mid.h '#include "low/heavy.h"' '#include "low/low.h"' \
    'namespace low {' 'class Low;' '}' 'namespace mid::nested {' 'struct Mid {};' '}  // namespace mid::nested'
  write mid/passes_on.h '#include "mid/mid.h"' 'namespace mid {' 'struct PassesOn {};' '}  // namespace mid'
  write mid/light.h 'namespace mid {' 'struct Light {};' '}  // namespace mid'
  write mid/internal/secret.h 'namespace mid {' 'struct Secret {};' '}  // namespace mid'
  write mid/mid.cc '#include "mid/mid.h"' '#include "mid/internal/secret.h"' 'namespace {' '// namespace other {' '}'
  write mid/part/part.h '#include "low/low.h"' 'namespace mid::part {' 'struct Part {};' '}  // namespace mid::part'
  write top/top.cc '#include <vector>' '#include "mid/light.h"' '#include "mid/part/part.h"'
  write tests/mid_test.cc '#include "mid/internal/secret.h"' '#include "mid/passes_on.h"'
}

# Makes a copy of the clean tree, to plant a violation in.
start() {
  cp -r "$tree/clean" "$tree/case"
  cd "$tree/case"
}

# The checker must print exactly these lines, and must fail if there are any. The next case starts afterwards.
expect() { # WHAT [FINDING]...
  local found status=0 wanted
  wanted=$(printf '%s\n' "${@:2}")
  found=$(printf '%s\n' **/*.h **/*.cc | perl -I "$lint" "$lint/layering.pl" table 2>&1) || status=1
  if [ "$found" != "$wanted" ] || [ "$status" -ne $(($# > 1)) ]; then
    printf 'layering_test: %s: wanted:\n%s\nfound, with status %s:\n%s\n' "$1" "$wanted" "$status" "$found"
    failures=$((failures + 1))
  fi
  rm -r "$tree/case"
  start
}

make_clean
start
expect 'a clean tree'

write low/bad.cc '' '#include "mid/light.h"'
expect 'upwards' 'low/bad.cc:2: low must not include mid/light.h: its line in table does not name mid'
write mid/bad.cc '#include "mid/part/part.h"'
expect 'into a room inside' 'mid/bad.cc:1: mid must not include mid/part/part.h: its line in table does not name mid/part'
write top/bad.cc '#include "low/low.h"'
expect 'past a room' 'top/bad.cc:1: top must not include low/low.h: its line in table does not name low'
write mid/part/bad.cc '#  include "mid/light.h"'
expect 'into the room around' 'mid/part/bad.cc:1: mid/part must not include mid/light.h: its line in table does not name mid'
write top/bad.cc '#include "tests/fake.h"'
expect 'a test' 'top/bad.cc:1: top must not include tests/fake.h, which is in no room'
write top/bad.cc '#include "mid/internal/secret.h"'
expect 'an internal header' 'top/bad.cc:1: top must not include mid/internal/secret.h, which is internal to mid'
write other/bad.cc 'int x;'
expect 'a file in no room' 'other/bad.cc:1: is in no room'
write low/bad.cc '#include "low.h"'
expect 'no folder' 'low/bad.cc:1: "low.h" is included without its folder'
write tests/bad.cc '#include <low/low.h>'
expect 'no quotes' 'tests/bad.cc:1: <low/low.h> is ours: it is included in quotes'
write tests/bad.cc '#include <costly.h>'
# shellcheck disable=SC2016 # It is no variable.
expect 'a library' 'tests/bad.cc:1: <costly.h> is only for files that match ^low/costly\.cc$'
write top/bad.cc '#include "mid/mid.h"'
expect 'a header that includes a heavy one' \
  'top/bad.cc:1: mid/mid.h is not for other top folders: it brings a heavy header with it'
echo 'spared ^top/' >>table
write top/bad.cc '#include "mid/mid.h"'
expect 'a file that the table spares'
sed -i '/^spared/d' table
write top/bad.cc '#include "mid/passes_on.h"'
expect 'a header that brings a heavy one by another' \
  'top/bad.cc:1: mid/passes_on.h is not for other top folders: it brings a heavy header with it'

write mid/bad.h 'namespace mid {' '}'
expect 'nothing declared' "mid/bad.h:1: declares nothing in the room's namespace, mid"
write mid/bad.cc '/*' '*/' 'namespace low {' 'class Low;' 'void f();' '}'
expect 'the namespace of another room' "mid/bad.cc:3: declares in namespace low, and the room's is mid"
write mid/part/bad.h 'namespace mid {' 'struct X { struct Y {}; };' '}' 'namespace mid::part {' 'struct Y;' '}'
expect 'the namespace around' "mid/part/bad.h:1: declares in namespace mid, and the room's is mid::part"
echo 'room tool -' >>table
write tool/bad.cc 'namespace tool {' 'int x;' '}'
expect 'a room without a namespace' "tool/bad.cc:1: declares in namespace tool, and the room's is -"

sed -i 's/^room low low/& mid/' table
expect 'a cycle' 'table:1: low names mid, which has no line above' 'table:1: low names mid, but includes nothing of it'
sed -i 's/^room top top/& low/' table
expect 'a room that nothing is included of' 'table:4: top names low, but includes nothing of it'
echo 'room low low' >>table
expect 'a second line of a room' 'table:7: low has a line above'
echo 'room mid/part/internal mid::part' >>table
expect 'a room for an internal folder' 'table:7: mid/part/internal is not a room, but a part of the one around it'
echo 'root low low' >>table
expect 'a line of no kind' 'table:7: is none of "room FOLDER NAMESPACE [ROOM]...", "library HEADER FILES", "heavy HEADER...", "spared FILES..."'

[ "$failures" -eq 0 ]

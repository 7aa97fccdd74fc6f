#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what a program lacks of the hardening that every installed one has, one line each, and fails if one lacks
# anything: tests/packaging/hardening.sh [--code] FILE... Only a program that is not stripped shows how its code was
# compiled; with --code a program that does not show it fails. A program that calls no function of which there is a
# checked form shows nothing of -D_FORTIFY_SOURCE. It may stand beside one that does, because they share objects.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

# The start of the mangled name of a function in one of our namespaces. The libraries in a static program have checked
# and unchecked calls of their own.
ours="^<(main|_ZN?K?($(awk '$1 == "room" && $3 != "-" { sub(/::.*/, "", $3); print length($3) $3 }' rooms.conf |
  sort -u | paste -sd '|')|12_GLOBAL__N_1))"

# What the file and its headers show: all that the linker and the installation decide.
find_header_lacks() { # FILE
  local headers
  [ -z "$(find "$1" -perm /7000)" ] || echo 'is setuid, setgid or sticky'
  headers=$(readelf --wide --file-header --program-headers --dynamic "$1")
  grep -q '(FLAGS_1) .*\<PIE\>' <<<"$headers" || echo 'is not position independent (-pie or -static-pie)'
  grep -q '^ *GNU_RELRO ' <<<"$headers" || echo 'has no RELRO (-z relro)'
  grep -q '(FLAGS_1) .*\<NOW\>' <<<"$headers" || echo 'has no BIND_NOW (-z now)'
  grep -q '^ *GNU_STACK .* RW  ' <<<"$headers" || echo 'has an executable stack (-z noexecstack)'
  ! grep -q '^ *LOAD .* RWE ' <<<"$headers" || echo 'has a segment that is both writable and executable'
  ! grep -qE '\((RPATH|RUNPATH)\)' <<<"$headers" || echo 'has an RPATH or RUNPATH'
  ! grep -qE '\(TEXTREL\)' <<<"$headers" || echo 'has text relocations'
}

# g++ notes its options in each unit's debugging information.
find_unprotected_units() { # FILE
  readelf --wide --debug-dump=info --dwarf-depth=1 "$1" 2>/dev/null |
    awk '/DW_AT_producer/ { bad = / GNU C/ && (!/ -fstack-protector-strong( |$)/ || / -fno-stack-protector( |$)/) }
      /DW_AT_name/ && bad { print "has a unit without stack protector (-fstack-protector-strong): " $NF; bad = 0 }'
}

# Prints the functions that FILE's own functions call and whose names tell: g++ always takes the checked form of these,
# and of further ones (any *_chk) where it does not know the sizes.
telling_calls() { # FILE
  objdump --disassemble --no-show-raw-insn --no-addresses "$1" |
    awk -v ours="$ours" '/^<.*>:$/ { mine = $0 ~ ours }
      mine && /[ \t](call|jmp) / && $NF ~ /^<((_IO_)?v?f?printf|v?syslog|_*[a-z]+_chk)(@plt)?>$/ { print $NF }'
}

find_code_lacks() { # FILE
  local calls
  [[ $(readelf --wide --sections "$1") == *' .debug_info '* ]] || { echo 'is stripped: its code does not show'; return; }
  find_unprotected_units "$1"
  calls=$(telling_calls "$1" | grep -v stack_chk)
  [ -z "$calls" ] || echo "$calls" >>"$told"
  ! grep -vq _chk <<<"${calls:-_chk}" || echo 'is not fortified (-D_FORTIFY_SOURCE=2)'
}

code=no
if [ "${1:-}" = --code ]; then
  code=yes
  shift
fi
[ $# -gt 0 ] || { echo 'usage: tests/packaging/hardening.sh [--code] FILE...' >&2; exit 2; }
told=$(mktemp)
trap 'rm -f "$told"' EXIT
status=0
for file in "$@"; do
  if [ "$code" = yes ]; then lacks=$(find_code_lacks "$file"); else lacks=$(find_header_lacks "$file"); fi
  [ -z "$lacks" ] || { status=1; awk -v file="$file" '{ print file, $0 }' <<<"$lacks"; }
done
[ "$code" = no ] || [ "$status" = 1 ] || [ -s "$told" ] || { status=1; echo "$1 does not show whether it is fortified"; }
exit "$status"

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every program that `make install` installs is hardened, and the check finds a program that is not.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own

bats_require_minimum_version 1.5.0

HARDENING=$BATS_TEST_DIRNAME/hardening.sh

setup() {
  cd "$BATS_TEST_DIRNAME/../.." || return
  export O=${O:-build/${FLAVOR:-release}}
}

# Installs below DIR. Other jobs install at the same time.
install_below() { # DIR [VARIABLE=VALUE]
  flock "$O" env MAKEFLAGS='' make --no-print-directory -s O="$O" DESTDIR="$1" "${@:2}" install
}

# Prints the ELF files below DIR.
programs_below() { # DIR
  find "$1" -type f -exec sh -c '[ "$(head -c 4 "$1" | tail -c 3)" = ELF ] && echo "$1"' sh {} \;
}

@test "every installed program is hardened" {
  [ "${FLAVOR:-release}" = release ] || skip 'only FLAVOR=release is hardened'
  local programs
  install_below "$BATS_TEST_TMPDIR/stripped"
  mapfile -t programs < <(programs_below "$BATS_TEST_TMPDIR/stripped")
  [ "${#programs[@]}" -eq 13 ]
  run -0 "$HARDENING" "${programs[@]}"
  [ -z "$(find "$BATS_TEST_TMPDIR/stripped" -perm /7000)" ]
  install_below "$BATS_TEST_TMPDIR/whole" INSTALL_STRIP=
  mapfile -t programs < <(programs_below "$BATS_TEST_TMPDIR/whole")
  [ "${#programs[@]}" -eq 13 ]
  run -0 "$HARDENING" --code "${programs[@]}"
}

# Builds a small program as the product is built, but for the further options.
build() { # OPTION...
  cat >"$BATS_TEST_TMPDIR/small.cc" <<'END'
#include <cstdio>
int main(int, char** argv) {
  char text[32];
  return std::printf("%s %zu", std::fgets(text, sizeof text, stdin), sizeof argv[0]);
}
END
  g++ -O2 -g1 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -pie -Wl,-z,relro,-z,now "$@" \
    -o "$BATS_TEST_TMPDIR/small" "$BATS_TEST_TMPDIR/small.cc"
}

# The small program, built so, lacks what TEXT says and nothing else.
finds() { # TEXT [--code] [OPTION...]
  local text=$1 code=()
  shift
  [ "${1:-}" != --code ] || { code=(--code); shift; }
  build "$@"
  run -1 "$HARDENING" "${code[@]}" "$BATS_TEST_TMPDIR/small"
  [ "${#lines[@]}" -eq 1 ]
  [[ $output == "$BATS_TEST_TMPDIR/small $text"* ]]
}

passes() {
  "$HARDENING" "$BATS_TEST_TMPDIR/small"
  "$HARDENING" --code "$BATS_TEST_TMPDIR/small"
}

@test "a small program that is hardened passes, dynamic or static" {
  build
  passes
  build -static-pie
  passes
}

@test "a program that lacks one thing is found" {
  finds 'is not position independent' -no-pie -fno-PIE
  finds 'has no RELRO' -Wl,-z,norelro
  finds 'has no BIND_NOW' -Wl,-z,lazy
  finds 'has an executable stack' -Wl,-z,execstack
  finds 'has an RPATH or RUNPATH' -Wl,-rpath,/nowhere
  finds 'has a unit without stack protector' --code -fno-stack-protector
  finds 'has a unit without stack protector' --code -fno-stack-protector -static-pie
  finds 'is not fortified' --code -U_FORTIFY_SOURCE
  finds 'is not fortified' --code -U_FORTIFY_SOURCE -static-pie
  finds 'is stripped' --code -s
}

@test "a program without a telling call may stand beside one that has some" {
  echo 'int main() { return 0; }' >"$BATS_TEST_TMPDIR/silent.cc"
  g++ -O2 -g1 -fstack-protector-strong -fPIE -pie -o "$BATS_TEST_TMPDIR/silent" "$BATS_TEST_TMPDIR/silent.cc"
  run -1 "$HARDENING" --code "$BATS_TEST_TMPDIR/silent"
  [ "$output" = "$BATS_TEST_TMPDIR/silent does not show whether it is fortified" ]
  build
  run -0 "$HARDENING" --code "$BATS_TEST_TMPDIR/silent" "$BATS_TEST_TMPDIR/small"
}

@test "a setuid program is found" {
  build
  chmod u+s "$BATS_TEST_TMPDIR/small"
  run -1 "$HARDENING" "$BATS_TEST_TMPDIR/small"
  [ "$output" = "$BATS_TEST_TMPDIR/small is setuid, setgid or sticky" ]
}

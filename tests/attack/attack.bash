# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests of this folder: rows of the table of attacks. A cell of the table is what the attack printed in this
# run, so the table shows nothing that was not carried out. See print_attacks.

load ../e2e/support

# Begins a row, in a test that is called "attack: ATTACK". CVE is the class of a known vulnerability, or "-".
row() { # CVE FROM
  ROW=("${BATS_TEST_DESCRIPTION#attack: }" "$@")
  UNDEFENDED=-
}

# Carries out the attack where the product does not defend. COMMAND prints what became of it in a word or two.
undefended() { # EXPECTED COMMAND...
  UNDEFENDED=$("${@:2}") || true
  assert_equal "$UNDEFENDED" "$1"
}

# Carries it out against the product, and ends the row. A result that is not the expected one is marked in the table.
defended() { # EXPECTED COMMAND...
  local result mark=
  result=$("${@:2}") || true
  [ "$result" = "$1" ] || mark='! '
  printf '%s\t' "${ROW[@]}" "$UNDEFENDED" "$mark${result//$'\n'/ }" >>"${ATTACKS:-$BATS_SUITE_TMPDIR/attacks}"
  echo "$(basename "$BATS_TEST_FILENAME" .bats) $BATS_TEST_NUMBER" >>"${ATTACKS:-$BATS_SUITE_TMPDIR/attacks}"
  assert_equal "$result" "$1"
}

# Prints YES if COMMAND succeeds, else NO.
answer() { # YES NO COMMAND...
  if "${@:3}" >/dev/null 2>&1; then echo "$1"; else echo "$2"; fi
}

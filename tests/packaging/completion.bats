#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What shells complete of ipuctl's command line: real bash and zsh on a terminal, and a real fish.

bats_require_minimum_version 1.5.0

IPUCTL=$BATS_TEST_DIRNAME/../../$O/bin/ipuctl

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  "$IPUCTL" completion bash >bash.script
  "$IPUCTL" completion zsh >_ipuctl
  "$IPUCTL" completion fish >fish.script
}

# What bash offers for the last WORD, a line each.
offers() { # WORD...
  # shellcheck disable=SC2016
  bash --norc -c 'source bash.script; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _ipuctl; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

# Types KEYS into an interactive SHELL whose ipuctl says what it got, and prints that.
typed() { # SHELL KEYS
  { sleep 2; printf '%b\n' "$2"; sleep 2; printf 'exit\n'; } | timeout 20 script --quiet --return --command "$1" /dev/null |
    tr -d '\r' | sed -n 's/.*got: \(.*\) end$/\1/p'
}

@test "bash completes commands, options and their values on a terminal" {
  printf 'source %s/bash.script\nipuctl() { echo "got: $* end"; }\nPS1=\n' "$PWD" >rc
  run -0 typed "bash --rcfile $PWD/rc -i" 'ipuctl part\tcr\t--reconf\t--output js\t'
  [ "$output" = 'partition create --reconfigurable --output json' ] || { echo "$output"; return 1; }
}

@test "zsh does so, too" {
  mkdir home
  # shellcheck disable=SC2016
  printf 'fpath=(%s $fpath)\nautoload -Uz compinit\ncompinit -u -d %s/dump\nipuctl() { print "got: $* end" }\nPS1=\n' \
    "$PWD" "$PWD" >home/.zshrc
  run -0 typed "env ZDOTDIR=$PWD/home zsh -i" 'ipuctl part\tcr\t--reconf\t--output js\t'
  [ "$output" = 'partition create --reconfigurable --output json' ] || { echo "$output"; return 1; }
}

@test "fish offers them with what they are for" {
  run -0 env HOME="$PWD" fish --no-config -c 'source fish.script; complete -C "ipuctl partition cr"'
  [[ $output == create$'\t'?* ]] || { echo "$output"; return 1; }
  run -0 env HOME="$PWD" fish --no-config -c 'source fish.script; complete -C "ipuctl partition create --output "'
  [ "$(cut -f 1 <<<"$output")" = $'json\ntable' ] || { echo "$output"; return 1; }
  run -0 env HOME="$PWD" fish --no-config -c 'source fish.script; complete -C "ipuctl queue --pool cancel canc"'
  [[ $output == cancel$'\t'* ]]
  run -0 env HOME="$PWD" fish --no-config -c 'source fish.script; complete -C "ipuctl ps par"'
  [ -z "$output" ]
}

@test "bash offers each command, and files where a file belongs" {
  local group count=0
  while IFS= read -r group; do
    offers ipuctl "$group" | grep -qx -- "$group" || { echo "$group is not offered"; return 1; }
    count=$((count + 1))
  done < <("$IPUCTL" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
  [ "$count" -gt 20 ]
  [ "$(offers ipuctl fleet im)" = import ]
  [ "$(offers ipuctl explain --bundle _ip)" = _ipuctl ]
  [ "$(offers ipuctl fleet import _ip)" = _ipuctl ]
  [ "$(offers ipuctl report --by te)" = tenant ]
  [ "$(offers ipuctl tenant set nlp --limit '')" = none ]
  # As readline splits "--output=j".
  [ "$(offers ipuctl ps --output = j)" = json ]
  [ "$(offers ipuctl ps --output =)" = $'table\nwide\njson\nyaml\ncsv' ]
  # The pool has the name of a command.
  [ "$(offers ipuctl queue --pool cancel --outp)" = --output ]
  # What stands behind an option that takes any text is for the user to know.
  [ -z "$(offers ipuctl partition create --size '')" ]
}

@test "nothing of a line that is only being typed is run" {
  # shellcheck disable=SC2016
  offers ipuctl '$(touch here)' 'x[$(touch here)]' '`touch here`' ''
  [ ! -e here ]
}

@test "another shell is named, and what may be given" {
  run -2 "$IPUCTL" completion tcsh
  [[ $output == *"'tcsh' is not accepted; give bash, zsh or fish" ]] || { echo "$output"; return 1; }
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who may include what: base <- {netns, vipu} <- hook <- cmd, and which files see which library.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

declare -A may_include=(
  [base]='base'
  [netns]='base netns'
  [vipu]='base vipu'
  [hook]='base netns vipu hook'
  [cmd]='base netns vipu hook cmd'
)

# Pairs of regular expressions: a header, and the files that may include it.
libraries=(
  '^<netlink/' '^netns/.*\.cc$|^netns/internal/nl\.h$|^tests/.*\.cc$'
  '^<grpc|\.pb\.h[">]$' '^cmd/(ipu-vipu-client|vipu-simulator)/|^tests/unit/vipu/(client|proto|raw|scripted|simulator)_.*\.(cc|h)$|^tests/cri/'
  '^<nlohmann/' '^base/json\.h$|\.cc$'
  '^<CLI/' '^cmd/'
  '^<sqlite3\.h>' '^hook/ledger/|^tests/.*\.cc$'
  '^<nettle/' '^hook/ledger/audit_log\.cc$'
  '^<toml' '^hook/config/.*\.cc$'
  '^<seccomp\.h>' '^base/confine_filter\.cc$'
)

check_folder() { # FILE LINE PATH
  local folder=${1%%/*}
  [ -n "${may_include[$folder]:-}" ] || return 0
  if [[ $3 != */* ]]; then
    finding "$1:$2" "\"$3\" is included without its folder"
  elif [[ " ${may_include[$folder]} " != *" ${3%%/*} "* ]]; then
    finding "$1:$2" "$folder/ must not include $3"
  elif [[ $3 == cmd/* && ${3%/*} != "$(cut -d/ -f1-2 <<<"$1")"* ]]; then
    finding "$1:$2" "a program must not include another one's $3"
  fi
}

check_library() { # FILE LINE HEADER
  local i
  for ((i = 0; i < ${#libraries[@]}; i += 2)); do
    if [[ $3 =~ ${libraries[i]} && ! $1 =~ ${libraries[i + 1]} ]]; then
      finding "$1:$2" "$3 is only for files that match ${libraries[i + 1]}"
    fi
  done
}

# base/json.h brings a heavy header with it (and json_rewrite.h brings it), and no JSON value crosses a folder's border: a header that
# includes it is for its own folder.
check_json_headers() {
  local header
  while IFS= read -r header; do
    finding_each "$header is not for other folders: it includes base/json.h" < <(
      files '*.cc' '*.h' | grep -vE "^(${header%%/*}|tests)/" | xargs -r grep -HnF "#include \"$header\""
    )
  done < <(files '*.h' | grep -vE '^base/json(_rewrite)?\.h$' | xargs -r grep -lF '#include "base/json.h"')
}

while IFS=: read -r file line text; do
  header=$(sed -E 's/^ *# *include *([<"][^>"]*[>"]).*/\1/' <<<"$text")
  check_library "$file" "$line" "$header"
  [[ $header != \"* ]] || check_folder "$file" "$line" "${header//\"/}"
done < <(files '*.cc' '*.h' | xargs -r grep -HnE '^ *# *include *[<"]')
check_json_headers
finish

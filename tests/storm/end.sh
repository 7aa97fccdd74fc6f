#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ends the storm in the throw-away host: end.sh SECONDS LATEST STARTS. It makes the file /run/storm/over after SECONDS
# if STARTS containers were started and watched.sh holds by then; else as soon as both are true, or at LATEST.
set -u -o pipefail
cd /run/storm || exit 1
soonest=$((EPOCHSECONDS + $1))
latest=$2

started() {
  cat log/* 2>/dev/null | awk -F '\t' -v least="$1" '$3 ~ /^run/ && $5 == 0 { n++ } END { exit n < least }'
}

while [ "$EPOCHSECONDS" -lt "$latest" ]; do
  if [ "$EPOCHSECONDS" -ge "$soonest" ] && started "$3" && bash watched.sh; then break; fi
  sleep 0.5
done
: >over

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the includes and namespaces of all C++ against the table rooms.conf.
set -uo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "$0")/files.sh"

files '*.cc' '*.h' | perl -I tests/lint tests/lint/layering.pl rooms.conf

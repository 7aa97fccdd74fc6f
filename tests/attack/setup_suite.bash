# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# shellcheck source=tests/e2e/setup_suite.bash
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/setup_suite.bash"

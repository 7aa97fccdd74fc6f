#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The end, in the throw-away host: all containers of the storm are removed, then one cleaning.
set -eu -o pipefail

docker ps --all --quiet --filter name=worker | xargs -r docker rm --force >/dev/null
ipuctl gc

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ends the storm in the throw-away host: removes all its containers, then cleans up once.
set -eu -o pipefail

docker ps --all --quiet --filter name=worker | xargs -r docker rm --force >/dev/null
ipuctl gc

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copies the documents of a package into FOLDER, each where README.md links to it: packaging/documents.sh FOLDER. What the
# map of the code in ARCHITECTURE.md links to is only in the sources.
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "$0")/.."
umask 022
mkdir -p "$folder/packaging"
install -m 0644 -t "$folder" README.md ARCHITECTURE.md BENCHMARKS.md CHANGELOG.md COMPARISON.md CONTRIBUTING.md SECURITY.md
install -m 0644 -t "$folder/packaging" packaging/FIRST-MINUTES.md packaging/FROM-GC-DOCKER.md
cp -r packaging/examples "$folder/packaging/"
chmod -R u=rwX,go=rX "$folder/packaging/examples"

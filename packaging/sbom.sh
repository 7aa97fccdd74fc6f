#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the SBOM (SPDX 2.3, JSON) of Debian packages: packaging/sbom.sh FILE.deb... It says what is compiled and linked
# into their programs, from the field Static-Built-Using, and which packages their programs load, from Depends. The only
# time in it is SOURCE_DATE_EPOCH.
set -euo pipefail

# Prints a line of JSON for each package of the field's text "NAME (RELATION VERSION), ...".
related() { # TEXT
  tr ',' '\n' <<<"$1" | sed -nE 's/^ *([^ |]+) *(\((<<|<=|=|>=|>>) *([^)]*)\))?.*/\1 \4/p' |
    jq -R 'split(" ") | {name: .[0], version: (.[1] // "")}'
}

describe() { # FILE.deb
  local depends static
  depends=$(related "$(dpkg-deb --field "$1" Depends)" | jq -s .)
  static=$(related "$(dpkg-deb --field "$1" Static-Built-Using)" | jq -s .)
  jq -n --arg name "$(dpkg-deb --field "$1" Package)" --arg version "$(dpkg-deb --field "$1" Version)" \
    --arg arch "$(dpkg-deb --field "$1" Architecture)" --arg file "${1##*/}" \
    --arg sha256 "$(sha256sum <"$1" | cut -d ' ' -f 1)" --arg summary "$(dpkg-deb --field "$1" Description | head -n 1)" \
    --argjson depends "$depends" --argjson static "$static" '$ARGS.named'
}

for deb in "$@"; do describe "$deb"; done | jq -s \
  --arg created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
  --arg identity "$(sha256sum "$@" | cut -d ' ' -f 1 | sort | sha256sum | cut -c 1-32)" '
  def id(kind): "SPDXRef-\(kind)-" + (.name | gsub("[^A-Za-z0-9.-]"; "-"));
  def purl(query): "pkg:deb/debian/\(.name)" + (if .version == "" then "" else "@" + (.version | @uri) end) + query;
  def located: {SPDXID, name, versionInfo, downloadLocation: "NOASSERTION", filesAnalyzed: false,
    licenseConcluded: "NOASSERTION", licenseDeclared: "NOASSERTION", copyrightText: "NOASSERTION"} + .;
  def of_debian(kind; query): {SPDXID: id(kind), name, supplier: "Organization: Debian",
    externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl(query)}]}
    + (if .version == "" then {} else {versionInfo: .version} end) | located | with_entries(select(.value != null));
  # In the order of Debian versions, for jq compares numbers first, then texts: "2.4~rc" < "2.4" < "2.34".
  def order: (if contains(":") then . else "0:" + . end) | [scan("[0-9]+|~|[^0-9~]+")]
    | map(if . == "~" then null else tonumber? // . end) + [0];
  map(.name) as $ours | . as $debs
  | map(.depends |= map(select(.name as $name | $ours | index($name) | not))) as $outside
  | {
      spdxVersion: "SPDX-2.3",
      dataLicense: "CC0-1.0",
      SPDXID: "SPDXRef-DOCUMENT",
      name: "ipu-container-toolkit-\($debs[0].version)",
      documentNamespace: "https://spdx.org/spdxdocs/ipu-container-toolkit-\($debs[0].version | @uri)-\($identity)",
      creationInfo: {created: $created, creators: ["Tool: ipu-container-toolkit-sbom-\($debs[0].version)"]},
      packages: (
        ($debs | map({SPDXID: id("Deb"), name, versionInfo: .version, packageFileName: .file, summary,
            supplier: "NOASSERTION", checksums: [{algorithm: "SHA256", checksumValue: .sha256}],
            licenseDeclared: "Apache-2.0", primaryPackagePurpose: "INSTALL"} | located))
        + ($debs | map(.static[]) | unique | map(of_debian("Source"; "?arch=source")))
        + ($outside | map(.depends[]) | group_by(.name) | map(max_by(.version | order)
            | of_debian("Binary"; "?arch=amd64") + {comment: "versionInfo is the oldest version that Depends admits"}))
      ),
      relationships: (
        ($debs | map({spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: id("Deb")}))
        + [$debs[] | id("Deb") as $deb | .static[]
            | {spdxElementId: $deb, relationshipType: "STATIC_LINK", relatedSpdxElement: id("Source")}]
        + [$outside[] | id("Deb") as $deb | .depends[]
            | {spdxElementId: $deb, relationshipType: "DEPENDS_ON", relatedSpdxElement: id("Binary")}]
        + [$debs[] | id("Deb") as $deb | .depends[] | select(.name as $name | $ours | index($name))
            | {spdxElementId: $deb, relationshipType: "DEPENDS_ON", relatedSpdxElement: id("Deb")}]
      )
    }'

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What `make deb` makes. packaging/deb_host.bats installs it, and engines/deb_roots.bats does so in clean roots.

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/deb.bash"

setup_file() {
  export DEBS=$BATS_FILE_TMPDIR/debs
  make_debs "$DEBS"
}

setup() {
  cd "$PROJECT" || return
}

# What `make install` puts below PREFIX=/usr, without what only the packages have.
installed_files() {
  MAKEFLAGS='' make --no-print-directory -n PREFIX=/usr DESTDIR=/destination install 2>/dev/null |
    grep -oE "/destination[^' ]+" | sed 's|^/destination||' | sort -u
}

@test "each file that make install puts somewhere is in one package" {
  local all file
  all=$(for package in "${PACKAGES[@]}"; do contents "$package"; done | sed 's/^[^ ]* //; s/\.gz$//' |
    grep -vE '^/usr/share/(doc/[^/]+/(copyright|changelog)|lintian/)' | sort)
  assert_equal "$(uniq -d <<<"$all")" ''
  [ "$(wc -l <<<"$all")" -ge 45 ]
  # A folder of install -d is no file, and units may be in /lib.
  while read -r file; do
    grep -qxF -e "$file" -e "${file#/usr}" <<<"$all" || grep -q "^\(/usr\)\?${file#/usr}/" <<<"$all" || fail "no package has $file"
  done < <(installed_files)
}

@test "the programs are where they belong" {
  local programs
  programs() { contents "$1" | sed -nE 's/^-..x[^ ]* //p' | sort | paste -sd ' '; }
  assert_equal "$(programs ipu-container-toolkit)" "/usr/bin/ipu-agent /usr/bin/ipu-container-hook \
/usr/bin/ipu-container-runtime $(printf '/usr/libexec/ipu-container-toolkit/%s ' ipu-container-poststop ipu-container-start \
ipu-fleet-client ipu-slurm ipu-vipu-client ipu-vipu-client-plain)/usr/libexec/ipu-container-toolkit/ipu-vipu-endpoint"
  assert_equal "$(programs ipuctl)" /usr/bin/ipuctl
  assert_equal "$(programs ipu-container-toolkit-gc-docker)" /usr/bin/gc-docker
  assert_equal "$(programs ipu-vipu-simulator)" /usr/bin/vipu-simulator
  # Nobody but root may read the clients.
  [ "$(contents ipu-container-toolkit | grep -c '^-rwx--x--x /usr/libexec/.*/ipu-\(vipu\|fleet\)-')" = 4 ]
}

@test "the programs are hardened, and look for each other in /usr" {
  local package tree=$BATS_TEST_TMPDIR/tree programs
  for package in "${PACKAGES[@]}"; do dpkg-deb --extract "$(deb_of "$package")" "$tree"; done
  mapfile -t programs < <(find "$tree/usr/bin" "$tree/usr/libexec" -type f)
  assert_equal "${#programs[@]}" 13
  tests/packaging/hardening.sh "${programs[@]}"
  grep -q /usr/libexec/ipu-container-toolkit/ipu- "$tree/usr/bin/ipuctl"
  run ! grep -q /usr/local/libexec "$tree/usr/bin/ipuctl"
  grep -q /usr/bin/ipu-container-hook "$tree/usr/libexec/ipu-container-toolkit/ipu-container-poststop"
  run ! grep -rE '@[A-Z]+@|/usr/local/(bin|libexec)' "$tree/lib" "$tree/usr/lib" "$tree/etc/logrotate.d"
}

@test "the documents are there, and what they link to, but for the map of the code" {
  local tree=$BATS_TEST_TMPDIR/tree folder page link count=0
  dpkg-deb --extract "$(deb_of ipuctl)" "$tree"
  folder=$tree/usr/share/doc/ipuctl
  while IFS=: read -r page link; do
    [ "${page##*/}" != ARCHITECTURE.md ] || continue
    [ -e "$(dirname "$page")/$link" ] || fail "${page#"$folder"/} links to $link, which is not there"
    count=$((count + 1))
  done < <(grep -roE --include='*.md' '\]\([^)#: ]+' "$folder" | sed 's/:](/:/')
  [ "$count" -ge 10 ] || fail "$count links"
}

@test "the configuration has every key, and each is a comment" {
  local tree=$BATS_TEST_TMPDIR/tree config
  dpkg-deb --extract "$(deb_of ipu-container-toolkit)" "$tree"
  config=$tree/etc/ipu-container-toolkit/config.toml
  run ! grep -vE '^(#|$)' "$config"
  assert_equal "$(grep -oE '^(# )?\[*[a-z_.]+(\]| =)' packaging/config.toml | sed 's/^# //' | sort)" \
    "$(grep -oE '^# \[*[a-z_.]+(\]| =)' "$config" | sed 's/^# //' | sort)"
  assert_contains "$(dpkg-deb --ctrl-tarfile "$(deb_of ipu-container-toolkit)" | tar -xO ./conffiles)" \
    /etc/ipu-container-toolkit/config.toml /etc/logrotate.d/ipu-container-toolkit
}

@test "the packages depend on the libraries that programs load, which later releases have too" {
  assert_contains "$(dpkg-deb --field "$(deb_of ipu-container-toolkit)" Depends)" 'libc6 (' 'libssl3 (' 'libseccomp2 (' \
    "ipuctl (= $(cat VERSION))"
  assert_lacks "$(dpkg-deb --field "$(deb_of ipu-container-toolkit)" Depends)" grpc
  assert_equal "$(dpkg-deb --field "$(deb_of ipuctl)" Depends)" ''
}

@test "no script of a package touches an engine" {
  local package scripts
  for package in "${PACKAGES[@]}"; do
    scripts=$(dpkg-deb --ctrl-tarfile "$(deb_of "$package")" | tar -xO --wildcards './*inst' './*rm' 2>/dev/null) || true
    assert_lacks "$(grep -vE '^ *(echo|["'\''])' <<<"$scripts")" 'runtime configure'
    run ! grep -E 'daemon\.json|/etc/(docker|containerd|crio|containers)|(restart|reload|start) [^ ]*(docker|containerd|crio)' <<<"$scripts"
  done
  assert_contains "$(dpkg-deb --ctrl-tarfile "$(deb_of ipu-container-toolkit)" | tar -xO ./postinst)" "'ipuctl runtime configure docker'"
}

@test "the SBOM is SPDX 2.3, and names what is linked" {
  local sbom
  sbom=$(echo "$DEBS"/*.spdx.json)
  python3 - "$sbom" tests/packaging/spdx-2.3.schema.json <<'END'
import json, sys, jsonschema
document, schema = (json.load(open(name)) for name in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.validate(document, schema)
ids = [p["SPDXID"] for p in document["packages"]] + ["SPDXRef-DOCUMENT"]
assert len(ids) == len(set(ids)), "an SPDXID is twice there"
for r in document["relationships"]:
    assert r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids, r
related = {r["relatedSpdxElement"] for r in document["relationships"]}
assert related == set(ids) - {"SPDXRef-DOCUMENT"}, "a package has no relationship"
for broken in ({"spdxVersion": "2.3"}, {"packages": [{"name": "x"}]}, {"documentNamespace": "x#y"}):
    assert not jsonschema.Draft7Validator(schema).is_valid({**document, **broken}), broken
END
  for package in "${PACKAGES[@]}"; do
    assert_equal "$(jq -r --arg name "$package" '.packages[] | select(.name == $name).checksums[0].checksumValue' "$sbom")" \
      "$(sha256sum "$(deb_of "$package")" | cut -d ' ' -f 1)"
  done
  linked() { jq -r --arg of "SPDXRef-Deb-$1" '.relationships[] | select(.relationshipType == "STATIC_LINK" and .spdxElementId == $of).relatedSpdxElement' "$sbom"; }
  assert_contains "$(linked ipu-container-toolkit)" SPDXRef-Source-{glibc,grpc,sqlite3,libnl3,nlohmann-json3,gcc-12}
  assert_contains "$(linked ipu-vipu-simulator)" SPDXRef-Source-{grpc,protobuf}
  assert_lacks "$(linked ipuctl)" SPDXRef-Source-grpc
}

@test "the SBOM has the newest of the versions that programs depend on, by numbers" {
  local folder=$BATS_TEST_TMPDIR number version
  for version in 2.4 2.34 2.34~rc1; do
    number=$((${number:-0} + 1))
    mkdir -p "$folder/p$number/DEBIAN"
    printf '%s\n' "Package: p$number" 'Version: 1' 'Architecture: amd64' 'Maintainer: nobody' 'Description: none' \
      "Depends: libc6 (>= $version)" >"$folder/p$number/DEBIAN/control"
    dpkg-deb --build "$folder/p$number" "$folder/p$number.deb" >/dev/null
  done
  assert_equal "$(SOURCE_DATE_EPOCH=1 packaging/sbom.sh "$folder"/p*.deb | jq -r '.packages[] | select(.name == "libc6").versionInfo')" 2.34
}

@test "no package is made if nobody knows what its programs link" {
  local folder=$BATS_TEST_TMPDIR/source
  mkdir -p "$folder/packaging" "$folder/debian" "$folder/bin"
  # shellcheck disable=SC2016 # the written program expands it
  printf '#!/bin/sh\n[ "$2" != debian/second ] || exit 1\necho "glibc (= 1)"\n' >"$folder/packaging/linked.sh"
  printf '#!/bin/sh\ntouch made\n' >"$folder/bin/dh_gencontrol"
  chmod +x "$folder/packaging/linked.sh" "$folder/bin/dh_gencontrol"
  gencontrol() { # PACKAGE...
    MAKEFLAGS='' PATH=$folder/bin:$PATH make -C "$folder" -f "$PROJECT/packaging/debian/rules" SOURCE="$folder" PACKAGES="$*" override_dh_gencontrol
  }
  run ! gencontrol first second third
  run ! test -e "$folder/made"
  gencontrol first third
  test -e "$folder/made"
  assert_contains "$(cat "$folder/debian/third.substvars")" 'ipu:Static=glibc (= 1)'
}

@test "the same sources give the same bytes" {
  local again=$BATS_TEST_TMPDIR/again
  make_debs "$again"
  assert_equal "$(cd "$DEBS" && sha256sum ./*.deb ./*.json)" "$(cd "$again" && sha256sum ./*.deb ./*.json)"
}

@test "lintian finds no error and no warning but those that are explained" {
  run lintian --fail-on error,warning "$DEBS"/*.changes
  # shellcheck disable=SC2154
  assert_equal "$(grep -v '^running with root privileges' <<<"$output")" ''
  [ "$status" -eq 0 ]
}

@test "a version that Debian would not take is refused in one line" {
  run -2 packaging/deb.sh '1.0 beta'
  assert_contains "$output" "deb.sh: '1.0 beta' is no version of Debian packages: use digits"
  [ "${#lines[@]}" -eq 1 ]
}
